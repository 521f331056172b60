"""Two nodes of a scenario with a server and a client, and what the client has printed."""

import json
from pathlib import Path

SCENARIO = """scenario: {name}
description: A server and a client over one link.
duration: {duration_s} s
settle: 1 s
nodes:
  server:
    address: 10.0.0.1/24
    programs:
      - name: server
        run: {server}
        environment: {environment}
  client:
    address: 10.0.0.2/24
    programs:
      - name: client
        run: {client}
        environment: {environment}
links:
  - {{from: server, to: client, delay: 5 ms, rate: 20 Mbit/s, queue: 100}}
"""


def write_scenario(
    folder: Path,
    name: str,
    command: list[str],
    environment: dict[str, str],
    duration_s: int,
) -> Path:
    """Writes a scenario that ends when its client does. `command` is called as `server` and as
    `client ADDRESS`. JSON is YAML."""
    file = folder / f"{name}.yaml"
    text = SCENARIO.format(
        name=name,
        duration_s=duration_s,
        server=json.dumps([*command, "server"]),
        client=json.dumps([*command, "client", "10.0.0.1"]),
        environment=json.dumps(environment),
    )
    file.write_text(text)
    return file


def run_folder(said: str, folder: Path) -> Path | None:
    """The run folder that `qcycle run` has named on standard error."""
    for line in said.splitlines():
        if line.startswith("run folder "):
            return folder / line.removeprefix("run folder ").partition(", time domain")[0]
    return None


def client_log(run: Path) -> str:
    """What the client has printed, without times."""
    log = run / "programs/client.log"
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    return "\n".join(line.partition("| ")[2] for line in lines)
