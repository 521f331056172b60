"""A cell of the evaluation: which protocol, which nodes take part, and in whose time it runs; and
the files that its programs are told by.

The published conditions are those of Bommareddy et al. (2022, 2023): a node that failed and one that
recovers are absent for the whole run, a hostile one attacks for the whole run. Another condition is
ours: somebody without keys floods for the whole run.
"""

import json
import os
import shlex
from pathlib import Path
from typing import NamedTuple

PROTOCOLS = ("arbiter", "peer")
# In jumps alone, where processor time takes time and nothing else does; at a factor; on this host.
EVENTS, VIRTUAL_TIME, REAL_TIME = "events", "virtual", "real"
MODES = (EVENTS, VIRTUAL_TIME, REAL_TIME)
# Of events, which are for machines that others keep busy, where they are asked for.
USUAL_MODES = (VIRTUAL_TIME, REAL_TIME)
# Condition -> nodes that take part, and the one of them that is hostile.
PUBLISHED: dict[str, tuple[tuple[int, ...], int | None]] = {
    "fault-free": ((0, 1, 2, 3), None),
    "fail-stop or proactive recovery": ((0, 1, 2), None),
    "fail-stop and proactive recovery": ((0, 1), None),
    "byzantine": ((0, 1, 2, 3), 3),
    "byzantine and proactive recovery": ((0, 1, 3), 3),
}
# Ours; to be compared with the first of the published ones, in which the same nodes take part.
FAULT_FREE, FLOOD = "fault-free", "flood"
CONDITIONS = PUBLISHED | {FLOOD: PUBLISHED[FAULT_FREE]}
PORT = 7400
# The interface of every party, as `qcycle run` and `qcycle bus` name it.
VIRTUAL, REAL = "eth0", "bus0"
BREAKER, UNIT, INTRUDER = 5, 6, 7
# Under the address of this node, at the breaker node: so many datagrams a second.
FLOODED_AS, FLOOD_RATE = 1, 100_000
# Of the message that orders the breaker; the merging unit waits for it before it steps again.
REFERENCE = "Q0/LLN0$GO$order"
# All attacks in turn, each message with as many copies as in the published attack.
HOSTILE = "--attack all --copies 50"
# Keys are made known and streams trusted within the first; the second is what a run may be slower.
SETTLE_S, TAIL_S = 2, 2
# In virtual time programs start so long before a run begins.
BEFORE_S = 1
# About what a second takes in jumps, with two processors.
EVENTS_WALL_S = 5
# From here on it is taken down that a party waited for its core: what the meter of a core notes.
WAIT_MIN = "20 us"


class Pace(NamedTuple):
    """How many actions, how far apart in ms, and how much host time a virtual second takes."""

    actions: int
    interval_ms: float
    jitter_ms: float
    dwell_ms: float
    tdf: float

    @property
    def seconds(self) -> float:
        """How long they take, in their own time."""
        return SETTLE_S + TAIL_S + self.actions * (self.interval_ms + self.jitter_ms / 2) / 1000

    def wall_s(self, mode: str) -> float:
        """How long they take on the host."""
        factors = {EVENTS: EVENTS_WALL_S, VIRTUAL_TIME: self.tdf, REAL_TIME: 1}
        return self.seconds * factors[mode]


class Cell(NamedTuple):
    protocol: str
    condition: str
    mode: str

    @property
    def folder(self) -> str:
        return f"{self.mode}-{self.protocol}-{self.condition.replace(' ', '-')}"

    @property
    def is_real(self) -> bool:
        """Whether it runs in host time."""
        return self.mode == REAL_TIME

    @property
    def nodes(self) -> tuple[int, ...]:
        return CONDITIONS[self.condition][0]

    @property
    def hostile(self) -> int | None:
        return CONDITIONS[self.condition][1]


def cells(modes: list[str], protocols: list[str], only: str, beyond: bool) -> list[Cell]:
    """All that are asked for; those that were not published only if `beyond`."""
    return [
        Cell(protocol, condition, mode)
        for mode in modes
        for protocol in protocols
        for condition in (CONDITIONS if beyond else PUBLISHED)
        if only in condition
    ]


def address(number: int) -> str:
    """Of a node (0 to 3), the breaker node or the merging unit."""
    return f"10.0.0.{number + 1 if number < BREAKER else number}"


def host(number: int, party: str, interface: str) -> str:
    """Where a party runs. In host time it stays on a core, with its canary: who moves from core to
    core may be caught on one that is gone, while the canary is on another and sees nothing. In
    virtual time that would have parties wait for each other that are on machines of their own."""
    core = f"core: {core_of(number)}, wait_min: {WAIT_MIN}, " if interface == REAL else ""
    return f"host: {{interface: {interface}, {core}records: {party}.jsonl}}\n"


def core_of(number: int) -> int:
    """The core on which a party stays in host time."""
    cores = sorted(os.sched_getaffinity(0))
    return cores[number % len(cores)]


def parties(cell: Cell) -> dict[str, int]:
    """All that are in a cell in host time, and their cores."""
    named = {"breaker": BREAKER, "unit": UNIT} | {f"node-{node}": node for node in cell.nodes}
    return {name: core_of(number) for name, number in named.items()}


def quorum(protocol: str, party: str, dwell_ms: float) -> str:
    """What all parties are told."""
    addresses = ", ".join(f"{address(number)}:{PORT}" for number in range(4))
    keys = {
        "protocol": protocol,
        "membership": "membership",
        "keys": f"{party}.secret",
        "memory": f"{party}.memory",
        "addresses": f"[{addresses}]",
        "breaker_address": f"{address(BREAKER)}:{PORT}",
        "dwell_before_trip": f"{dwell_ms} ms",
        "dwell_before_close": f"{dwell_ms} ms",
    }
    return "quorum:\n" + "".join(f"  {key}: {value}\n" for key, value in keys.items())


def node_settings(number: int, protocol: str, interface: str, dwell_ms: float) -> str:
    """A relay node that decides by the space vector of each sample: the time of agreement is measured."""
    party = f"node-{number}"
    stream = "sv_id: MU01, destination: 01:0c:cd:04:00:01, app_id: 0x4000, rate: 4800 Hz"
    return (
        f"node: {party}\nfrequency: 60 Hz\n"
        "decides: {by: space_vector, stream: MU01, pick_up: 2 kA, drop_off: 1 kA, samples: 1}\n"
        f"streams:\n  MU01: {{{stream}}}\n"
        + quorum(protocol, party, dwell_ms)
        + host(number, party, interface)
    )


def breaker_settings(protocol: str, interface: str, dwell_ms: float) -> str:
    """The breaker node; its contacts move at once, because orders are what is measured."""
    goose = (
        f"goose: {{reference: {REFERENCE}, data_set: Q0/LLN0$order, go_id: order, "
        "destination: '01:0c:cd:01:00:01', app_id: 1, conf_rev: 1, repeat_min: 2 ms, "
        "repeat_max: 1 s}\n"
    )
    return (
        "breaker: Q0\ninitially: closed\nopening: 0 ms\nclosing: 0 ms\n"
        + quorum(protocol, "breaker", dwell_ms)
        + goose
        + host(BREAKER, "breaker", interface)
    )


def commands(cell: Cell, pace: Pace, programs: Path, interface: str, seed: int) -> dict[str, str]:
    """What runs where, by node of the network; in the folder of the cell."""
    at = shlex.quote(str(programs))
    drive = (
        f"{at}/qcmerge alternate --interface {interface} --actions {pace.actions} "
        f"--priority 80 --interval {pace.interval_ms}ms --jitter {pace.jitter_ms}ms --seed {seed} "
        f"--settle {SETTLE_S}s --records steps.jsonl --follow '{REFERENCE}'"
    )
    if cell.is_real:
        drive += f" --core {core_of(UNIT)}"
    found = {"breaker": f"{at}/qcrelay breaker breaker.yaml"}
    if not cell.is_real:
        # It ends by itself just before the run does, and so tells what it has counted.
        found["breaker"] += f" --duration {pace.seconds + BEFORE_S / 2:g}s"
    for number in cell.nodes:
        command = f"{at}/qcrelay node node-{number}.yaml"
        if number == cell.hostile:
            command = f"{at}/qchostile insider node-{number}.yaml {HOSTILE}"
            if cell.is_real:
                # On the core of its node, as the others are, but not before all ordinary tasks: it
                # has a machine of its own, and on this one would keep correct nodes from theirs.
                command = f"taskset --cpu-list {core_of(number)} {command}"
        found[f"node-{number}"] = command
    if cell.condition == FLOOD:
        found["intruder"] = (
            f"{at}/qchostile flood --from {address(FLOODED_AS)}:{PORT} --to "
            f"{address(BREAKER)}:{PORT} --sender {FLOODED_AS} --recipient 4 --rate {FLOOD_RATE}"
        )
    return found | {"unit": drive}


def numbered(name: str) -> int:
    """The place of a node of the network."""
    others = {"breaker": BREAKER, "unit": UNIT, "intruder": INTRUDER}
    return others[name] if name in others else int(name.removeprefix("node-"))


def passes(cell: Cell, pace: Pace) -> list[str]:
    """How time passes in virtual time."""
    if cell.mode == EVENTS:
        return ["pace: events"]
    # Half a millisecond of virtual time at tdf 2, and made up for: a stall makes no crossing.
    return [f"tdf: {pace.tdf:g}", "stall_guard: 1 ms"]


def scenario(cell: Cell, pace: Pace, programs: Path, seed: int) -> str:
    """The cell as a scenario in virtual time: all on one switch of 1 Gbit/s."""
    lines = [
        f"scenario: {cell.protocol}",
        f"description: {cell.condition}, {pace.actions} actions.",
        f"duration: {pace.seconds:.0f} s",
        f"settle: {BEFORE_S} s",
        *passes(cell, pace),
        # Each frame of a million actions would fill a disk.
        "capture: none",
        f"seed: {seed}",
        "nodes:",
    ]
    told = commands(cell, pace, programs, VIRTUAL, seed)
    for name, command in told.items():
        lines += [f"  {name}:", f"    address: {address(numbered(name))}/24"]
        if cell.mode == EVENTS:
            lines.append("    compute: {per_processor_time: 1}")
        lines.append("    programs:")
        lines.append(f"      - {{name: {name}, run: {json.dumps(command)}, on_exit: ignore}}")
    lines += ["switches: [s1]", "links:"]
    lines += [f"  - {{from: {name}, to: s1, rate: 1 Gbit/s, delay: 5 us}}" for name in told]
    return "\n".join(lines) + "\n"


def write(cell: Cell, pace: Pace, programs: Path, folder: Path, seed: int) -> None:
    """All files of a cell but its keys."""
    interface = REAL if cell.is_real else VIRTUAL
    for number in cell.nodes:
        text = node_settings(number, cell.protocol, interface, pace.dwell_ms)
        (folder / f"node-{number}.yaml").write_text(text, encoding="utf-8")
    text = breaker_settings(cell.protocol, interface, pace.dwell_ms)
    (folder / "breaker.yaml").write_text(text, encoding="utf-8")
    if not cell.is_real:
        text = scenario(cell, pace, programs, seed)
        (folder / "scenario.yaml").write_text(text, encoding="utf-8")
