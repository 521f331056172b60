"""What takes minutes: thousands of rounds, each kind of wire, other kernels and processors.

`python -m unittest discover -s kernel/tests -p 'long_*.py'`
"""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import build
import packages
from bench import (
    ACTIVE_LOW, ASSERTED, INPUT, INPUT_RELEASED, OPEN_DRAIN, OUTPUT, RELEASED, ROUND_MS_MAX, STOPPED,
    Bench, build_chip, build_lab,
)
from guest import Guest, first_files

ROUNDS = 10_000
# With other wiring, and in user space, for comparison.
ROUNDS_FEWER = 2_000


class Rounds(Bench):
    def test_no_round_of_ten_thousand_is_missed(self) -> None:
        for inputs, count in ((2, ROUNDS), (1, ROUNDS_FEWER)):
            with self.subTest(inputs=inputs):
                for guest in self.guests:
                    self.domain(guest)
                    self.attach(guest, inputs)
                self.show(f"module, {inputs} inputs", self.rounds(count, self.guests))
                self.doCleanups()

    def test_user_space_takes_the_same_edges(self) -> None:
        for guest in self.guests:
            guest.do(f"watch {INPUT} 0")
            self.addCleanup(guest.do, "unwatch")
            guest.do(f"drive {OUTPUT} 0")
            self.addCleanup(guest.do, "undrive")
        self.show("user space, character device", self.rounds_in_user_space(ROUNDS_FEWER))


class OpenDrain(Bench):
    """A wire with a pull-up, which open drains pull low: asserted while it is low."""

    PULL, FLAGS = "up", ACTIVE_LOW | OPEN_DRAIN

    def test_rounds(self) -> None:
        for inputs in (2, 1):
            with self.subTest(inputs=inputs):
                for guest in self.guests:
                    self.domain(guest)
                    self.attach(guest, inputs)
                self.show(f"open drain, {inputs} inputs", self.rounds(ROUNDS_FEWER, self.guests))
                self.doCleanups()


class Lost(Bench):
    def test_a_guest_that_dies_while_it_holds_the_bus_releases_it(self) -> None:
        left, lost = self.guests
        for guest in self.guests:
            guest.do("open 0")
            self.attach(guest)
        lost.do("hold 0 1")
        self.assertEqual(left.do(f"event 0 {ROUND_MS_MAX}")[0], ASSERTED)
        lost.close()
        self.guests.remove(lost)
        self.assertEqual(left.do(f"event 0 {ROUND_MS_MAX}")[0], RELEASED)


class Elsewhere(unittest.TestCase):
    def test_it_builds_for_boards(self) -> None:
        try:
            module = build.build(packages.guest_kernel("arm64"))
        except packages.NotThere as error:
            print(f"not measured: {error}")
            self.skipTest(f"not measured: {error}")
        self.assertTrue(module.exists())

    def test_it_works_in_other_kernels(self) -> None:
        for kind in ("newest", "rt"):
            with self.subTest(kernel=kind), tempfile.TemporaryDirectory() as folder:
                try:
                    self.works(kind, Path(folder))
                except packages.NotThere as error:
                    print(f"not measured: {error}")
                self.doCleanups()

    def works(self, kind: str, folder: Path) -> None:
        """Rounds on lines of a chip whose interrupts are hard ones; the guest has no other lines."""
        kernel = packages.guest_kernel("amd64", kind)
        with packages.locked(kernel.cache):
            kernel.fetch_image(packages.Archive(kernel.cache, "amd64"))
        modules = [build.build(kernel), build_chip(folder, kernel)]
        packages.run(["qemu-system-x86_64", "--version"])
        files = folder / "files"
        files.write_bytes(first_files(build_lab(folder), modules))
        guest = Guest(kind, folder, kernel.image, files, kvm=False)
        self.addCleanup(guest.close)
        guest.boot()
        for module in modules:
            guest.do(f"insmod /{module.name}")
        guest.do("open 0")
        self.assertEqual(guest.do("start 0"), ["1"])
        for inputs in ("-", INPUT_RELEASED):
            guest.do(f"attach 0 fastwire {OUTPUT} {INPUT} {inputs} 20 0")
            for _ in range(100):
                guest.do("hold 0 1")
                self.assertEqual(guest.do(f"event 0 {ROUND_MS_MAX}")[:2], [ASSERTED, STOPPED])
                guest.do("hold 0 0")
                self.assertEqual(guest.do(f"event 0 {ROUND_MS_MAX}")[0], RELEASED)
                self.assertEqual(guest.do("start 0"), ["1"])
            guest.do("detach 0")
        guest.do("program 0")
        guest.do("close 0")
        guest.do("rmmod qcbus")
        self.assertEqual(guest.do("complaints"), ["0"], guest.last_words())
        print(f"the module works in {kernel.release}, emulated (TCG)")


if __name__ == "__main__":
    unittest.main()
