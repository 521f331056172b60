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

import circles

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
    (r"#\[ignore(?! = \"long: )", "say `= \"long: why\"`, and make test-long runs it; a skip says why at run time"),
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
    "shim": ["random", "vtime"],
    "iec61850": [],
    "mms": ["iec61850"],
    "quorum": ["iec61850"],
    "random": [],
    "fuzz": ["hosts", "iec61850", "mms", "network", "quorum", "vtime"],
    "protection": ["iec61850"],
    "substation": ["iec61850", "protection", "quorum", "settings"],
    "terminal": [],
    "os": [],
    "settings": ["vtime"],
    "remote": ["settings"],
    "report-kit": ["os", "random"],
    "probe": ["os", "terminal", "vtime"],
    "realtime": ["iec61850", "os", "quorum", "terminal"],
    "ied": ["iec61850", "mms", "protection", "quorum", "realtime", "substation"],
    "relay": [
        "ied", "iec61850", "quorum", "os", "protection", "random", "realtime", "settings",
        "substation", "terminal",
    ],
    "domain": ["os", "random", "vtime"],
    "hosts": ["random", "vtime"],
    "signal-bus": ["domain", "vtime"],
    "runtime": ["domain", "os", "terminal", "vtime"],
    "network": ["domain", "hosts", "os", "random", "iec61850", "signal-bus", "vtime"],
    "plant": ["settings", "vtime"],
    "scenario": [
        "domain", "hosts", "network", "os", "plant", "random", "remote", "report-kit", "settings",
        "signal-bus", "vtime",
    ],
    # Files, not running parts: of domain, runtime and network it takes what is in records.
    "results": [
        "domain", "network", "os", "plant", "report-kit", "runtime", "scenario", "terminal", "vtime",
    ],
    "type-tests": ["iec61850", "protection", "random", "report-kit", "substation", "terminal"],
    "readiness": ["os", "probe", "report-kit", "iec61850", "terminal"],
    "latency": [
        "os", "probe", "readiness", "remote", "report-kit", "settings", "terminal", "vtime",
    ],
    "wired-or": ["terminal"],
    "testbed": [
        "domain", "hosts", "latency", "network", "os", "plant", "random", "readiness", "remote",
        "report-kit", "results", "runtime", "scenario", "settings", "signal-bus", "terminal", "vtime",
    ],
}
NO_FOREIGN_CRATES = ["vtime", "shim"]
# What one person can hold in mind.
CRATE_LINES_MAX = 15_000
# What was so when it was written.
HISTORY = ["CHANGELOG.md"]

# Where the host's network may be changed, and the calls that change it.
NETWORK_MODULES = [
    "crates/network/src/*",
    "crates/runtime/src/*",
    "crates/os/src/*",
    # Tests look at interfaces with `ip`, and leave the host's namespaces before they mount.
    "crates/testbed/tests/*",
    "crates/relay/tests/*",
    "crates/*/src/*tests.rs",
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
    "crates/relay/tests/*",
    "crates/domain/src/page.rs",
    "crates/latency/src/vm/process.rs",
    "crates/network/src/tap.rs",
    "crates/os/src/*",
    "crates/plant/src/library.rs",
    "crates/readiness/src/ethtool.rs",
    "crates/runtime/src/*",
    "crates/signal-bus/src/module.rs",
    # Descriptors that a role of the program is started with.
    "crates/testbed/src/cli.rs",
    "crates/testbed/src/nodes/*",
    "crates/testbed/src/run/agent_process.rs",
    "crates/testbed/tests/*",
    "crates/*/src/*tests.rs",
    "crates/*/src/*harness.rs",
]
# Where a program may print by itself: nowhere but where all others do.
PRINTING_MODULES = ["crates/terminal/*", "crates/*/src/*tests.rs", "crates/*/src/*harness.rs"]
PRINTS = r"\be?print(?:ln)?!"
# What needs docs; fields and variants only where their names do not say all.
PUBLIC_ITEM = r"pub (?:const |unsafe |async |extern \"C\" )*(?:fn|struct|enum|trait|type|const|static|union)\b"
# Three words or fewer, unless they name something (`struct iovec`) or a unit (Hz, ms).
SHORT_DOC = r"///(?: [^\s`]+){1,3}"
HELP = r"derive\([^)]*\b(?:Args|Parser|Subcommand|ValueEnum)\b"
# (modules in which it is allowed, what is banned from the code of all others, what to do instead)
CODE = [
    (NETWORK_MODULES, NETWORK_CHANGES, "call the crates that also undo it: network, runtime, os"),
    (
        UNSAFE_MODULES,
        r"\bunsafe\s*(?:\{|fn\b|impl\b|extern\b|trait\b|\()",
        "a safe function of a module on the list in tools/tidy.py",
    ),
    # A column that a long text fills leaves no blank before the next one.
    ([], r"\{[\w.]*:[<>^]?\d+\}\{", "a blank between columns"),
]


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
    rules = [
        words, sizes, crates, built_from, modules, code, prints, docs, links, named, folders,
    ]
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


def built_from(tree: Tree) -> Iterator[Finding]:
    """What `qcycle` is made of, for the commit that it names: all that it depends on."""
    path = "crates/testbed/build.rs"
    if path in tree.paths:
        text = tree.text(path) or ""
        listed = set(re.findall(r'^    "([\w-]+)",$', text, re.MULTILINE))
        graph = {crate: set(used) for crate, used in CRATES.items()}
        # The image is part of the runtime, as a file.
        graph["runtime"].add("shim")
        parts = {"testbed", *circles.reachable(graph, "testbed")}
        for crate in sorted(parts ^ listed):
            yield Finding(path, 1, f"{crate} in BUILT_FROM or not", "what the table of crates says")


def modules(tree: Tree) -> Iterator[Finding]:
    """No circles between the modules of a crate, and no crate beyond what can be held in mind."""
    by_crate: dict[str, dict[str, str]] = {}
    for path, text in tree.texts("crates/*/src/*.rs"):
        _, crate, _, inner = path.split("/", 3)
        by_crate.setdefault(crate, {})[inner] = text
    for crate, files in by_crate.items():
        lines = sum(text.count("\n") for text in files.values())
        if lines > CRATE_LINES_MAX:
            path = f"crates/{crate}/src/{max(files, key=lambda inner: len(files[inner]))}"
            instead = f"at most {CRATE_LINES_MAX}: divide it"
            yield Finding(path, 1, f"{lines} lines in {crate}", instead)
        for level, circle in circles.circles(files):
            what = f"a circle: {', '.join('::'.join((*level, name)) for name in circle)}"
            where = "/".join((f"crates/{crate}/src", *level, circle[-1]))
            path = f"{where}.rs" if f"{where}.rs" in tree.paths else f"{where}/mod.rs"
            yield Finding(path, 1, what, "move what both need into a module below both")


def code(tree: Tree) -> Iterator[Finding]:
    """What code may hold in some modules only: `CODE`."""
    for path, text in tree.texts("*.rs"):
        for allowed, pattern, instead in CODE:
            if not matches(path, allowed):
                yield from banned(path, code_of(text), pattern, instead)


def prints(tree: Tree) -> Iterator[Finding]:
    """What programs print goes through one place; tests print as they like."""
    instead = "terminal::out!, err!, print or print_json: a closed output is no reason to abort"
    for path, text in tree.texts("crates/*/src/*.rs"):
        if not matches(path, PRINTING_MODULES):
            program = code_of(text).split("#[cfg(test)]")[0]
            yield from banned(path, program, PRINTS, instead)


def docs(tree: Tree) -> Iterator[Finding]:
    """Public items have docs, and docs say more than the name."""
    for path, text in tree.texts("crates/*/src/*.rs"):
        lines = [line.strip() for line in text.splitlines()]
        # Doc comments of a command line are its help, where short is good.
        is_help = re.search(HELP, text)
        is_test = matches(path, PRINTING_MODULES)
        for number, line in enumerate(lines):
            before = lines[number - 1] if number else ""
            after = lines[number + 1] if number + 1 < len(lines) else ""
            if re.match(PUBLIC_ITEM, line) and not is_test and not before.startswith(("///", "#[")):
                yield Finding(path, number + 1, "a public item without docs", "what it is, with units and errors")
            alone = not before.startswith("///") and not after.startswith("///")
            if re.fullmatch(SHORT_DOC, line) and alone and not is_help:
                yield Finding(path, number + 1, f"`{line}`", "a name that says it, or a sentence that says more")


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


def named(tree: Tree) -> Iterator[Finding]:
    """Files and folders that documents name between backticks, whole or by the end of their path."""
    ends = {"/".join(parts[i:]) for p in tree.paths for parts in [p.split("/")] for i in range(len(parts))}
    for path, text in tree.texts("*.md"):
        if path in HISTORY:
            continue
        pattern = r"`([\w.-]+(?:/[\w.-]+)*/[\w-]+\.rs|(?:crates|tools|scenarios|docs)/[\w./-]*\w/?)`"
        for number, line in enumerate(text.splitlines(), 1):
            for name in re.findall(pattern, line):
                if name not in ends and not (tree.root / name).exists():
                    yield Finding(path, number, f"no file {name}", "its path today, or the end of it")


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


def code_of(text: str) -> str:
    """A Rust file without comments."""
    return re.sub(r"(?m)(?:^|[^\S\n])//.*", "", text)


def line_of(text: str, pattern: str) -> int:
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
