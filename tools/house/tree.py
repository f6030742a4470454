"""The checkout as the checks see it: its files, their includes, and the rooms as CMake has them."""

import dataclasses
import functools
import os
import pathlib
import re
import shutil
import subprocess

CODE_SUFFIXES = (".h", ".cc")
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)')
ROOM_KEYWORDS = ("SENTENCE", "USES", "LIBRARIES", "EXCLUDE", "TEST_USES")


@dataclasses.dataclass(frozen=True)
class Finding:
    """One thing that is wrong. `line` is 0 when it is about a whole file."""
    path: str
    line: int
    message: str
    warning: bool = False

    def __str__(self):
        where = f"{self.path}:{self.line}" if self.line else self.path
        return f"{where}: {'warning: ' if self.warning else ''}{self.message}"


@dataclasses.dataclass(frozen=True)
class Include:
    line: int
    name: str
    quoted: bool


@dataclasses.dataclass(frozen=True)
class Room:
    """One muster_room() call."""
    name: str
    sentence: str
    uses: tuple
    test_uses: tuple
    path: str
    line: int


class Tree:
    """All files of one checkout, named by their path from its root."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.files = self._list_files()
        # The folder of tests: `./test` is a command, so the folder is called tests/.
        self.test_folder = "tests" if (self.root / "tests").is_dir() else "test"

    def _list_files(self):
        """What git tracks or would track; without git, everything that is no build output."""
        if shutil.which("git"):
            answer = subprocess.run(
                ["git", "-c", f"safe.directory={self.root}", "-C", str(self.root), "ls-files",
                 "-z", "--cached", "--others", "--exclude-standard"],
                capture_output=True, check=False)
            if answer.returncode == 0:
                names = answer.stdout.decode("utf-8", "surrogateescape").split("\0")
                return self._that_are_files(names)
        names = []
        for folder, folders, files in os.walk(self.root):
            folders[:] = [f for f in folders if f not in (".git", ".cache", "__pycache__")
                          and not f.startswith("build")]
            names += [os.path.relpath(os.path.join(folder, f), self.root) for f in files]
        return self._that_are_files(names)

    def _that_are_files(self, names):
        return sorted({n for n in names if n and (self.root / n).is_file()})

    @functools.lru_cache(maxsize=None)
    def text(self, path):
        return (self.root / path).read_bytes().decode("utf-8", "replace")

    def lines(self, path):
        return self.text(path).splitlines()

    def code(self, *folders):
        """Our C++ files below the folders given."""
        folders = folders or ("src", self.test_folder, "include")
        return [f for f in self.files
                if f.endswith(CODE_SUFFIXES) and f.startswith(tuple(d + "/" for d in folders))]

    def is_test(self, path):
        """Test code: the folder of tests, *_test.cc, and what lies beside the code for tests only
        (testing/, test_*.h, *_fixture.h)."""
        return (path.startswith(self.test_folder + "/")
                or re.search(r"_test\.cc$|/testing/|/test_\w+\.(h|cc)$|_fixture\.(h|cc)$", path)
                is not None)

    @functools.lru_cache(maxsize=None)
    def includes(self, path):
        found = []
        for number, line in enumerate(self.lines(path), 1):
            match = INCLUDE.match(line)
            if match:
                found.append(Include(number, match[1] or match[2], match[1] is not None))
        return found

    def resolve(self, path, include):
        """The file of ours that an include of `path` names, or None."""
        near = os.path.normpath(os.path.join(os.path.dirname(path), include.name))
        candidates = ["src/" + include.name, "include/" + include.name,
                      f"{self.test_folder}/{include.name}"] + ([near] if include.quoted else [])
        return next((c for c in candidates if c in self._file_set), None)

    @functools.cached_property
    def _file_set(self):
        return set(self.files)

    @functools.cached_property
    def rooms(self):
        """Every muster_room() call below src/, by name."""
        rooms = {}
        for path in self.files:
            if path.startswith("src/") and path.endswith("CMakeLists.txt"):
                for room in parse_rooms(path, self.text(path)):
                    rooms[room.name] = room
        return rooms

    def room_of(self, path_below_src):
        """The room a path below src/ lies in: the longest declared or conventional name."""
        parts = path_below_src.split("/")
        if parts[0] == "backends" and len(parts) > 2:
            return "/".join(parts[:2])
        return parts[0]


def parse_rooms(path, text):
    """The muster_room() calls of one CMake file."""
    bare = re.sub(r"^\s*#.*$", lambda m: " " * len(m[0]), text, flags=re.MULTILINE)
    for call in re.finditer(r"\bmuster_room\(((?:\"[^\"]*\"|[^\")])*)\)", bare):
        words = [m[1] if m[1] is not None else m[0]
                 for m in re.finditer(r"\"([^\"]*)\"|\S+", call[1])]
        values = {keyword: [] for keyword in ROOM_KEYWORDS}
        keyword = None
        for word in words[1:]:
            if word in ROOM_KEYWORDS:
                keyword = word
            elif keyword:
                values[keyword].append(word)
        yield Room(words[0], " ".join(" ".join(values["SENTENCE"]).split()), tuple(values["USES"]),
                   tuple(values["TEST_USES"]), path, text.count("\n", 0, call.start()) + 1)
