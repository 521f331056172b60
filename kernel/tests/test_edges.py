"""Which edges of a wire count: the decision in the module's `edges.h`, without a kernel."""

import subprocess
import tempfile
import unittest
from pathlib import Path

HOST = Path(__file__).resolve().parent / "host/host.c"
DEBOUNCE_NS = 20_000


class Edges(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.program = folder / "host"
        subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", "-o", cls.program, HOST], check=True)

    def see(self, *looks: tuple[int, int]) -> list[str]:
        """What is made of levels at host times."""
        text = "".join(f"{level} {now}\n" for level, now in looks)
        command = [self.program, "edges", str(DEBOUNCE_NS)]
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
        return done.stdout.splitlines()

    def test_the_first_edge_counts_at_once(self) -> None:
        self.assertEqual(self.see((0, 100), (1, 200), (1, 30_000)), ["same", "changed", "same"])

    def test_bounces_do_not_count_and_the_level_after_them_does(self) -> None:
        # Whoever looks within the debounce time is told when to look again.
        bounces = [(1, 1000), (0, 1500), (1, 20_999)]
        self.assertEqual(self.see(*bounces, (1, 21_000)), ["changed", "21000", "21000", "same"])
        self.assertEqual(self.see(*bounces, (0, 21_000))[-1], "changed")

    def test_a_pulse_that_is_shorter_than_the_debounce_time_is_two_edges(self) -> None:
        self.assertEqual(self.see((1, 1000), (0, 1100), (0, 21_000), (1, 50_000)), [
            "changed", "21000", "changed", "changed",
        ])


if __name__ == "__main__":
    unittest.main()
