"""Who may include whom: rooms, and the few files that may open a heavy third-party header."""

import dataclasses
import fnmatch
import functools
import re

from house.tree import Finding

# The arrows of the house: what each room may include besides itself, model and base. They are not
# transitive. CMake must declare the same: a new arrow needs an ADR, and then a change here.
ARROWS = {
    "base": (),
    "model": (),
    "core": (),
    "wire": (),
    "store": ("wire", "core"),
    "net": (),
    "process": (),
    "backend": ("process",),
    "backends/registry": ("backend", "backends/*"),
    "backends/*": ("backend", "wire", "net", "process"),
    "control": ("core", "store", "backend", "wire"),
    "executor": ("process", "wire", "net"),
    "server": ("control", "wire", "net", "process"),
    "client": ("wire", "net"),
    "cli": ("client", "wire"),
    "flow": ("client", "wire"),
    "apps": ("*",),
}


@dataclasses.dataclass(frozen=True)
class Heavy:
    """A header that is slow to compile, or whose library must stay replaceable."""
    pattern: str       # of the name between < and >
    allowed: str       # of the paths that may include it
    at_most: int       # how many files may, or 0 for any number
    say: str


HEAVY = (
    Heavy(r"nlohmann/", r"src/wire/json\.h", 1, "only src/wire/json.h; include that"),
    Heavy(r"yaml-cpp/", r"src/wire/yaml\.h", 1, "only src/wire/yaml.h; include that"),
    Heavy(r"(libxml|pugixml|tinyxml|expat)", r"src/wire/xml\.h", 1, "only src/wire/xml.h"),
    Heavy(r"boost/", r"src/net/.*\.(cc|h)", 0, "only in src/net"),
    Heavy(r"CLI/", r"src/cli/.*\.cc", 1, "only in one .cc file of src/cli"),
    Heavy(r"sqlite3\.h$", r"src/store/.*\.(cc|h)", 1, "only in one file of src/store"),
    Heavy(r"spdlog/", r"src/base/log\.cc", 1, "only src/base/log.cc; include base/log.h"),
    Heavy(r"curl/", r"src/net/.*\.cc", 0, "only in .cc files of src/net"),
    Heavy(r"google/protobuf/", r"src/(wire|backends/yarn)/.*", 0, "only in src/wire"),
)
# Doors: .cc files may include these, though a heavy header lies behind them.
DOORS = re.compile(r"src/wire/(json|yaml|xml|executor_frames)\.h|.*\.pb\.h")


def allowed_uses(room):
    """Patterns of what `room` may include; KeyError for a room nobody planned."""
    uses = ARROWS[planned_name(room)]
    return {"base", "model", room, *uses} - ({"model"} if room == "base" else set())


def planned_name(room):
    """The key of ARROWS that stands for a room."""
    if room.startswith("backends/") and room not in ARROWS:
        return "backends/*"
    return room


def is_drawn(allowed, used):
    return any(fnmatch.fnmatchcase(used, pattern) for pattern in allowed)


def check_rooms(tree):
    """Rooms say what they are for, and CMake declares no arrow that is not drawn."""
    for room in tree.rooms.values():
        def finding(message, room=room):
            return Finding(room.path, room.line, message)
        if not room.sentence.endswith("."):
            yield finding(f"room {room.name} has no SENTENCE that ends with a full stop")
        try:
            allowed = allowed_uses(room.name)
        except KeyError:
            yield finding(f"room {room.name} is not in the house: write an ADR, then add it to "
                          "tools/house/arrows.py")
            continue
        for used in room.uses:
            if not is_drawn(allowed, used):
                yield finding(f"arrow {room.name} → {used} is not drawn: write an ADR, then add "
                              "it to tools/house/arrows.py")
    for path in tree.code("src"):
        name = tree.room_of(path.removeprefix("src/"))
        if name not in tree.rooms and name != "apps":
            yield Finding(path, 0, f"lies in no room: src/{name}/CMakeLists.txt has no muster_room")


def check_includes(tree):
    """Every include of ours stays inside what the room declares."""
    for path in tree.code():
        room = tree.room_of(path.removeprefix("src/")) if path.startswith("src/") else None
        for include in tree.includes(path):
            target = tree.resolve(path, include)
            if target is None:
                if include.quoted and not include.name.endswith(".pb.h"):
                    yield Finding(path, include.line, f'"{include.name}" is no file of ours; '
                                  "system headers stand in <>, ours are named from src/")
                if not include.name.endswith(".pb.h"):
                    continue
                target = "src/" + include.name
            message = judge_include(tree, path, room, target)
            if message:
                yield Finding(path, include.line, message)


def judge_include(tree, path, room, target):
    """What is wrong with `path` including our file `target`, or None."""
    if tree.is_test(target) and not tree.is_test(path):
        return f"test code ({target}) in a product"
    if not target.startswith("src/"):
        return None
    if room is None:
        if path.startswith("include/"):
            return f"a public header includes {target}, which users do not have"
        return None
    used = tree.room_of(target.removeprefix("src/"))
    if used == room or room == "apps" or room not in tree.rooms:
        return None
    declared = {"base", "model", *tree.rooms[room].uses} - ({"model"} if room == "base" else set())
    if tree.is_test(path):
        declared |= set(tree.rooms[room].test_uses)
    if used in declared:
        return None
    return f"room {room} includes {target}, but its USES names only {', '.join(sorted(declared))}"


def check_heavy(tree):
    """Heavy headers are opened in few places, and never reach another room through a header."""
    for heavy in HEAVY:
        users = [(path, include) for path in tree.code() for include in tree.includes(path)
                 if re.match(heavy.pattern, include.name)]
        for path, include in users:
            if not re.fullmatch(heavy.allowed, path):
                yield Finding(path, include.line, f"<{include.name}>: {heavy.say}")
        allowed = sorted({path for path, _ in users
                          if re.fullmatch(heavy.allowed, path) and not tree.is_test(path)})
        if heavy.at_most and len(allowed) > heavy.at_most:
            yield Finding(allowed[1], 0, f"<{heavy.pattern}> in {len(allowed)} files "
                          f"({', '.join(allowed)}): {heavy.say}")
    yield from check_heavy_reach(tree)


def check_heavy_reach(tree):
    """No file gets a heavy header through the header of another room, except by a door."""
    @functools.lru_cache(maxsize=None)
    def reached(path):
        """The first heavy header behind `path`, or None."""
        for include in tree.includes(path):
            if include.name.endswith(".pb.h") or any(re.match(h.pattern, include.name)
                                                     for h in HEAVY):
                return include.name
        for include in tree.includes(path):
            target = tree.resolve(path, include)
            if target and target.endswith(".h") and target != path and reached(target):
                return reached(target)
        return None

    for path in tree.code("src"):
        room = tree.room_of(path.removeprefix("src/"))
        for include in tree.includes(path):
            target = tree.resolve(path, include)
            if not target or not target.startswith("src/") or not reached(target):
                continue
            if tree.room_of(target.removeprefix("src/")) == room or DOORS.fullmatch(target):
                continue
            yield Finding(path, include.line,
                          f"gets <{reached(target)}> through {target}: keep it out of that header")


def render_rooms(tree):
    """The table of rooms for ARCHITECTURE.md."""
    lines = ["| room | what it is for | may include, besides base and model |", "|---|---|---|"]
    order = list(ARROWS)

    def position(room):
        key = planned_name(room.name)
        return order.index(key) if key in order else len(order), room.name

    for room in sorted(tree.rooms.values(), key=position):
        uses = ", ".join(room.uses) or "–"
        if room.name == "apps":
            uses = "all"
        elif room.name == "base":
            uses = "– (nor model)"
        lines.append(f"| `{room.name}` | {room.sentence} | {uses} |")
    return "\n".join(lines)
