"""Which file of a Rust crate uses which, read from its text: `use`, and paths that begin at a module.

A path is followed to the file that defines what it names, through re-exports. A `mod` line and a re-export therefore
make no arrow of their own: a parent that only declares and re-exports its children stands in nobody's way. Tests at the
end of a file and files that are compiled for tests alone are left out, because nothing but tests uses them.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

Names = tuple[str, ...]

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_STRING = re.compile(r'b?r(#+)".*?"\1|b?r"[^"]*"|b?"(?:\\.|[^"\\])*"', re.DOTALL)
_TESTS_INLINE = re.compile(
    r"^#\[cfg\(test\)\]\s*\n(?:#\[[^\n]*\]\s*\n)*(?:pub(?:\([^)]*\))? )?mod \w+ \{", re.MULTILINE
)
_TESTS_FILE = re.compile(
    r"^#\[cfg\(test\)\]\s*\n(?:#\[[^\n]*\]\s*\n)*(?:pub(?:\([^)]*\))? )?mod (?P<name>\w+);", re.MULTILINE
)
_USE = re.compile(r"^ *(?:pub(?:\([^)]*\))? )?use (?P<tree>[^;]+);", re.MULTILINE)
_DEFINED = re.compile(r"\b(?:fn|struct|enum|union|trait|type|const|static|macro_rules!)\s+(?:mut\s+)?(?P<name>\w+)")
_CHILD = re.compile(r"\bmod \w+;")
_WORD = re.compile(r"\w+")
_PATH = re.compile(r"(?<![\w:])(?P<path>\w+(?:::\w+)+)")


@dataclass(slots=True)
class Module:
    """One file: what it defines, which names it takes from where, and the paths of its code."""

    file: Path
    defined: set[str] = field(default_factory=set)
    bound: dict[str, Names] = field(default_factory=dict)
    globs: list[Names] = field(default_factory=list)
    paths: set[Names] = field(default_factory=set)


def expand(tree: str) -> Iterator[tuple[Names, str]]:
    """Yield each path of a `use` tree with the name that it gets: `a::{b as c, d::*}` is `a::b` as c and `a::d::*`."""
    tree = tree.strip()
    before, brace, inside = tree.partition("{")
    if not brace:
        path, _, alias = tree.partition(" as ")
        names = tuple(name.strip() for name in path.split("::"))
        names = names[:-1] if names[-1] == "self" and len(names) > 1 else names
        yield names, alias.strip() or names[-1]
        return
    head = tuple(name.strip() for name in before.split("::") if name.strip())
    depth, part = 0, ""
    for letter in inside.rstrip().removesuffix("}") + ",":
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            if part.strip():
                for names, name in expand(part):
                    whole = head if names == ("self",) else head + names
                    yield whole, whole[-1] if names == ("self",) else name
            part = ""
        else:
            part += letter


def code_of(text: str) -> str:
    """Return Rust without comments, texts and the tests that end the file."""
    bare = _STRING.sub('""', _COMMENT.sub("", text))
    tests = _TESTS_INLINE.search(bare)
    return bare if tests is None else bare[: tests.start()]


def module_path(file: Path, source: Path) -> Names:
    """Return the path of a file's module within its crate: `a/mod.rs` and `a.rs` are `a`, the root is empty."""
    parts = file.relative_to(source).with_suffix("").parts
    return parts[:-1] if parts[-1] in {"mod", "lib", "main"} else parts


def absolute(path: Names, here: Names, modules: dict[Names, Module]) -> Names | None:
    """Return a path of the module `here` from the crate's root; None where it leads out of the crate."""
    if path[0] == "crate":
        return path[1:]
    if path[0] in {"self", "super"}:
        at = here
        while path and path[0] in {"self", "super"}:
            at = at[:-1] if path[0] == "super" else at
            path = path[1:]
        return at + path
    if (*here, path[0]) in modules:
        return here + path
    bound = modules[here].bound.get(path[0])
    if bound is None or bound[0] == path[0]:
        return None
    start = absolute(bound, here, modules)
    return None if start is None else start + path[1:]


def home(path: Names, modules: dict[Names, Module], seen: frozenset[Names] = frozenset()) -> Names | None:
    """Return the module that defines what an absolute path names. A path that names a module alone has none."""
    if path in seen:
        return None
    length = next(size for size in range(len(path), -1, -1) if path[:size] in modules)
    at, rest = path[:length], path[length:]
    if not rest:
        return None
    module = modules[at]
    if rest[0] in module.defined or rest[0] == "*":
        return at
    if rest[0] in module.bound:
        onward = absolute(module.bound[rest[0]], at, modules)
        return None if onward is None else home(onward + rest[1:], modules, seen | {path})
    for glob in module.globs:
        onward = absolute(glob, at, modules)
        found = None if onward is None else home(onward + rest, modules, seen | {path})
        if found is not None:
            return found
    return at if not module.globs else None


def read_module(file: Path, code: str) -> Module:
    rest = _USE.sub("", code)
    words = set(_WORD.findall(_CHILD.sub("", rest)))
    module = Module(file, {match["name"] for match in _DEFINED.finditer(code)})
    for match in _USE.finditer(code):
        exported = match.group().lstrip().startswith("pub")
        for names, name in expand(match["tree"]):
            if name == "*":
                module.globs.append(names[:-1])
            else:
                module.bound[name] = names
            # A re-export is followed by those who use it; it is no use of its own unless the code names it, too.
            if not exported or name in words:
                module.paths.add(names)
    module.paths |= {tuple(match["path"].split("::")) for match in _PATH.finditer(rest)}
    return module


def read_crate(source: Path, files: list[Path]) -> dict[Path, set[Path]]:
    """Return which files each file of a crate uses, from the folder of the crate's root and its files."""
    texts = {module_path(file, source): (file, file.read_text(encoding="utf-8")) for file in files}
    tests = {(*path, match["name"]) for path, (_, text) in texts.items() for match in _TESTS_FILE.finditer(text)}
    modules = {
        path: read_module(file, code_of(text))
        for path, (file, text) in texts.items()
        if not any(path[: len(test)] == test for test in tests)
    }
    uses: dict[Path, set[Path]] = {module.file: set() for module in modules.values()}
    for here, module in modules.items():
        for path in module.paths:
            start = absolute(path, here, modules)
            used = None if start is None else home(start, modules)
            if used is not None and used != here:
                uses[module.file].add(modules[used].file)
    return uses


def loops(uses: dict[Path, set[Path]]) -> list[list[Path]]:
    """Return the groups of files that use each other in a circle: the strongly connected parts of the graph."""
    reach = {file: set(used) for file, used in uses.items()}
    for between, beyond in reach.items():
        for reached in reach.values():
            if between in reached:
                reached.update(beyond)
    circles = {
        frozenset(other for other in reached if file in reach.get(other, set()))
        for file, reached in reach.items()
        if file in reached
    }
    return sorted(sorted(circle) for circle in circles)
