"""Network programs that people use, as suites: what they say must be what they say natively.

Each is one file in `programs/` that is called as `server` or as `client ADDRESS`. The client waits
for the server, talks to it, and prints lines `fact WHAT: yes` or `no`. Each fact counts as a test. They run on one loopback interface, and as two nodes of a scenario.
"""

import re
import subprocess
import sys
from pathlib import Path

from . import places
from .outcomes import FAILED, PASSED
from .suites import Run, Suite

FOLDER = Path(__file__).parent / "programs"
FACT = re.compile(r"^fact (.+): (yes|no)$", re.MULTILINE)
PROGRAMS = [
    "redis.sh",
    "nginx.sh",
    "postgres.sh",
    "mosquitto.sh",
    "node.js",
    "java.sh",
    "modbus.py",
    "dnp3_points.py",
    "ping.sh",
]
INTERPRETERS = {"sh": "sh", "js": "node", "py": sys.executable}
PLACES = tuple(place.name for place in places.ALL)

# The server is asked to end, so that the shell that waits for it ends too.
ON_LOOPBACK = '"$@" server & server=$!; "$@" client 127.0.0.1; kill $server; wait'


def all_programs() -> list[Suite]:
    return [program(name) for name in PROGRAMS]


def program(name: str) -> Suite:
    command = [INTERPRETERS[name.rpartition(".")[2]], str(FOLDER / name)]

    def run(_tests: list[str], scratch: Path) -> Run:
        environment = {"PYTHONPATH": str(scratch / "site"), "PYTHONUNBUFFERED": "1"}
        on_loopback = ["sh", "-c", ON_LOOPBACK, "sh", *command]
        return Run(on_loopback, scratch, environment, facts, command)

    build = install_packages if name.endswith(".py") else lambda scratch: None
    return Suite(f"programs/{name.split('.')[0]}", run, build, PLACES)


def facts(output: str) -> dict[str, str]:
    """Facts that a client has printed, among all else."""
    found = FACT.findall(output)
    return {fact: PASSED if holds == "yes" else FAILED for fact, holds in found}


def install_packages(scratch: Path) -> None:
    """Puts packages that nothing else in the project needs below a folder, once."""
    if (scratch / "site").exists():
        return
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    pinned = ["--no-deps", "--only-binary", ":all:", "--require-hashes"]
    wanted = ["--requirement", str(Path(__file__).parent / "requirements.txt")]
    subprocess.run([*pip, *pinned, *wanted, "--target", str(scratch / "site")], check=True)
