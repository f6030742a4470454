"""What may stand in files: sizes, names, words, links, notes of changes."""

import os
import re

from house.tree import Finding

LONG_FILE, TOO_LONG_FILE = 500, 800
LONGEST_FUNCTION = 70
VAGUE_WORDS = {"Manager", "Helper", "Helpers", "Util", "Utils", "Common", "Misc", "Data", "Info",
               "Processor", "Impl"}
TYPE = re.compile(r"^\s*(?:template\s*<[^>]*>\s*)?"
                  r"(?:class|struct|enum(?:\s+class|\s+struct)?|union)\s+"
                  r"(?:\[\[\w+\]\]\s+)?([A-Z]\w*)\s*(?:final\s*)?[:{]")
ALIAS = re.compile(r"^\s*using\s+([A-Z]\w*)\s*=")
# Text that names one machine, one registry or a paper outside the project. The patterns are cut in
# two so that this file does not find itself.
FOREIGN = tuple((re.compile(pattern), what) for pattern, what in (
    (r"\.\./" r"shared", "a path outside the checkout"),
    (r"(?<![\w.~/])/(?:work|root|mnt)/" r"\w", "a path of one machine"),
    (r"/tmp/(?:bash_" r"jobs|brief)", "a path of one machine"),
    (r"\b(?:pypi\." r"org|files\.python" r"hosted|(?:deb|security|ftp\.\w+)\.debian\." r"org"
     r"|proxy\.golang\." r"org|registry-1\.docker\." r"io|registry\.npmjs\." r"org"
     r"|static\.crates\." r"io|arti" r"factory|repo1?\.maven)",
     "a registry host; name the package instead"),
    (r"\b(?:DESI" r"GN|STY" r"LE|SCENA" r"RIOS)(?:\.md\b|(?:'s)? (?:section )?\d)",
     "a paper that is not in the project; say it here or in docs/"),
))
CHANGE = re.compile(r"(added|changed|fixed|removed|security): \S.*\.")
LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^()\s]+)\)")


def check_file_length(tree):
    """Files stay under 500 lines; over 800 fails."""
    for path in tree.files:
        if path.endswith((".h", ".cc", ".py", ".proto", ".cmake")) or path.startswith("tools/"):
            count = len(tree.lines(path))
            if count > TOO_LONG_FILE:
                yield Finding(path, 0, f"{count} lines; {TOO_LONG_FILE} is the most")
            elif count > LONG_FILE:
                yield Finding(path, 0, f"{count} lines; aim for {LONG_FILE}", warning=True)


def check_function_length(tree):
    """Functions stay under 70 lines. Sees those that start in column 0; clang-tidy sees all."""
    for path in tree.code():
        start, name = None, ""
        for number, line in enumerate(tree.lines(path), 1):
            if start is None:
                if re.match(r"[A-Za-z_~].*\{$", line) and not re.match(
                        r"(namespace|class|struct|enum|union|extern)\b", line) and "(" in (
                            line + previous_lines(tree, path, number)):
                    start, name = number, line.split("(")[0].split()[-1]
            elif line.startswith("}"):
                if number - start + 1 > LONGEST_FUNCTION:
                    yield Finding(path, start, f"{name} has {number - start + 1} lines; "
                                  f"{LONGEST_FUNCTION} is the most")
                start = None


def previous_lines(tree, path, number):
    """The lines of a declaration that go before the one with its brace."""
    lines, text = tree.lines(path), ""
    for line in reversed(lines[max(0, number - 6):number - 1]):
        if not line.strip() or line[-1] in ";}{":
            break
        text = line + text
    return text


def last_word(name):
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z][a-z0-9]*|[a-z0-9]+", name)
    return words[-1].capitalize() if words else ""


def check_names(tree):
    """No name ends in a word that says nothing."""
    for path in tree.code():
        folder, file = os.path.split(path)
        stem = file.rsplit(".", 1)[0].removesuffix("_test")
        # `info` is a verb of the command line.
        is_verb = folder == "src/cli" and last_word(stem) == "Info"
        if last_word(stem) in VAGUE_WORDS and not is_verb:
            yield Finding(path, 0, f"the file's name ends in {last_word(stem)}: say what it is")
        for part in folder.split("/"):
            if part.capitalize() in VAGUE_WORDS:
                yield Finding(path, 0, f"folder {part}: say what it is for")
        for number, line in enumerate(tree.lines(path), 1):
            match = TYPE.match(line) or ALIAS.match(line)
            # A pimpl is called Impl.
            if match and match[1] != "Impl" and last_word(match[1]) in VAGUE_WORDS:
                yield Finding(path, number, f"type {match[1]} ends in {last_word(match[1])}: say "
                              "what it is")


def check_foreign(tree):
    """Nothing names a machine, a registry or a paper outside the project."""
    for path in tree.files:
        text = tree.text(path)
        if "\0" in text:
            continue
        for pattern, what in FOREIGN:
            for match in pattern.finditer(text):
                yield Finding(path, text.count("\n", 0, match.start()) + 1,
                              f"{match[0]!r} is {what}")


def heading_anchors(text):
    """The anchors of a Markdown file's headings, as the usual renderers make them."""
    anchors = set()
    for match in re.finditer(r"^#+ +(.*)$", text, re.MULTILINE):
        plain = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", match[1]).strip().lower()
        anchors.add(re.sub(r"[^\w\- ]", "", plain).replace(" ", "-"))
    return anchors


def check_links(tree):
    """Links in Markdown lead somewhere."""
    for path in tree.files:
        if not path.endswith(".md"):
            continue
        in_fence = False
        for number, line in enumerate(tree.lines(path), 1):
            in_fence ^= line.lstrip().startswith("```")
            if in_fence:
                continue
            for match in LINK.finditer(re.sub(r"`[^`]*`", "", line)):
                target, _, anchor = match[1].partition("#")
                if re.match(r"[a-z]+:", target):
                    continue
                to = path
                if target:
                    to = os.path.normpath(os.path.join(os.path.dirname(path), target))
                if not (tree.root / to).exists():
                    yield Finding(path, number, f"link to {match[1]}: there is no {to}")
                elif anchor and to.endswith(".md") and anchor not in heading_anchors(tree.text(to)):
                    yield Finding(path, number, f"link to {match[1]}: {to} has no such heading")


def check_changes(tree):
    """Notes in changes/ are sentences of the agreed form."""
    for path in tree.files:
        if not path.startswith("changes/") or path == "changes/README.md":
            continue
        if not re.fullmatch(r"changes/[a-z0-9-]+\.md", path):
            yield Finding(path, 0, "name it changes/some-words.md")
            continue
        # An indented line goes on with the entry before it.
        entries = re.sub(r"\n +", " ", tree.text(path).strip())
        for entry in entries.split("\n"):
            if entry and not CHANGE.fullmatch(entry):
                yield Finding(path, 0, f"{entry[:60]!r} is not `added|changed|fixed|removed|"
                              "security: A sentence.`")


def render_adr_index(tree):
    """The list of decisions for docs/adr/README.md, from their first headings."""
    lines = []
    for path in tree.files:
        match = re.fullmatch(r"docs/adr/(\d{4}-[a-z0-9-]+\.md)", path)
        if match and not match[1].startswith("0000"):
            title = tree.lines(path)[0].lstrip("# ") if tree.lines(path) else match[1]
            lines.append(f"- [{title}]({match[1]})")
    return "\n".join(lines) or "None yet."


def check_adr_names(tree):
    """Decisions are numbered once each."""
    seen = {}
    for path in tree.files:
        match = re.fullmatch(r"docs/adr/(.*)", path)
        if not match or match[1] == "README.md":
            continue
        number = re.match(r"(\d{4})-[a-z0-9-]+\.md$", match[1])
        if not number:
            yield Finding(path, 0, "name it docs/adr/NNNN-some-words.md")
        elif number[1] in seen:
            yield Finding(path, 0, f"{seen[number[1]]} has the same number")
        else:
            seen[number[1]] = path
