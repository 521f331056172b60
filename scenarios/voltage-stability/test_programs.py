"""The case's programs as ordinary programs: natively, on loopback, with ordinary files."""

import asyncio
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from controller import Reporter
from schedule import turns
from sensor import registers_of

HERE = Path(__file__).resolve().parent
# Long enough for a machine that is busy with something else; nothing waits that long otherwise.
PATIENCE_S = 60


class Programs(unittest.TestCase):
    """Sensor and controller talk to each other."""

    def setUp(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.wind, self.storage, self.output = (folder / n for n in ("wind", "storage", "output"))
        self.wind.write_text("3000.5\n")

    def start(self, program: str, *arguments: str) -> subprocess.Popen:
        with self.output.open("a") as output:
            process = subprocess.Popen(
                [sys.executable, str(HERE / program), *arguments], stdout=output, stderr=output
            )
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def start_sensor(self, port: int = 0) -> tuple[subprocess.Popen, int]:
        sensor = self.start(
            "sensor.py", "--listen", "127.0.0.1", "--port", str(port), "--wind", str(self.wind)
        )
        return sensor, int(self.printed(r"serving .* port (\d+)\n").group(1))

    def start_controller(self, port: int) -> subprocess.Popen:
        return self.start(
            "controller.py", "--sensor", "127.0.0.1", "--port", str(port),
            "--storage", str(self.storage),
        )  # fmt: skip

    def eventually(self, what: str, probe):
        give_up = time.monotonic() + PATIENCE_S
        while time.monotonic() < give_up:
            if (found := probe()) is not None:
                return found
            time.sleep(0.02)
        self.fail(f"never seen: {what}; the programs said:\n{self.output.read_text()}")

    def printed(self, pattern: str) -> re.Match:
        return self.eventually(
            pattern, lambda: re.search(pattern, self.output.read_text(), re.DOTALL)
        )

    def commanded(self, storage_kw: float) -> None:
        def probe():
            # A reader may come between the truncation and the write.
            text = self.storage.read_text() if self.storage.exists() else ""
            return True if text and float(text) == storage_kw else None

        self.eventually(f"{storage_kw} kW commanded", probe)

    def test_the_storage_unit_makes_up_for_the_wind(self):
        sensor, port = self.start_sensor()
        controller = self.start_controller(port)
        self.commanded(159.5)
        self.printed(r"commanding 159\.5 kW \(discharging\)")
        self.wind.write_text("3280\n")
        self.commanded(-120)
        self.printed(r"commanding -120\.0 kW \(charging\)")
        self.assertEqual(self.storage.read_text(), "-120.000\n")
        for process in (controller, sensor):
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(PATIENCE_S), 0, self.output.read_text())
        self.assertNotIn("Traceback", self.output.read_text())

    def test_the_set_point_stays_while_the_sensor_is_silent(self):
        sensor, port = self.start_sensor()
        self.start_controller(port)
        self.commanded(159.5)
        sensor.send_signal(signal.SIGSTOP)
        self.wind.write_text("2000\n")
        self.printed(r"no answer from the sensor since [0-9.]+ s after the start")
        self.commanded(159.5)
        sensor.send_signal(signal.SIGCONT)
        self.commanded(1160)

    def test_the_controller_finds_a_sensor_that_comes_late_or_again(self):
        sensor, port = self.start_sensor()
        sensor.terminate()
        self.assertEqual(sensor.wait(PATIENCE_S), 0)
        self.start_controller(port)
        self.printed("no answer from the sensor yet: no connection")
        sensor, _ = self.start_sensor(port)
        self.commanded(159.5)
        sensor.kill()
        self.printed("no answer from the sensor since .*: no connection")
        self.wind.write_text("2000\n")
        self.start_sensor(port)
        self.commanded(1160)

    def test_a_value_that_nobody_measured_is_never_served(self):
        _, port = self.start_sensor()
        self.start_controller(port)
        self.commanded(159.5)
        self.wind.write_text("no number\n")
        self.printed("the sensor reports a failure")
        self.commanded(159.5)
        self.wind.write_text("2000\n")
        self.commanded(1160)


class Parts(unittest.TestCase):
    """What the programs decide, without sockets and files."""

    def test_registers_hold_signed_watts_high_word_first(self):
        self.assertEqual(registers_of(3160), [0x0030, 0x37C0])
        self.assertEqual(registers_of(-0.001), [0xFFFF, 0xFFFF])
        for power_kw in (float("nan"), float("inf"), 1e9):
            with self.assertRaises((ValueError, OverflowError)):
                registers_of(power_kw)

    def test_turns_stay_on_the_schedule_and_missed_ones_fall_away(self):
        loop = LoopWithHandMadeTime()
        self.addCleanup(loop.close)
        # The third turn takes 0.25 s, longer than two periods.
        due = loop.run_until_complete(take_turns([0.03, 0.0, 0.25, 0.0]))
        loop.run_until_complete(loop.shutdown_asyncgens())
        self.assertEqual([round(at, 6) for at in due], [0.0, 0.1, 0.2, 0.5])

    def test_the_command_is_reported_once_a_second_and_at_changes(self):
        reporter = Reporter(now_s=10.0)
        self.assertEqual(len(reporter.commanded(10.0, 5.0)), 2)
        self.assertEqual(reporter.commanded(10.9, 5.0), [])
        self.assertEqual(reporter.commanded(11.0, -5.0), ["commanding -5.0 kW (charging)"])
        silence = reporter.missed("no answer in time")
        self.assertIn("since 1.0 s after the start", silence[0])
        self.assertEqual(reporter.missed("no answer in time"), [])
        self.assertEqual(
            reporter.commanded(11.5, 0.0), ["the sensor answers", "commanding 0.0 kW (idle)"]
        )


class LoopWithHandMadeTime(asyncio.SelectorEventLoop):
    """An event loop whose clock moves only when nothing else can happen."""

    def __init__(self) -> None:
        super().__init__()
        self.now_s = 0.0

    def time(self) -> float:
        return self.now_s

    def _run_once(self) -> None:
        if not self._ready and self._scheduled:
            self.now_s = max(self.now_s, self._scheduled[0].when())
        super()._run_once()


async def take_turns(work_s: list[float]) -> list[float]:
    """When each turn began, if the turns take so long."""
    begun = []
    async for now_s in turns(0.1):
        begun.append(now_s)
        if len(begun) == len(work_s):
            break
        await asyncio.sleep(work_s[len(begun) - 1])
    return begun
