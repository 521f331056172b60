"""Two boards that are up, and runs over them: two minutes, longer where others want the processors.

`python -m unittest discover -s boards -p 'long_*.py'`
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "kernel")]

import access
import packages
import up
from board import Board
from options import PROJECT, parse

PROGRAMS = Path(os.environ.get("CARGO_TARGET_DIR", PROJECT / "target")) / "release"
# By how much the clock of the second board is fast.
PPM = 100
# Met, missed, not measured, disturbed: what a run that came to its end ends with. How fast programs are on an
# emulated processor is none of what is tested.
JUDGED = (0, 10, 11, 13)
RUN_S_MAX = 240
# What a run ends with where a guest had no processor for so long.
STARVED = "nothing was heard of it for 4s"
# From a word of one board until another one sees what it does.
SEEN_S_MAX = 20
GONE_S_MAX = 20


def say(text: str) -> None:
    print(f"boards: {text}")


def processes_of(state: Path) -> list[int]:
    """Processes with the folder of boards in their command line, but for this one and its children of the moment."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if str(state).encode() in place.read_bytes():
                found.append(int(place.parent.name))
    return found


class Up(unittest.TestCase):
    boards: up.Boards

    @classmethod
    def setUpClass(cls) -> None:
        folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        stack = cls.enterClassContext(contextlib.ExitStack())
        words = ["--count", "2", f"--clock-ppm=0,{PPM}", "--state", str(folder / "up"), "--programs", str(PROGRAMS)]
        try:
            cls.boards = up.Boards(parse(words), say, stack)
        except packages.NotThere as error:
            print(f"not measured: {error}")
            raise unittest.SkipTest(f"not measured: {error}") from error
        cls.runs = folder / "runs"

    def ssh(self, board: Board) -> list[str | Path]:
        return ["ssh", "-F", self.boards.state / "ssh_config", "-o", "BatchMode=yes", board.name]

    def minimal(self, sync: str) -> Path:
        """The folder of the smallest scenario, over both boards."""
        folder = self.boards.state / "scenarios/minimal"
        text = (folder / "scenario.yaml").read_text().replace("sync: granted", f"sync: {sync}")
        place = self.runs.parent / f"minimal-{sync}"
        shutil.copytree(folder, place, dirs_exist_ok=True)
        (place / "scenario.yaml").write_text(text)
        return place

    def command(self, sync: str, *words: str) -> list[str | Path]:
        """The command that runs it."""
        return [PROGRAMS / "qcycle", "run", self.minimal(sync), "--variant", "fine", "--runs", self.runs, *words]

    def run_minimal(self, sync: str, *words: str) -> dict:
        """A run of it: its record."""
        before = time.monotonic()
        done = subprocess.run(
            self.command(sync, *words), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
            timeout=RUN_S_MAX,
        )
        if STARVED in done.stdout + done.stderr:
            print(f"not measured: {STARVED}")
            self.skipTest("not measured: this machine was too slow for its guests")
        self.assertIn(done.returncode, JUDGED, done.stdout + done.stderr)
        newest = max(self.runs.iterdir(), key=lambda run: run.stat().st_mtime)
        record = json.loads((newest / "run.json").read_text())
        self.assertEqual([host["ssh"] for host in record["hosts"]], ["board1", "board2"])
        self.assertEqual([host["bus"] for host in record["hosts"]], ["module", "module"])
        print(f"minimal, {sync} {' '.join(words)}: {time.monotonic() - before:.1f} s ({self.boards.how})")
        return record

    def test_a_scenario_runs_over_boards_and_leaves_nothing_there(self) -> None:
        for board in self.boards.boards:
            self.assertIn("tsc, qcbus there", self.boards.console(board))
        record = self.run_minimal("granted", "--pace", "skip", "--tdf", "4")
        for host in record["hosts"]:
            self.assertEqual(host["machine"]["clock_source"], "tsc")
        for board in self.boards.boards:
            left = subprocess.run([*self.ssh(board), "ls /tmp"], capture_output=True, text=True, check=True)
            self.assertEqual(left.stdout, "")

    def test_clocks_that_run_by_themselves_are_compared(self) -> None:
        record = self.run_minimal("free")
        first, second = record["network"]["free_clocks"]
        self.assertEqual(first["differed"]["frames"], 0)
        self.assertGreater(second["differed"]["frames"], 0)
        print(f"clocks {PPM} ppm apart: {second}")

    def ask(self, board: Board, words: str) -> str:
        """What `qcycle`, as it was carried to a board for a run, answers there."""
        ssh = [*self.ssh(board), f"/tmp/qcycle.*/qcycle {words}"]
        return subprocess.run(ssh, capture_output=True, text=True, check=False).stdout

    def now(self, board: Board) -> int | None:
        """What the clock of a board's domain shows; None if there is none."""
        domains = json.loads(self.ask(board, "ps --json") or "[]")
        return domains[0]["clock"]["virtual_ns"] if domains else None

    def on_wire(self, board: Board, through: str) -> None:
        """A run there must have its place on the wire in this way."""
        words = "cat /sys/class/qcbus/qcbus0/rounds; cat /proc/[0-9]*/task/*/comm"
        said = subprocess.run([*self.ssh(board), words], capture_output=True, text=True, check=False).stdout
        self.assertIn("signal-bus", said.splitlines())
        rounds = said.splitlines()[0]
        if through == "module":
            # All hold until they begin, and then each of both.
            self.assertGreaterEqual(int(rounds), 3)
        else:
            self.assertFalse(rounds.isdigit(), rounds)

    def test_a_hold_at_any_board_stops_all_clocks_at_one_nanosecond(self) -> None:
        for through in ("module", "lines"):
            with self.subTest(through=through):
                self.holds_at_any_board(through)

    def holds_at_any_board(self, through: str) -> None:
        first, second = self.boards.boards
        command = self.command("free", "--duration", "5 min")
        scenario = Path(command[2]) / "scenario.yaml"
        scenario.write_text(scenario.read_text().replace("through: module", f"through: {through}"))
        run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(up.end_in_order, run)
        limit = time.monotonic() + RUN_S_MAX
        # They run, and are past the time in which agents hold them themselves.
        while not all((self.now(board) or 0) > 1_000_000_000 for board in (first, second)):
            self.assertLess(time.monotonic(), limit, "it does not begin")
        name = json.loads(self.ask(first, "ps --json"))[0]["name"]
        for holder in (first, second):
            self.ask(holder, f"hold {name}")
            at = [self.now(board) for board in (first, second, first)]
            self.assertEqual(len(set(at)), 1, at)
            self.ask(first, f"release {name}")
            while self.now(second) == at[0]:
                self.assertLess(time.monotonic(), limit, "it stands")
        for board in (first, second):
            self.on_wire(board, through)
        up.end_in_order(run)

    def test_all_boards_are_on_one_wire(self) -> None:
        on_boards = []
        lines = f"{access.CHIP} {access.OUTPUT} {access.INPUTS[0]} {access.INPUTS[1]}"
        for board in self.boards.boards:
            program = (HERE / "on_board.py").read_bytes()
            subprocess.run([*self.ssh(board), "cat > /tmp/on_board.py"], input=program, check=True)
            on = subprocess.Popen(
                [*self.ssh(board), f"python3 /tmp/on_board.py {lines}; rm /tmp/on_board.py"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
            )
            self.addCleanup(up.end_in_order, on)
            assert on.stdin and on.stdout
            self.addCleanup(on.stdout.close)
            self.addCleanup(on.stdin.close)
            self.assertEqual(on.stdout.readline(), "attached\n")
            on_boards.append(on)

        def ask(at: int, word: str) -> str:
            on_boards[at].stdin.write(f"{word}\n")
            return on_boards[at].stdout.readline().strip()

        def all_see(state: str) -> None:
            limit = time.monotonic() + SEEN_S_MAX
            while any(ask(at, "state") != state for at in range(len(on_boards))):
                self.assertLess(time.monotonic(), limit, state)

        all_see("released")
        for holder in range(len(on_boards)):
            ask(holder, "hold")
            all_see("asserted")
            ask(holder, "release")
            all_see("released")
        self.assertEqual([ask(at, "rounds") for at in range(len(on_boards))], [str(len(on_boards))] * len(on_boards))
        for on in on_boards:
            on.stdin.close()
            self.assertEqual(on.wait(SEEN_S_MAX), 0)


class Ends(unittest.TestCase):
    def test_nothing_is_left_whatever_ends_it(self) -> None:
        for number, code in ((signal.SIGTERM, 143), (signal.SIGKILL, -signal.SIGKILL)):
            with self.subTest(signal=number), tempfile.TemporaryDirectory() as folder:
                state = Path(folder) / "up"
                process = subprocess.Popen(
                    [sys.executable, HERE / "boards.py", "--count", "2", "--accelerator", "tcg", "--state", state,
                     "--programs", PROGRAMS],
                    stderr=subprocess.PIPE, text=True,
                )
                assert process.stderr
                said = ""
                # The guests have begun, and boot.
                while "boards with Linux" not in said:
                    line = process.stderr.readline()
                    if not line:
                        process.stderr.close()
                        self.skipTest(f"not measured: {said}")
                    said += line
                time.sleep(2)
                self.assertGreater(len(processes_of(state)), 4)
                process.send_signal(number)
                self.assertEqual(process.wait(GONE_S_MAX), code)
                process.stderr.close()
                limit = time.monotonic() + GONE_S_MAX
                while left := processes_of(state):
                    self.assertLess(time.monotonic(), limit, left)
                    time.sleep(0.1)
                self.assertEqual(state.exists(), number == signal.SIGKILL)


if __name__ == "__main__":
    unittest.main()
