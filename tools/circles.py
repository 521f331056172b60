"""Circles between the modules of a crate: those that nobody can understand or test one by one.

Modules are compared with their siblings only: what `a::x` uses of `b::y` makes `a` use `b`. A module
and those inside it are one thing. Tests do not count.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from os.path import commonprefix

Module = tuple[str, ...]
Graph = dict[str, set[str]]

USE = re.compile(r"^[ \t]*(?:pub(?:\([a-z ]+\))? )?use ([^;]+);", re.MULTILINE)
INLINE = re.compile(r"(?<![\w:])(?:crate|super)(?:::\w+)+")


def module_of(path: str) -> Module:
    """The module of a file, by its path below `src`."""
    parts = path.removesuffix(".rs").split("/")
    return tuple(parts[:-1] if parts[-1] in ("mod", "lib", "main") else parts)


def leaves(tree: str) -> Iterator[list[str]]:
    """The paths that a `use` names: `a::{b, c::d}` is `a::b` and `a::c::d`."""
    tree = re.sub(r"\s+as\s+\w+$", "", tree.strip())
    head, brace, rest = tree.partition("{")
    if not brace:
        yield [part.strip() for part in tree.split("::")]
        return
    before = [part for part in head.strip().split("::") if part]
    depth, item = 0, ""
    for letter in rest[: rest.rindex("}")] + ",":
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            if item.strip():
                for leaf in leaves(item):
                    yield before + leaf
            item = ""
        else:
            item += letter


def absolute(path: list[str], here: Module) -> Module | None:
    """A path from the root of the crate; None if it is of another crate."""
    if path[0] == "crate":
        return tuple(path[1:])
    base = list(here)
    while path and path[0] == "super" and base:
        path, base = path[1:], base[:-1]
    return None if len(base) == len(here) else (*base, *path)


def used(text: str, here: Module) -> Iterator[Module]:
    """What a file without its tests names of its own crate."""
    code = re.sub(r"//.*", "", text.split("#[cfg(test)]")[0])
    paths = [leaf for use in USE.finditer(code) for leaf in leaves(use[1])]
    paths += [inline[0].split("::") for inline in INLINE.finditer(USE.sub("", code))]
    yield from filter(None, (absolute(path, here) for path in paths))


def circles(files: dict[str, str]) -> list[tuple[Module, list[str]]]:
    """The circles of a crate: the module they lie in, and who takes part. `files` are the texts of its
    Rust files by their paths below `src`."""
    modules = {module_of(path) for path in files}
    levels: dict[Module, Graph] = defaultdict(lambda: defaultdict(set))
    for path, text in files.items():
        here = module_of(path)
        if not here or here[0] == "bin" or here[-1].endswith(("tests", "harness")):
            continue
        for target in used(text, here):
            while target and target not in modules:
                target = target[:-1]
            shared = len(commonprefix([here, target]))
            if shared < len(here) and shared < len(target):
                levels[here[:shared]][here[shared]].add(target[shared])
    found = [(level, circle) for level, graph in levels.items() for circle in knots(graph)]
    return sorted(found)


def knots(graph: Graph) -> list[list[str]]:
    """Who reaches each other (strongly connected, more than one)."""
    reach = {start: reachable(graph, start) for start in graph}
    back = ((other for other in reach[one] if one in reach.get(other, set())) for one in graph)
    return [list(circle) for circle in sorted({tuple(sorted(one)) for one in back}) if len(circle) > 1]


def reachable(graph: Graph, start: str) -> set[str]:
    """What can be reached from a module, itself only by a circle."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        for other in graph.get(waiting.pop(), set()) - found:
            found.add(other)
            waiting.append(other)
    return found
