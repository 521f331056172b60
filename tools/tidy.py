#!/usr/bin/env python3
"""Taste as a check: what must not be in the tree, and what to do instead.

Each rule looks at tracked files only and names file, line and the replacement. The tables on top
are the taste; a new module that needs an exception is added there, in a change that says why.
`tools/test_tidy.py` plants a violation of each rule.

Usage: tools/tidy.py          exit code 1 if something was found
"""

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

FILE_OCTETS_MAX = 2_000_000
RUST_LINES_MAX = 900

# What .gitignore keeps out of the repository.
MADE_HERE = {".git", ".venv", "target", "runs", "__pycache__"}

# Text files that hold data of others, or the words of these rules.
NO_PROSE = ["*.lock", "*.csv", "*.dss", "LICENSE", "tools/tidy.py", "tools/test_tidy.py"]

# (what is banned, what to do instead)
WORDS = [
    (r"\b(?:FIXME|XXX|TODO)\b", "do it now, or write the limit in docs/limitations.md"),
    (r"\bdbg!", "remove it, or write to the log"),
    (r"\b(?:todo|unimplemented)!", "write it, or answer with an error that names the limit"),
    (r"#\[ignore", "make the test run, or say at run time why it could not"),
    (r"(?<![\w.:/-])/(?:work|root|farm)/|(?<![\w.])/home/\w", "a path below the project's folder"),
    (r"\.\./shared\b", "a file in this repository"),
    (
        r"\b(?:crates\.io|docs\.rs|pypi\.org|pythonhosted\.org|(?:deb|security)\.debian\.org)\b",
        "the name of the package, without its host",
    ),
    (r"(?i)co-authored-by|\bissue #?\d+|\bas an? (?:ai|language model)\b", "words about the code"),
]

# Crate -> the crates of the workspace that it may use. vtime and shim use no others either.
CRATES = {
    "vtime": [],
    "shim": ["vtime"],
    "iec61850": [],
    "iec61850-fuzz": ["iec61850"],
    "quorum": ["iec61850"],
    "quorum-fuzz": ["quorum"],
    "substation": ["iec61850", "quorum"],
    "realtime": [],
    "terminal": [],
    "probe": ["realtime", "terminal"],
    "relay": ["iec61850", "quorum", "realtime", "substation", "terminal"],
    "testbed": ["iec61850", "probe", "realtime", "terminal", "vtime"],
}
NO_FOREIGN_CRATES = ["vtime", "shim"]

# Module of `testbed` -> modules that it must not use, and why.
MODULES = {
    "domain": (
        "agent devices launch network plant report results run scenario",
        "a clock knows nothing of those who use it",
    ),
    "scenario": (
        "agent devices launch network report results run",
        "a scenario is read and checked without anything running",
    ),
    "plant": ("agent devices launch network report results run", "the plant is stepped by others"),
    "network": ("agent devices plant report results run", "the network carries frames, no more"),
    "devices": ("agent network report run", "devices show points, no more"),
    "launch": ("devices network plant report results run scenario", "any program can be launched"),
    "results": ("agent devices launch network report run", "results are files, not running parts"),
    "report": (
        "agent devices domain launch network plant run",
        "reports are drawn from the files of a run, never from a running system",
    ),
}

# Where the host's network may be changed, and the calls that change it.
NETWORK_MODULES = [
    # A cable in a network of the probe's own, which vanishes with its sockets.
    "crates/probe/src/sys/veth.rs",
    "crates/testbed/src/network/*",
    "crates/testbed/src/launch/*",
    # Tests look at interfaces with `ip`, and leave the host's namespaces before they mount.
    "crates/testbed/tests/*",
    "crates/relay/tests/*",
    "crates/testbed/src/*/tests.rs",
]
NETWORK_CHANGES = (
    r"\bSIOC[SDA]\w+|\bTUNSETIFF\b|\bNETLINK_ROUTE\b|\bRTM_(?:NEW|DEL|SET)\w+"
    r"|\bunshare\(|\bsetns\(|\bCLONE_NEW(?:NET|USER|NS)\b"
    r"|Command::new\(\"(?:ip|tc|nft|iptables|brctl|ovs-\w+|ifconfig)\"\)"
)

# Modules in which `unsafe` is allowed: each is where a system call, foreign memory or a foreign
# library begins.
UNSAFE_MODULES = [
    "crates/shim/*",
    # What a child used of the processor.
    "crates/probe/benches/*",
    "crates/probe/src/sys/*",
    "crates/realtime/*",
    "crates/relay/tests/*",
    "crates/testbed/src/check/ethtool.rs",
    # Descriptors that a role of the program is started with.
    "crates/testbed/src/cli.rs",
    "crates/testbed/src/domain/mod.rs",
    "crates/testbed/src/fds.rs",
    "crates/testbed/src/domain/page.rs",
    "crates/testbed/src/latency/vm/process.rs",
    "crates/testbed/src/launch/*",
    "crates/testbed/src/network/process_bus.rs",
    "crates/testbed/src/network/tap.rs",
    "crates/testbed/src/network/timer.rs",
    "crates/testbed/src/plant/library.rs",
    "crates/testbed/src/devices/mount.rs",
    "crates/testbed/src/agent/*",
    "crates/testbed/tests/*",
    "crates/testbed/src/*/tests.rs",
    "crates/testbed/src/*/harness.rs",
]
# A column that a long text fills leaves no blank before the next one.
PADDED = r"\{[\w.]*:[<>^]?\d+\}\{"
# Where a program may print by itself: nowhere but where all others do.
PRINTING_MODULES = ["crates/terminal/*", "crates/*/src/*tests.rs", "crates/*/src/*harness.rs"]
PRINTS = r"\be?print(?:ln)?!"
UNSAFE = r"\bunsafe\s*(?:\{|fn\b|impl\b|extern\b|trait\b|\()"


class Finding(NamedTuple):
    """One thing that is not as it should be."""

    path: str
    line: int
    what: str
    instead: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what}; instead: {self.instead}"


class Tree(NamedTuple):
    """The tracked files below a folder."""

    root: Path
    paths: list[str]

    def text(self, path: str) -> str | None:
        """The text of a file; None if it is not text."""
        try:
            return (self.root / path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            return None

    def texts(self, *patterns: str) -> Iterator[tuple[str, str]]:
        """Path and text of the text files that match."""
        for path in self.paths:
            if matches(path, patterns) and (text := self.text(path)) is not None:
                yield path, text


def check(tree: Tree) -> list[Finding]:
    """All findings of all rules."""
    rules = [words, sizes, crates, modules, network, unsafe, columns, prints, links, folders]
    return sorted(finding for rule in rules for finding in rule(tree))


def words(tree: Tree) -> Iterator[Finding]:
    """Leftovers, paths of one machine, and what the project does not speak of."""
    for path, text in tree.texts("*"):
        if matches(path, NO_PROSE):
            continue
        for pattern, instead in WORDS:
            yield from banned(path, text, pattern, instead)


def sizes(tree: Tree) -> Iterator[Finding]:
    """Big files, and Rust files that hold more than one idea."""
    for path in tree.paths:
        octets = (tree.root / path).stat().st_size
        if octets > FILE_OCTETS_MAX:
            what = f"{octets} octets"
            yield Finding(path, 1, what, f"at most {FILE_OCTETS_MAX}: cut or compress it")
    for path, text in tree.texts("*.rs"):
        lines = text.count("\n")
        if lines > RUST_LINES_MAX:
            instead = f"at most {RUST_LINES_MAX}: split it by state or table"
            yield Finding(path, lines, f"{lines} lines", instead)


def crates(tree: Tree) -> Iterator[Finding]:
    """Which crate may use which."""
    for path, text in tree.texts("crates/*/Cargo.toml"):
        manifest = tomllib.loads(text)
        name = manifest["package"]["name"]
        if name not in CRATES:
            yield Finding(path, 1, f"crate {name} has no rule", "an entry in tools/tidy.py")
            continue
        for used in {**manifest.get("dependencies", {}), **manifest.get("build-dependencies", {})}:
            is_ours = used in CRATES
            if used not in CRATES[name] if is_ours else name in NO_FOREIGN_CRATES:
                allowed = ", ".join(CRATES[name]) or "nothing"
                line = line_of(text, rf"(?m)^{re.escape(used)}\b")
                yield Finding(path, line, f"{name} uses {used}", f"{name} may use {allowed}")


def modules(tree: Tree) -> Iterator[Finding]:
    """Which module of `testbed` may use which."""
    for path, text in tree.texts("crates/testbed/src/*.rs"):
        module = path.removeprefix("crates/testbed/src/").split("/")[0].removesuffix(".rs")
        forbidden, reason = MODULES.get(module, ("", ""))
        for number, line in code_lines(text):
            for used in used_modules(line):
                if used in forbidden.split():
                    instead = f"pass it in from outside: {reason}"
                    yield Finding(path, number, f"{module} uses crate::{used}", instead)


def used_modules(line: str) -> Iterator[str]:
    """The top-level modules that a line names: `crate::a::b`, `use crate::{a::b, c}`."""
    for group, single in re.findall(r"\bcrate::(?:\{(.*)\}|(\w+))", line):
        flat = group
        while (inner := re.sub(r"\{[^{}]*\}", "", flat)) != flat:
            flat = inner
        yield from [single] if single else re.findall(r"(?:^|,)\s*(\w+)", flat)


def network(tree: Tree) -> Iterator[Finding]:
    """Who may change the host's network."""
    instead = "call the modules that also undo it: crates/testbed/src/{network,launch}"
    for path, text in tree.texts("crates/*.rs"):
        if not matches(path, NETWORK_MODULES):
            yield from banned(path, "\n".join(code_of(text)), NETWORK_CHANGES, instead)


def unsafe(tree: Tree) -> Iterator[Finding]:
    """Where `unsafe` may be."""
    instead = "a safe function of a module on the list in tools/tidy.py"
    for path, text in tree.texts("*.rs"):
        if not matches(path, UNSAFE_MODULES):
            yield from banned(path, "\n".join(code_of(text)), UNSAFE, instead)


def columns(tree: Tree) -> Iterator[Finding]:
    """Columns that would run into each other."""
    for path, text in tree.texts("*.rs"):
        yield from banned(path, "\n".join(code_of(text)), PADDED, "a blank between columns")


def prints(tree: Tree) -> Iterator[Finding]:
    """What programs print goes through one place; tests print as they like."""
    instead = "terminal::out!, err!, print or print_json: a closed output is no reason to abort"
    for path, text in tree.texts("crates/*/src/*.rs"):
        if not matches(path, PRINTING_MODULES):
            program = "\n".join(code_of(text)).split("#[cfg(test)]")[0]
            yield from banned(path, program, PRINTS, instead)


def links(tree: Tree) -> Iterator[Finding]:
    """Links of Markdown files to files."""
    for path, text in tree.texts("*.md"):
        prose = re.sub(r"(?ms)^ *```.*?^ *```|`[^`\n]*`", lambda code: blank(code[0]), text)
        for link in re.finditer(r"\]\(<?([^)>\s]+)>?[^)\n]*\)|(?m:^\[[^\]]+\]:\s+(\S+))", prose):
            target = (link[1] or link[2]).split("#")[0]
            if not target or re.match(r"[a-z]+:", target):
                continue
            if not (tree.root / path).parent.joinpath(target).exists():
                line = prose.count("\n", 0, link.start()) + 1
                yield Finding(path, line, f"no file {target}", "the path relative to this file")


def folders(tree: Tree) -> Iterator[Finding]:
    """The layout in ARCHITECTURE.md is that of the tree: the first fenced block with a line that
    begins with `crates/`, two blanks of indentation a level, entries ending at two blanks."""
    path = "ARCHITECTURE.md"
    if path not in tree.paths:
        yield Finding(path, 1, "missing", "a file that lists the folders")
        return
    text = tree.text(path) or ""
    blocks = re.finditer(r"(?ms)^```\w*\n(.*?)^```", text)
    block = next((b for b in blocks if re.search(r"(?m)^crates/", b[1])), None)
    if block is None:
        yield Finding(path, 1, "no layout", "a fenced block with a line that begins with crates/")
        return
    first = text.count("\n", 0, block.start(1)) + 1
    listed = set()
    for number, entry in layout(block[1]):
        listed.add(entry.rstrip("/"))
        if not (tree.root / entry).exists():
            yield Finding(path, first + number, f"no {entry}", "the folder's name today")
    tops = {p.split("/")[0] for p in tree.paths if "/" in p}
    inner = {"/".join(p.split("/")[:2]) for p in tree.paths if p.startswith("crates/")}
    for folder in sorted((tops | inner) - listed):
        yield Finding(path, first, f"{folder}/ is not listed", "a line for it in the layout")


def layout(block: str) -> Iterator[tuple[int, str]]:
    """Line number and path of each entry of a layout."""
    parents: list[tuple[int, str]] = []
    for number, line in enumerate(block.splitlines()):
        indentation = len(line) - len(line.lstrip())
        fields = re.split(r"\s{2,}", line.strip())
        # Several files or folders may stand in one line; what follows them is prose.
        names = [f for i, f in enumerate(fields) if i == 0 or re.fullmatch(r"[\w.-]+/", f)]
        if indentation == 0 and all(re.fullmatch(r"[\w./-]+", name) for name in fields):
            names = fields
        while parents and parents[-1][0] >= indentation:
            parents.pop()
        for name in filter(None, names):
            yield number, (parents[-1][1] if parents else "") + name
        if names and names[0].endswith("/"):
            parents.append((indentation, (parents[-1][1] if parents else "") + names[0]))


def banned(path: str, text: str, pattern: str, instead: str) -> Iterator[Finding]:
    """A finding for each line in which the pattern occurs."""
    for number, line in enumerate(text.splitlines(), 1):
        if found := re.search(pattern, line):
            yield Finding(path, number, f"`{found[0].strip()}`", instead)


def code_of(text: str) -> Iterator[str]:
    """The lines of a Rust file without comments."""
    for line in text.splitlines():
        yield re.sub(r"(?:^|\s)//.*", "", line)


def code_lines(text: str) -> Iterator[tuple[int, str]]:
    """As `code_of`, with each `use` joined to one line and the number of its first line."""
    joined, first = "", 0
    for number, line in enumerate(code_of(text), 1):
        first = first if joined else number
        joined += line.strip()
        if re.match(r"(?:pub(?:\([^)]*\))? )?use\b", joined) and not joined.endswith(";"):
            continue
        yield first, joined
        joined = ""


def line_of(text: str, pattern: str) -> int:
    """The line of the first match."""
    found = re.search(pattern, text)
    return text.count("\n", 0, found.start()) + 1 if found else 1


def blank(text: str) -> str:
    """As many lines, nothing in them."""
    return "\n" * text.count("\n")


def matches(path: str, patterns: Iterable[str]) -> bool:
    """Whether a path matches one of the patterns, in which `*` also stands for `/`."""
    return any(fnmatch(path, pattern) for pattern in patterns)


def tracked(root: Path) -> list[str]:
    """The files that git knows, without those that are deleted in the working tree; all files but
    what is made here, where there is no git (an unpacked archive)."""
    # A checkout that belongs to another user is still this project's own tree.
    git = ["git", "-c", f"safe.directory={root}", "ls-files", "-z"]
    try:
        listed = subprocess.run(git, cwd=root, check=True, capture_output=True, text=True).stdout
        paths = listed.split("\0")
    except (OSError, subprocess.CalledProcessError):
        found = (path.relative_to(root) for path in root.rglob("*"))
        paths = [str(path) for path in found if not MADE_HERE.intersection(path.parts)]
    return [path for path in paths if path and (root / path).is_file()]


def main() -> int:
    """Checks the tree that this file is in."""
    root = Path(__file__).resolve().parent.parent
    tree = Tree(root, tracked(root))
    findings = check(tree)
    for finding in findings:
        print(finding, file=sys.stderr)
    print(f"tidy: {len(tree.paths)} files, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
