#!/usr/bin/env python3
"""Shows that the checks of `quorum` can fail: makes one mistake after the other in a copy of its
sources, and demands that the checks named for it fail.

The mistakes are data, `crates/quorum/tests/mutants.toml`, so that production code has no switches
for them. What is copied is the core alone, its tests, and the random numbers that these use;
compiling that takes seconds, so that every test run can afford all mutants. The models, which use
stateright, are compiled only for the mistakes that they are to find.

Usage: tools/mutants.py [part of a mutant's name ...]       exit code 1 if a mutant lives
       tools/mutants.py --page      writes the table of docs/internals/quorum.md
"""

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
CRATE = ROOT / "crates" / "quorum"
RANDOM = ROOT / "crates" / "random" / "src" / "lib.rs"
MUTANTS = CRATE / "tests" / "mutants.toml"
PAGE = ROOT / "docs" / "internals" / "quorum.md"
BEGIN, END = "<!-- mutants: written by tools/mutants.py --page -->", "<!-- end of mutants -->"

# Modules of src that need other crates, and of tests that need these; the models need stateright.
FOREIGN = ["certificate", "channel", "dealer", "hex", "keys", "wire"]
FOREIGN_TESTS = ["corpus", "keys"]
MODELS = ["model"]
MODEL = "model::"
# How many events the simulator has in each mode to find a mistake.
EVENTS = "4000000"
CHECK_SECONDS_MAX = 1800


class Mutant(NamedTuple):
    name: str
    file: str
    before: str
    after: str
    killed_by: list[str]


def mutants() -> list[Mutant]:
    return [Mutant(**row) for row in tomllib.loads(MUTANTS.read_text())["mutant"]]


def copy(folder: Path, explores: bool) -> None:
    """The core and its tests as a crate that uses no foreign one; with the models, stateright."""
    shutil.copy(RANDOM, folder / "random.rs")
    shutil.copytree(CRATE / "src", folder / "src")
    without(folder / "src" / "lib.rs", FOREIGN)
    shutil.copytree(CRATE / "tests", folder / "tests")
    without(folder / "tests" / "main.rs", FOREIGN_TESTS + ([] if explores else MODELS))


def without(path: Path, modules: list[str]) -> None:
    """Takes modules out of a file that lists them."""
    pattern = rf"(?m)^(?:pub )?mod (?:{'|'.join(modules)});\n"
    path.write_text(re.sub(pattern, "", path.read_text()))


def change(folder: Path, mutant: Mutant) -> str | None:
    """Makes the mistake; says why it cannot be made."""
    path = folder / "src" / mutant.file
    text = path.read_text()
    count = text.count(mutant.before)
    if count != 1:
        return f"{mutant.before!r} occurs {count} times in {mutant.file}: adapt {MUTANTS.name}"
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


def compile_tests(folder: Path, explores: bool) -> str | None:
    """Builds the tests; says what the compiler says if it does not."""
    rustc = [compiler(), "--edition", "2024", "--cap-lints", "allow", "-C", "debuginfo=0"]
    if explores:
        rustc += ["-C", "opt-level=1"]
    library = [*rustc, "-L", ".", "--crate-type", "rlib", "--crate-name"]
    random = [*library, "random", "random.rs"]
    quorum = [*library, "quorum", "src/lib.rs"]
    tests = [*rustc, "-L", ".", "--test", "--crate-name", "main", "tests/main.rs", "-o", "checks"]
    tests += ["--extern", "random", "--extern", "quorum"]
    if explores:
        path = stateright()
        tests += ["--extern", f"stateright={path}", "-L", f"dependency={path.parent}"]
    for command in (random, quorum, tests):
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
        raise LookupError(f"no check {check} in the tests of quorum")
    if result.returncode == 0:
        return None
    lines = (result.stdout + result.stderr).splitlines()
    said = [after for line, after in zip(lines, lines[1:], strict=False) if "panicked at" in line]
    return said[0] if said else "it fails"


def judge(mutant: Mutant | None, names: list[str]) -> list[str]:
    """What is wrong with a mutant, or with the sources as they are."""
    with tempfile.TemporaryDirectory(prefix="quorum-mutant-") as name:
        folder = Path(name)
        explores = any(name.startswith(MODEL) for name in names)
        copy(folder, explores)
        if mutant and (problem := change(folder, mutant)):
            return [problem]
        if problem := compile_tests(folder, explores):
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


def main(arguments: list[str]) -> int:
    """Judges all mutants, or those named."""
    rows = mutants()
    if arguments == ["--page"]:
        PAGE.write_text(page(PAGE.read_text(), rows))
        return 0
    chosen = [row for row in rows if not arguments or any(a in row.name for a in arguments)]
    # Without a mutant, each check passes: it does not fail for another reason.
    checks = sorted({check for row in chosen for check in row.killed_by})
    problems = judge(None, checks)
    if not problems:
        with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
            judged = pool.map(lambda row: judge(row, row.killed_by), chosen)
            for row, found in zip(chosen, judged, strict=True):
                print(f"{'LIVES' if found else 'killed'}: {row.name}", flush=True)
                problems += [f"{row.name}: {problem}" for problem in found]
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"mutants: {len(chosen)}, checks: {len(checks)}, problems: {len(problems)}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
