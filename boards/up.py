"""Boards that are up: all that is fetched, made and started for them, in order, and taken down with them."""

import contextlib
import fcntl
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import access
import build
import gpio_virtio
import packages
import spread
import system
from board import Board, ethernet, socket_of
from children import end, listens, start, wait_for
from cpio import archive
from options import PROJECT, Options
from wire import Wire

Say = Callable[[str], None]

# Emulated, with others beside it, on a machine that does other things as well.
BOOT_S_MAX = 300
# A stock kernel under KVM is there in seconds; where KVM is that of a nested host it may never be.
KVM_BOOT_S_MAX = 15
START_S_MAX = 20
END_S_MAX = 5
# Of the cases of the project: their programs need it.
FOR_PYTHON = ["pymodbus"]
# What the first process of a board says when it is up, before what it found.
IS_UP = " is up: "
# Whose folder the state is: locked while boards are up.
MARK = "of-boards"


class Ended(Exception):
    """A part of the boards has ended, or does not begin; the message has its last words."""


def end_in_order(process: subprocess.Popen[bytes]) -> None:
    """Asks a program to end, and ends it if it does not."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(END_S_MAX)
        except subprocess.TimeoutExpired:
            end(process)


def free_ports(count: int) -> list[int]:
    """Ports of the loopback that nobody has; all at once, so that they differ."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


class Boards:
    """All boards, up and reached by ssh once this is made."""

    def __init__(self, options: Options, say: Say, stack: contextlib.ExitStack) -> None:
        self.options, self.say, self.stack = options, say, stack
        self.state = options.state
        self.make_state()
        if packages.machine() != "amd64":
            raise packages.NotThere("boards are x86-64, and so must be this machine: qcycle copies itself to them")
        for program in ("qcwire", "qcycle"):
            if not (options.programs / program).is_file():
                missing = options.programs / program
                raise packages.NotThere(f"there is no {missing}: cargo build --release -p wired-or -p testbed")
        packages.run(["qemu-system-x86_64", "--version"])
        ports = free_ports(options.count)
        self.boards = [
            Board(number, port, ppm) for number, (port, ppm) in enumerate(zip(ports, options.ppm, strict=True), 1)
        ]
        kernel = self.prepare()
        self.parts: dict[str, subprocess.Popen[bytes]] = {}
        kvm = self.has_kvm(kernel)
        self.how = "KVM" if kvm else "emulated (TCG)"
        say(f"{options.count} boards with Linux {kernel.release}, {self.how}")
        # A wire with a pull-up, as the open drains of boards need it.
        try:
            wire = Wire(options.programs / "qcwire", self.state, options.count, "up")
        except TimeoutError:
            raise Ended(f"the wire does not begin: {self.last_words('the wire')}") from None
        self.parts["the wire"] = self.keep(wire.process)
        self.start("the Ethernet", ethernet(self.state, options.count))
        sockets = [socket_of(self.state, board.number) for board in self.boards]
        self.await_part("the Ethernet", lambda: all(map(listens, sockets)))
        for board in self.boards:
            self.start(board.name, board.joined(options, kernel.image, self.files, kvm))
        (self.state / "known_hosts").write_text(access.known_hosts(self.boards, self.key))
        (self.state / "ssh_config").write_text(access.ssh_config(self.state, self.boards))
        self.await_ssh()
        self.made = self.make_scenarios()

    def make_state(self) -> None:
        """An empty folder that nobody else can read, removed at the end.

        What is there and was not made by an earlier start, or belongs to boards that are up, is left alone.
        """
        mark = self.state / MARK
        if self.state.exists() and any(self.state.iterdir()) and not mark.exists():
            raise packages.NotThere(f"{self.state} holds something else; name another folder as --state")
        self.state.mkdir(parents=True, exist_ok=True)
        self.state.chmod(0o700)
        lock = self.stack.enter_context(mark.open("w"))
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise packages.NotThere(f"boards are up in {self.state}; name another folder as --state") from None
        for path in self.state.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif path.name != MARK:
                path.unlink()
        self.stack.callback(shutil.rmtree, self.state)

    def prepare(self) -> packages.Kernel:
        """Fetches and builds what boards are made of."""
        self.say("fetching the kernel, its modules and the programs, unless they are there")
        kernel = packages.guest_kernel("amd64")
        with packages.locked(kernel.cache):
            kernel.fetch_image(packages.Archive(kernel.cache, "amd64"))
        modules = [*map(kernel.module, [*packages.VIRTIO, *packages.HOST]), gpio_virtio.module(kernel)]
        modules.append(build.build(kernel))
        programs = system.unpack()
        self.key = access.make_keys(self.state, programs.command("bin/dropbearkey"))
        self.given = {folder.name: folder for folder in sorted((PROJECT / "scenarios").iterdir()) if folder.is_dir()}
        self.given |= {folder.name: folder for folder in self.options.scenarios}
        self.files = self.state / "files"
        self.files.write_bytes(
            system.common(programs)
            + archive([
                *system.of_modules(filter(None, modules)),
                *system.of_access(self.state),
                *system.for_python(FOR_PYTHON),
                *(file for name, folder in self.given.items()
                  for file in system.of_folder(folder, f"{access.SCENARIOS[1:]}/{name}")),
            ])
        )
        return kernel

    def keep(self, process: subprocess.Popen[bytes]) -> subprocess.Popen[bytes]:
        """Sees to it that a program ends with the boards."""
        self.stack.callback(end, process)
        return process

    def start(self, name: str, command: list[str]) -> None:
        """Starts a part."""
        self.parts[name] = self.keep(start(command, self.log(name)))

    def log(self, name: str) -> Path:
        """Where the words of a part are."""
        return self.state / f"{name.removeprefix('the ').lower()}.log"

    def last_words(self, name: str) -> str:
        """The end of what a part, and the kernel in it, have said."""
        places = [self.log(name), self.state / f"{name}.console"]
        return "".join(path.read_text(errors="replace") for path in places if path.exists())[-800:]

    def look(self) -> None:
        """Raises Ended if a part has ended."""
        for name, process in self.parts.items():
            if process.poll() is not None:
                raise Ended(f"{name} has ended: {self.last_words(name)}")

    def await_part(self, name: str, holds: Callable[[], bool]) -> None:
        """Waits until a part is there."""
        try:
            wait_for(name, lambda: self.look() or holds(), START_S_MAX)
        except TimeoutError:
            raise Ended(f"{name} does not begin: {self.last_words(name)}") from None

    def has_kvm(self, kernel: packages.Kernel) -> bool:
        """Whether guests have the host's processor: whether one boots with it, which a device does not say."""
        asked = self.options.accelerator
        if asked == "tcg" or (asked == "auto" and not os.access("/dev/kvm", os.R_OK | os.W_OK)):
            return False
        if asked == "kvm":
            return True
        probe = Board(0, free_ports(1)[0], 0)
        process = start(probe.alone(self.options, kernel.image, self.files, True), self.log(probe.name))
        try:
            wait_for("a guest", lambda: process.poll() is not None or IS_UP in self.console(probe), KVM_BOOT_S_MAX)
            return process.poll() is None
        except TimeoutError:
            return False
        finally:
            end(process)

    def await_ssh(self) -> None:
        """Waits until a command has run on each board."""
        left, limit = list(self.boards), time.monotonic() + BOOT_S_MAX
        while left:
            self.look()
            board = left[0]
            if IS_UP in self.console(board) and self.answers(board):
                left.pop(0)
                said = next(line for line in self.console(board).splitlines() if IS_UP in line)
                self.say(f"{board.name} ({board.address}): {said.partition(IS_UP)[2]}")
            elif time.monotonic() > limit:
                raise Ended(f"{board.name} is not up after {BOOT_S_MAX} s: {self.last_words(board.name)}")
            else:
                time.sleep(0.2)

    def console(self, board: Board) -> str:
        """What a board's kernel and first process have said."""
        place = self.state / f"{board.name}.console"
        return place.read_text(errors="replace") if place.exists() else ""

    def answers(self, board: Board) -> bool:
        """Whether ssh reaches a board."""
        ssh = ["ssh", "-F", self.state / "ssh_config", "-o", "BatchMode=yes", "-o", "ConnectTimeout=15"]
        done = subprocess.run([*ssh, board.name, "true"], stdin=subprocess.DEVNULL, capture_output=True, check=False)
        return done.returncode == 0

    def make_scenarios(self) -> dict[str, int]:
        """Scenarios of which the nodes are spread over the boards, by name: how many boards each has."""
        made = {}
        for name, folder in self.given.items():
            def block(count: int, name: str = name) -> str:
                return access.hosts_block(self.state, self.boards[:count], name, self.options.bus)

            try:
                text = (folder / "scenario.yaml").read_text()
                if self.options.settle:
                    text = spread.with_settle(text, self.options.settle)
                text, made[name] = spread.spread(text, self.options.count, self.options.sync, block)
            except FileNotFoundError:
                continue
            except spread.NotSpread as why:
                if folder in self.options.scenarios:
                    self.say(f"{name}: nodes are not spread over boards: {why}")
                continue
            place = self.state / "scenarios" / name
            shutil.copytree(folder, place, ignore=shutil.ignore_patterns("__pycache__"))
            (place / "scenario.yaml").write_text(text)
        return made

    def show(self) -> None:
        """Says how the boards are used."""
        qcycle = self.options.programs / "qcycle"
        config, scenarios = self.state / "ssh_config", self.state / "scenarios"
        made = ", ".join(f"{name} ({count})" for name, count in self.made.items())
        outputs = f"{access.CHIP} line {access.OUTPUT}", " and ".join(map(str, access.INPUTS))
        print(f"""
All boards are up ({self.how}), until Ctrl-C. To run a scenario on them, from another terminal:

  {qcycle} run {scenarios}/pollers --pace events

Scenarios whose nodes are spread over boards, and how many these are: {made}.
A scenario of your own has such a block, and a `host` for each node (--scenario FOLDER brings its programs there):

{access.hosts_block(self.state, self.boards, 'NAME', self.options.bus)}
A shell on a board:    ssh -F {config} {self.boards[0].name}
The wire between them: {outputs[0]} pulls it low, lines {outputs[1]} watch it; /dev/qcbus is in each.
""", flush=True)
