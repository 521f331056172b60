"""A bench of two guests with a wire between them, and rounds over it."""

import os
import random
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import build
import gpio_virtio
import packages
from guest import Guest, first_files
from wire import Wire

HERE = Path(__file__).resolve().parent
# Lines of a guest: one drives the wire, two watch it.
OUTPUT, INPUT, INPUT_RELEASED = 0, 1, 2
# As the header has them.
ASSERTED, RELEASED = "1", "2"
STOPPED, STOP_ASKED = "1", "2"
ACTIVE_LOW, OPEN_DRAIN = 1, 2
# What a round may take on a machine that does other things as well.
ROUND_MS_MAX = 10_000
# Which guest holds in which round.
SEED = 7


def build_lab(folder: Path) -> Path:
    """The only program of a guest, which needs no loader."""
    lab = folder / "lab"
    sources = sorted((HERE / "lab").glob("*.c"))
    packages.run(["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-static", "-o", lab, *sources])
    return lab


def build_chip(folder: Path, kernel: packages.Kernel) -> Path:
    """The module with lines that do not sleep."""
    place = folder / "chip"
    shutil.copytree(HERE / "chip", place)
    kernel.build(place)
    return place / "fastwire.ko"


class Bench(unittest.TestCase):
    """Two guests that have booted; the module is loaded in both."""

    # Of the wire, and of the lines that are attached to it.
    PULL, FLAGS = "down", 0
    guests: list[Guest]
    how: str
    module: Path

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        try:
            kernel = packages.guest_kernel("amd64")
            with packages.locked(kernel.cache):
                kernel.fetch_image(packages.Archive(kernel.cache, "amd64"))
            driver, cls.module = gpio_virtio.module(kernel), build.build(kernel)
            cls.chip = build_chip(cls.folder, kernel)
            packages.run(["qemu-system-x86_64", "--version"])
            lab, wire = build_lab(cls.folder), cls.build_wire()
        except packages.NotThere as error:
            print(f"not measured: {error}")
            raise unittest.SkipTest(f"not measured: {error}") from error
        virtio = list(filter(None, map(kernel.module, packages.VIRTIO)))
        modules = [*virtio, driver, cls.module, cls.chip]
        cls.files = cls.folder / "files"
        cls.files.write_bytes(first_files(lab, modules))
        cls.image = kernel.image
        cls.kvm = cls.try_kvm()
        cls.how = f"{kernel.release}, {'KVM' if cls.kvm else 'emulated (TCG): KVM boots no stock guest here'}"
        cls.wire = Wire(wire, cls.folder, 2, cls.PULL)
        cls.addClassCleanup(cls.wire.close)
        cls.guests = [cls.start(f"guest{number}", cls.wire.sockets[number]) for number in range(2)]
        for guest in cls.guests:
            guest.boot()
            for module in modules:
                guest.do(f"insmod /{module.name}")

    @classmethod
    def build_wire(cls) -> Path:
        """The program that is the wire."""
        subprocess.run(["cargo", "build", "--quiet", "--locked", "-p", "wired-or"], cwd=build.PROJECT, check=True)
        target = os.environ.get("CARGO_TARGET_DIR", build.PROJECT / "target")
        return Path(target) / "debug/qcwire"

    @classmethod
    def try_kvm(cls) -> bool:
        """Whether this host's KVM boots a guest, which the presence of a device does not say."""
        if not os.access("/dev/kvm", os.R_OK | os.W_OK):
            return False
        guest = Guest("probe", cls.folder, cls.image, cls.files, kvm=True)
        try:
            guest.boot()
        except RuntimeError:
            return False
        guest.close()
        return True

    @classmethod
    def start(cls, name: str, wire: Path) -> Guest:
        """Starts a guest at the wire."""
        guest = Guest(name, cls.folder, cls.image, cls.files, cls.kvm, wire)
        cls.addClassCleanup(guest.close)
        return guest

    def tearDown(self) -> None:
        for guest in self.guests:
            self.assertEqual(guest.do("complaints"), ["0"], guest.last_words())

    def domain(self, guest: Guest, number: int = 0) -> None:
        """A domain with a clock that runs."""
        guest.do(f"open {number}")
        self.addCleanup(guest.do, f"close {number}")
        self.assertEqual(guest.do(f"start {number}"), ["1"])

    def attach(self, guest: Guest, inputs: int = 2, debounce_us: int = 20, chip: str = "virtio0") -> None:
        """Gives domain 0 of a guest its place on the wire."""
        released = INPUT_RELEASED if inputs == 2 else "-"
        guest.do(f"attach 0 {chip} {OUTPUT} {INPUT} {released} {debounce_us} {self.FLAGS}")

    def rounds(self, count: int, guests: list[Guest]) -> list[int]:
        """Rounds in which one of the guests holds the bus until all stand: latencies of all edges, in
        nanoseconds.

        Each edge must come once, in each guest, and stop the clock.
        """
        choice, latencies = random.Random(SEED), []
        first = [int(guest.do("cat /sys/class/qcbus/qcbus0/rounds")[0]) for guest in guests]
        last = [0] * len(guests)
        for number in range(1, count + 1):
            holder = choice.choice(guests)
            holder.ask("hold 0 1")
            for guest in guests:
                guest.ask(f"event 0 {ROUND_MS_MAX}")
            holder.answer("hold 0 1")
            for at, guest in enumerate(guests):
                event = guest.answer(f"round {number}")
                self.assertEqual(event[:2], [ASSERTED, STOPPED], f"round {number} in {guest.name}: {event}")
                self.assertEqual(event[6:], [str(first[at] + number), "0"])
                self.assertGreater(int(event[4]), last[at])
                last[at] = int(event[4])
                latencies.append(int(event[5]))
            holder.ask("hold 0 0")
            for guest in guests:
                guest.ask(f"event 0 {ROUND_MS_MAX}")
                guest.ask("start 0")
            holder.answer("hold 0 0")
            for guest in guests:
                self.assertEqual(guest.answer(f"round {number}")[:2], [RELEASED, "0"])
                self.assertEqual(guest.answer("start 0"), ["1"])
        return latencies

    def rounds_in_user_space(self, count: int) -> list[int]:
        """The same edges, taken by a program through the GPIO character device: latencies of those by which
        the wire is asserted, in nanoseconds.
        """
        choice, latencies = random.Random(SEED), []
        for number in range(1, count + 1):
            holder = choice.choice(self.guests)
            for high in (1, 0):
                holder.ask(f"drive {OUTPUT} {high}")
                for guest in self.guests:
                    guest.ask(f"edge {ROUND_MS_MAX}")
                holder.answer("drive")
                for guest in self.guests:
                    rises, seen, latency_ns = guest.answer(f"round {number}")
                    self.assertEqual((rises, seen), (str(high), str(2 * number - high)))
                    if high:
                        latencies.append(int(latency_ns))
        return latencies

    def show(self, what: str, latencies: list[int]) -> None:
        """Prints a row of the table that compares kernel and user space."""
        ranked = sorted(latencies)
        p50, p99 = (ranked[len(ranked) * share // 100] / 1000 for share in (50, 99))
        print(f"{what:32} {len(ranked):7} edges  p50 {p50:9.1f} us  p99 {p99:9.1f} us  ({self.how})")
