"""Which packages our system headers come from: asked of the compiler and of dpkg, not believed."""

import os
import re
import subprocess

from house.tree import Finding


def declared_packages(tree):
    """The packages that tools/packages.txt installs for building and testing."""
    packages = set()
    for line in tree.lines("tools/packages.txt"):
        words = line.split("#")[0].split()
        if words and words[0] in ("build", "test"):
            packages.add(words[1])
    return packages


def with_dependencies(packages):
    """The packages and all they depend on, as installed here."""
    answer = subprocess.run(
        ["dpkg-query", "-W", "-f",
         "${Package}\t${Provides}\t${Pre-Depends}, ${Depends}\t${db:Status-Status}\n"],
        check=True, capture_output=True, text=True).stdout
    depends, providers = {}, {}
    for line in answer.splitlines():
        name, provides, needs, status = line.split("\t")
        if status != "installed":
            continue
        depends[name] = package_names(needs)
        for virtual in package_names(provides):
            providers.setdefault(virtual, []).append(name)
    closed, open_names = set(), list(packages)
    while open_names:
        name = open_names.pop()
        if name not in closed:
            closed.add(name)
            open_names += depends.get(name, []) or providers.get(name, [])
    return closed


def package_names(field):
    """`a (>= 1), b | c:any` → a, b, c."""
    return [re.sub(r"[ (:].*", "", part.strip()) for part in re.split(r"[,|]", field)
            if part.strip()]


def parse_ninja_deps(text):
    """`ninja -t deps`: object → the files it was made from."""
    deps, target = {}, None
    for line in text.splitlines():
        if line.startswith("    "):
            if target:
                deps[target].append(line.strip())
        elif ": #deps" in line and "STALE" not in line:
            target = line.split(": #deps")[0]
            deps[target] = []
        else:
            target = None
    return deps


def owners(paths):
    """The package of each path; paths that no package owns are missing."""
    found = {}
    paths = sorted(paths)
    for start in range(0, len(paths), 500):
        answer = subprocess.run(["dpkg-query", "-S", *paths[start:start + 500]],
                                capture_output=True, text=True, check=False).stdout
        for line in answer.splitlines():
            packages, separator, path = line.partition(": ")
            if separator and not packages.startswith("diversion"):
                found[path] = packages.split(",")[0].split(":")[0]
    return found


def check_headers(tree, build_dir):
    """Headers named in our code belong to packages listed in tools/packages.txt, and headers that
    those include belong to what these packages depend on. `build_dir` must be built."""
    build_dir = os.path.realpath(build_dir)
    answer = subprocess.run(["ninja", "-C", build_dir, "-t", "deps"], check=True,
                            capture_output=True, text=True).stdout
    root = os.path.realpath(tree.root)
    used_by = {}          # system header → one of our files behind it
    named = {}            # (our file, name between <>) → system header
    our_objects = 0
    for files in parse_ninja_deps(answer).values():
        paths = [os.path.realpath(os.path.join(build_dir, f)) for f in files]
        ours = [os.path.relpath(p, root) for p in paths
                if p.startswith(root + os.sep) and not p.startswith(build_dir + os.sep)]
        ours = [p for p in ours if p in tree.files]
        if not ours:
            continue
        our_objects += 1
        system = [p for p in paths
                  if not p.startswith(root + os.sep) and not p.startswith(build_dir + os.sep)]
        for path in system:
            used_by.setdefault(path, ours[0])
        for path in ours:
            for include in tree.includes(path):
                if not include.quoted:
                    for header in system:
                        if header.endswith("/" + include.name):
                            named.setdefault((path, include.line, include.name), header)
    if not our_objects:
        yield Finding(str(build_dir), 0, "no object of ours was built there; build first")
        return
    declared = declared_packages(tree)
    closed = with_dependencies(declared)
    package_of = owners(used_by)
    for header, path in sorted(used_by.items()):
        package = package_of.get(header)
        if package is None:
            yield Finding(path, 0, f"{header} belongs to no package")
        elif package not in closed:
            yield Finding(path, 0, f"{header} is of {package}, which tools/packages.txt does not "
                          "install")
    for (path, line, name), header in sorted(named.items()):
        package = package_of.get(header)
        if package in closed and package not in declared:
            yield Finding(path, line, f"<{name}> is of {package}, which comes only as a "
                          "dependency: list it in tools/packages.txt")
    yield from unseen(tree, named)


def unseen(tree, named):
    """Includes that no object of the build folder used: they were not checked."""
    seen = {(path, line) for path, line, _ in named}
    for path in tree.code():
        names = [include.name for include in tree.includes(path)
                 if not include.quoted and (path, include.line) not in seen]
        if names:
            yield Finding(path, 0, f"not in any object of the build folder: <{'>, <'.join(names)}>",
                          warning=True)
