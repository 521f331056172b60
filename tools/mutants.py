#!/usr/bin/env python3
"""Shows that the checks of `quorum` and `hosts` can fail: makes one mistake after the other in a copy of
their sources, and demands that the checks named for it fail.

The mistakes are data, `tests/mutants.toml` of each crate, so that production code has no switches
for them. What is copied is the core alone, its tests, and what these use of the project;
compiling that takes seconds, so that every test run can afford all mutants. The models of `quorum`, which use
stateright, are compiled only for the mistakes that they are to find.

Usage: tools/mutants.py [part of a mutant's name ...]       exit code 1 if a mutant lives
       tools/mutants.py --page      writes the tables of docs/internals/quorum.md and hosts.md
"""

import atexit
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- mutants: written by tools/mutants.py --page -->", "<!-- end of mutants -->"

MODELS = ["model"]
MODEL = "model::"
# How many events the simulator has in each mode to find a mistake.
EVENTS = "4000000"
CHECK_SECONDS_MAX = 1800


class Crate(NamedTuple):
    """One whose mutants are made."""

    name: str
    # Crates of the project that its core and its tests use.
    uses: list[str]
    # Modules of src that need others, and of tests that need these.
    foreign: list[str]
    foreign_tests: list[str]

    @property
    def folder(self) -> Path:
        return ROOT / "crates" / self.name

    @property
    def list(self) -> Path:
        return self.folder / "tests" / "mutants.toml"

    @property
    def page(self) -> Path:
        return ROOT / "docs" / "internals" / f"{self.name}.md"


CRATES = [
    Crate(
        "quorum", ["random"], ["certificate", "channel", "dealer", "hex", "keys", "wire"],
        ["corpus", "keys"],
    ),
    Crate("hosts", ["random", "vtime"], ["ns", "seal", "session", "stream", "words"], []),
]


class Mutant(NamedTuple):
    name: str
    file: str
    before: str
    after: str
    killed_by: list[str]


def mutants(crate: Crate) -> list[Mutant]:
    return [Mutant(**row) for row in tomllib.loads(crate.list.read_text())["mutant"]]


def copy(crate: Crate, folder: Path, explores: bool) -> None:
    """The core and its tests as a crate that uses no foreign one; with the models, stateright."""
    shutil.copytree(crate.folder / "src", folder / "src")
    without(folder / "src" / "lib.rs", crate.foreign)
    for path in (folder / "src").rglob("*.rs"):
        path.write_text(without_messages(path.read_text()))
    shutil.copytree(crate.folder / "tests", folder / "tests")
    without(folder / "tests" / "main.rs", crate.foreign_tests + ([] if explores else MODELS))


def without_messages(text: str) -> str:
    """Takes out what makes messages of types."""
    text = re.sub(r"(?m)^use (?:serde|crate::ns)\b.*\n", "", text)
    return re.sub(r"(?m), Serialize, Deserialize\b|^ *#\[serde\(.*\n", "", text)


def without(path: Path, modules: list[str]) -> None:
    """Takes modules out of a file that lists them."""
    pattern = rf"(?m)^(?:pub )?mod (?:{'|'.join(modules)});\n"
    path.write_text(re.sub(pattern, "", path.read_text()))


def change(crate: Crate, folder: Path, mutant: Mutant) -> str | None:
    """Makes the mistake; says why it cannot be made."""
    path = folder / "src" / mutant.file
    text = path.read_text()
    count = text.count(mutant.before)
    if count != 1:
        return f"{mutant.before!r} occurs {count} times in {mutant.file}: adapt {crate.list}"
    path.write_text(text.replace(mutant.before, mutant.after))
    return None


@cache
def compiler() -> str:
    """The one that builds the project, which a folder elsewhere need not have."""
    command = ["rustc", "--print", "sysroot"]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return str(Path(said.stdout.strip()) / "bin" / "rustc")


@cache
def stateright() -> Path:
    """The library, as the tests have it."""
    command = ["cargo", "test", "--locked", "-p", "quorum", "--test", "main", "--no-run"]
    command.append("--message-format=json")
    said = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    for line in said.stdout.splitlines():
        artifact = json.loads(line)
        if artifact.get("target", {}).get("name") == "stateright":
            return Path(next(name for name in artifact["filenames"] if name.endswith(".rlib")))
    raise LookupError("the tests of quorum use no stateright")


@cache
def libraries() -> Path:
    """Where crates of the project are compiled to, for all mutants, until the end."""
    folder = tempfile.mkdtemp(prefix="mutants-")
    atexit.register(shutil.rmtree, folder)
    return Path(folder)


@cache
def used(name: str) -> Path:
    """A crate of the project without its tests, compiled once."""
    path = libraries() / f"lib{name}.rlib"
    command = [compiler(), "--edition", "2024", "--cap-lints", "allow", "-C", "debuginfo=0"]
    command += ["--crate-type", "rlib", "--crate-name", name, "-o", str(path)]
    subprocess.run([*command, str(ROOT / "crates" / name / "src" / "lib.rs")], check=True)
    return path


def compile_tests(crate: Crate, folder: Path, explores: bool) -> str | None:
    """Builds the tests; says what the compiler says if it does not."""
    rustc = [compiler(), "--edition", "2024", "--cap-lints", "allow", "-C", "debuginfo=0"]
    rustc += ["-L", f"dependency={libraries()}"]
    if explores:
        rustc += ["-C", "opt-level=1"]
    library = [*rustc, "-L", ".", "--crate-type", "rlib", "--crate-name"]
    externs = [part for name in crate.uses for part in ("--extern", f"{name}={used(name)}")]
    core = [*library, crate.name, "src/lib.rs", *externs]
    tests = [*rustc, "-L", ".", "--test", "--crate-name", "main", "tests/main.rs", "-o", "checks"]
    tests += [*externs, "--extern", crate.name]
    if explores:
        path = stateright()
        tests += ["--extern", f"stateright={path}", "-L", f"dependency={path.parent}"]
    for command in (core, tests):
        result = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if result.returncode != 0:
            return result.stderr
    return None


def passes(folder: Path, check: str) -> str | None:
    """Whether a check passes: None if it does, else the line that says why not. A check that does
    not exist raises."""
    command = [str(folder / "checks"), "--exact", check, "--include-ignored", "--test-threads", "1"]
    environment = {**os.environ, "QUORUM_EVENTS": EVENTS, "RUST_BACKTRACE": "0"}
    result = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True,
        timeout=CHECK_SECONDS_MAX,
    )
    if "running 1 test" not in result.stdout:
        raise LookupError(f"no check {check} in the tests")
    if result.returncode == 0:
        return None
    lines = (result.stdout + result.stderr).splitlines()
    said = [after for line, after in zip(lines, lines[1:], strict=False) if "panicked at" in line]
    return said[0] if said else "it fails"


def judge(crate: Crate, mutant: Mutant | None, names: list[str]) -> list[str]:
    """What is wrong with a mutant, or with the sources as they are."""
    with tempfile.TemporaryDirectory(prefix=f"{crate.name}-mutant-") as name:
        folder = Path(name)
        explores = any(name.startswith(MODEL) for name in names)
        copy(crate, folder, explores)
        if mutant and (problem := change(crate, folder, mutant)):
            return [problem]
        if problem := compile_tests(crate, folder, explores):
            return [f"does not compile: {problem}"]
        said = {check: passes(folder, check) for check in names}
    if mutant:
        return [f"lives through {check}" for check, why in said.items() if why is None]
    return [f"{check} fails without a mutant: {why}" for check, why in said.items() if why]


def table(rows: list[Mutant]) -> str:
    checks = (", ".join(f"`{check}`" for check in row.killed_by) for row in rows)
    lines = (f"| {row.name} | {named} |" for row, named in zip(rows, checks, strict=True))
    return "\n".join(["| mistake | checks that fail |", "|---|---|", *lines])


def page(text: str, rows: list[Mutant]) -> str:
    """The page with the table in it."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{table(rows)}\n\n{END}{after}"


def judged(crate: Crate, chosen: list[Mutant]) -> tuple[list[str], int]:
    """What is wrong with the mutants of a crate, and how many checks they are for."""
    # Without a mutant, each check passes: it does not fail for another reason.
    checks = sorted({check for row in chosen for check in row.killed_by})
    problems = judge(crate, None, checks) if checks else []
    if not problems:
        with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
            founds = pool.map(lambda row: judge(crate, row, row.killed_by), chosen)
            for row, found in zip(chosen, founds, strict=True):
                print(f"{'LIVES' if found else 'killed'}: {row.name}", flush=True)
                problems += [f"{row.name}: {problem}" for problem in found]
    return problems, len(checks)


def main(arguments: list[str]) -> int:
    """Judges all mutants, or those named."""
    code = 0
    for crate in CRATES:
        rows = mutants(crate)
        if arguments == ["--page"]:
            crate.page.write_text(page(crate.page.read_text(), rows))
            continue
        chosen = [row for row in rows if not arguments or any(a in row.name for a in arguments)]
        problems, checks = judged(crate, chosen)
        for problem in problems:
            print(problem, file=sys.stderr)
        print(
            f"mutants of {crate.name}: {len(chosen)}, checks: {checks}, problems: {len(problems)}"
        )
        code = 1 if problems else code
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
