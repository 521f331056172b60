#!/usr/bin/env python3
"""The controller at the storage unit: asks the sensor for the wind power over Modbus/TCP and
commands the storage unit so that both together deliver a constant power.

An ordinary pymodbus client that knows nothing of the testbed. The control law is
P_storage = total - P_wind; positive discharges, negative charges (Hannon et al. 2019). When no
answer comes the last set-point stays: that is the weakness which the denial of service uses.
"""

import argparse
import asyncio
import logging
from pathlib import Path

from pymodbus.client import AsyncModbusTcpClient
from pymodbus.exceptions import ModbusException

from schedule import turns, until_told

# Print the command no more often than this.
REPORT_EVERY_S = 1.0


class NoAnswer(Exception):
    """The sensor gave no usable answer; the text says why."""


class Reporter:
    """Which lines are worth printing: changes of state, and the command once a second at most."""

    def __init__(self, now_s: float) -> None:
        self.start_s = now_s
        self.state = ""
        self.last_answer_s: float | None = None
        self.reported_s = -REPORT_EVERY_S + now_s

    def commanded(self, now_s: float, storage_kw: float) -> list[str]:
        """The sensor answered and the storage unit got its set-point."""
        self.last_answer_s = now_s
        lines = self.change("answered", "the sensor answers")
        if lines or now_s - self.reported_s >= REPORT_EVERY_S:
            self.reported_s = now_s
            lines.append(f"commanding {storage_kw:.1f} kW ({doing(storage_kw)})")
        return lines

    def missed(self, reason: str) -> list[str]:
        """No set-point this time."""
        if self.last_answer_s is None:
            return self.change(reason, f"no answer from the sensor yet: {reason}")
        since = f"{self.last_answer_s - self.start_s:.1f} s after the start"
        return self.change(
            reason, f"no answer from the sensor since {since}: {reason}; the set-point stays"
        )

    def change(self, state: str, line: str) -> list[str]:
        """`line`, if the state is new."""
        if state == self.state:
            return []
        self.state = state
        return [line]


def doing(storage_kw: float) -> str:
    """What a storage unit does at this power."""
    if storage_kw == 0:
        return "idle"
    return "discharging" if storage_kw > 0 else "charging"


async def wind_kw(client: AsyncModbusTcpClient) -> float:
    """Asks the sensor once, connecting first where needed."""
    if not client.connected and not await client.connect():
        raise NoAnswer("no connection")
    try:
        answer = await client.read_holding_registers(0, count=2)
    except ModbusException:
        raise NoAnswer("no answer in time") from None
    if answer.isError():
        raise NoAnswer("the sensor reports a failure")
    registers = client.DATATYPE.INT32
    return client.convert_from_registers(answer.registers, registers) / 1000


def command(storage_file: Path, storage_kw: float) -> None:
    """Writes the set-point: one number and a newline, in one write."""
    storage_file.write_text(f"{storage_kw:.3f}\n", encoding="ascii")


async def control(options: argparse.Namespace) -> None:
    """Polls and commands until cancelled."""
    # What pymodbus logs for each unanswered request, the reporter says once.
    logging.getLogger("pymodbus").setLevel(logging.CRITICAL)
    client = AsyncModbusTcpClient(
        options.sensor, port=options.port, timeout=options.timeout, retries=0, reconnect_delay=0
    )
    print(f"controller: asking {options.sensor} port {options.port}", flush=True)
    loop = asyncio.get_running_loop()
    reporter = Reporter(loop.time())
    try:
        async for _ in turns(options.every):
            try:
                storage_kw = options.total - await wind_kw(client)
                command(options.storage, storage_kw)
                lines = reporter.commanded(loop.time(), storage_kw)
            except NoAnswer as error:
                lines = reporter.missed(str(error))
            except OSError as error:
                lines = reporter.change("unwritten", f"the set-point was not written: {error}")
            for line in lines:
                print(line, flush=True)
    finally:
        client.close()


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Commands the storage unit.")
    parser.add_argument("--sensor", required=True, metavar="ADDRESS")
    parser.add_argument("--port", type=int, default=5020, help="of the sensor (5020)")
    parser.add_argument("--storage", type=Path, required=True, metavar="FILE", help="power in kW")
    parser.add_argument("--total", type=float, default=3160, metavar="KW", help="to deliver (3160)")
    parser.add_argument("--every", type=float, default=0.1, metavar="S", help="period (0.1)")
    parser.add_argument("--timeout", type=float, default=0.3, metavar="S", help="of a poll (0.3)")
    return parser.parse_args()


if __name__ == "__main__":
    asyncio.run(until_told(control(parse())))
