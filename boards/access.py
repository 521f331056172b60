"""How boards are reached: keys that live as long as they do, a configuration of ssh, and what scenarios say."""

import re
from pathlib import Path

import packages
from board import Board

# The lines of each board and how they are wired, for who uses the bus; see docs/boards.md.
CHIP, OUTPUT, INPUTS = "virtio0", 0, (1, 2)
# In boards, of the folders of scenarios.
SCENARIOS = "/scenarios"


def make_keys(state: Path, dropbearkey: list[str | Path]) -> str:
    """Makes the key of the user and that of the boards' servers. Returns the public half of the latter."""
    packages.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "boards", "-f", state / "user_key"])
    said = packages.run([*dropbearkey, "-t", "ed25519", "-f", state / "host_key"])
    found = re.search(r"^ssh-ed25519 \S+", said, re.MULTILINE)
    if not found:
        raise packages.NotThere(f"dropbearkey shows no public key: {said}")
    return found[0]


def ssh_config(state: Path, boards: list[Board]) -> str:
    """The configuration of ssh(1), which refuses whoever has not the boards' key."""
    hosts = (
        f"Host {board.name}\n  HostName 127.0.0.1\n  Port {board.port}\n  HostKeyAlias {board.name}\n"
        for board in boards
    )
    return (
        f"{''.join(hosts)}Host *\n  User root\n  IdentityFile {state}/user_key\n  IdentitiesOnly yes\n"
        f"  UserKnownHostsFile {state}/known_hosts\n  GlobalKnownHostsFile none\n  StrictHostKeyChecking yes\n"
        "  LogLevel ERROR\n"
    )


def known_hosts(boards: list[Board], key: str) -> str:
    """The file of known hosts."""
    return "".join(f"{board.name} {key}\n" for board in boards)


def hosts_block(state: Path, boards: list[Board], scenario: str, through: str) -> str:
    """The block `hosts` of a scenario; `through` is who sees the edges of the wire, or `none`."""
    bus = ""
    # A bus joins several hosts.
    if through != "none" and len(boards) > 1:
        bus = (
            f"\n    bus: {{chip: {CHIP}, output: {OUTPUT}, input: {INPUTS[0]}, input_released: {INPUTS[1]}, "
            f"through: {through}}}"
        )
    lines = (
        f"  {board.name}:\n    ssh: {board.name}\n    config: {state}/ssh_config\n    address: {board.address}\n"
        f"    directory: {SCENARIOS}/{scenario}{bus}\n"
        for board in boards
    )
    return "hosts:\n" + "".join(lines)
