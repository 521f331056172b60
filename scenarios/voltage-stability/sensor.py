#!/usr/bin/env python3
"""The sensor at the wind unit: reads the wind power from a file and serves it over Modbus/TCP.

An ordinary pymodbus server that knows nothing of the testbed. Register map, the same for holding
registers (function 3) and input registers (function 4), any unit identifier:

    address  type                            unit  meaning
    0        signed 32 bits, high word first  W     wind power of the last reading

Registers are read-only. Until a reading succeeds, and whenever the last one failed, the answer is
exception 4 (server device failure): a value that nobody measured is never served.
"""

import argparse
import asyncio
import math
from pathlib import Path

from pymodbus.constants import ExcCodes
from pymodbus.server import ModbusTcpServer
from pymodbus.simulator import DataType, SimData, SimDevice

from schedule import turns, until_told


class Meter:
    """The last reading of the wind file, as registers."""

    def __init__(self, wind_file: Path) -> None:
        self.wind_file = wind_file
        self.registers: list[int] | None = None
        self.complaint = ""

    def read(self) -> None:
        """Takes one reading. It blocks the server, which is short against the period."""
        try:
            self.registers = registers_of(float(self.wind_file.read_text(encoding="ascii")))
        except (OSError, ValueError, OverflowError) as error:
            self.registers = None
            self.complain(f"no reading: {error}")
        else:
            self.complain("")

    def complain(self, complaint: str) -> None:
        """Says what is wrong when it begins, and that it is over."""
        if complaint != self.complaint:
            print(complaint or "readings again", flush=True)
            self.complaint = complaint

    async def answer(self, _function, _start, _address, _count, registers, _written):
        """Called by the server for each request: puts the last reading into the registers."""
        if self.registers is None:
            return ExcCodes.DEVICE_FAILURE
        registers[:] = self.registers
        return None


def registers_of(power_kw: float) -> list[int]:
    """Watts as two registers, high word first."""
    if not math.isfinite(power_kw):
        raise ValueError(f"{power_kw} is no power")
    octets = round(power_kw * 1000).to_bytes(4, "big", signed=True)
    return [int.from_bytes(octets[:2], "big"), int.from_bytes(octets[2:], "big")]


async def serve(options: argparse.Namespace) -> None:
    """Serves readings until cancelled."""
    meter = Meter(options.wind)
    registers = SimData(0, values=[0, 0], datatype=DataType.REGISTERS, readonly=True)
    # Device 0 answers for every unit identifier.
    device = SimDevice(0, simdata=registers, action=meter.answer)
    server = ModbusTcpServer(device, address=(options.listen, options.port))
    await server.serve_forever(background=True)
    address, port = server.transport.sockets[0].getsockname()[:2]
    print(f"sensor: serving {options.wind} on {address} port {port}", flush=True)
    try:
        async for _ in turns(options.every):
            meter.read()
    finally:
        await server.shutdown()


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Serves the wind power over Modbus/TCP.")
    parser.add_argument("--listen", default="0.0.0.0", metavar="ADDRESS")
    parser.add_argument("--port", type=int, default=5020, help="0: any free one (5020)")
    parser.add_argument("--wind", type=Path, required=True, metavar="FILE", help="power in kW")
    parser.add_argument("--every", type=float, default=0.1, metavar="S", help="period (0.1)")
    return parser.parse_args()


if __name__ == "__main__":
    asyncio.run(until_told(serve(parse())))
