"""A Modbus server and client of pymodbus: what is written is read, and silence times out in time."""

import asyncio
import socket
import sys
import time

from pymodbus.client import AsyncModbusTcpClient
from pymodbus.datastore import ModbusDeviceContext, ModbusSequentialDataBlock, ModbusServerContext
from pymodbus.exceptions import ModbusException
from pymodbus.server import StartAsyncTcpServer

REGISTERS = 100


async def server() -> None:
    device = ModbusDeviceContext(hr=ModbusSequentialDataBlock(1, [0] * REGISTERS))
    await StartAsyncTcpServer(ModbusServerContext(device), address=("0.0.0.0", 5020))


async def client(address: str) -> None:
    client = AsyncModbusTcpClient(address, port=5020, timeout=3)
    while not await client.connect():
        await asyncio.sleep(0.1)
    for n in range(REGISTERS - 1):
        await client.write_register(n, n * n)
    answer = await client.read_holding_registers(0, count=REGISTERS - 1)
    tell("what is written is read", answer.registers == [n * n for n in range(REGISTERS - 1)])
    begun = time.monotonic()
    for _ in range(20):
        await asyncio.sleep(0.05)
        await client.read_holding_registers(0, count=1)
    tell("a poll every 50 ms keeps its pace", 0.99 < time.monotonic() - begun < 10)
    client.close()
    # Whoever listens here says nothing.
    silent = socket.create_server(("127.0.0.1", 5021))
    client = AsyncModbusTcpClient("127.0.0.1", port=5021, timeout=0.5, retries=1)
    await client.connect()
    begun = time.monotonic()
    try:
        await client.read_holding_registers(0, count=1)
        tell("silence times out in time", False)
    except ModbusException:
        tell("silence times out in time", 0.9 < time.monotonic() - begun < 10)
    client.close()
    silent.close()


def tell(fact: str, holds: bool) -> None:
    print(f"fact {fact}: {'yes' if holds else 'no'}")


asyncio.run(server() if sys.argv[1] == "server" else client(sys.argv[2]))
