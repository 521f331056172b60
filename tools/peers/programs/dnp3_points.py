"""A DNP3 outstation and master of dnp3py: integrity polls read the points of the outstation."""

import asyncio
import sys

from dnp3.database import AnalogInputConfig, BinaryInputConfig, Database
from dnp3.master import DefaultSOEHandler, Master, MasterConfig, MasterTcpRunner
from dnp3.outstation import Outstation, OutstationConfig, OutstationTcpRunner


async def server() -> None:
    database = Database()
    database.add_binary_input(0, BinaryInputConfig())
    database.add_analog_input(0, AnalogInputConfig())
    database.update_binary_input(0, value=True)
    database.update_analog_input(0, value=42)
    outstation = Outstation(database=database, config=OutstationConfig(address=1))
    await OutstationTcpRunner(outstation=outstation, host="0.0.0.0", port=20000).run()


async def client(address: str) -> None:
    while True:
        try:
            _, writer = await asyncio.open_connection(address, 20000)
            writer.close()
            break
        except OSError:
            await asyncio.sleep(0.1)
    await asyncio.sleep(0.3)
    handler = DefaultSOEHandler()
    master = Master(handler=handler, config=MasterConfig(address=2, outstation_address=1))
    async with MasterTcpRunner(master=master, host=address, port=20000) as runner:
        for _ in range(5):
            await runner.integrity_poll()
            await asyncio.sleep(0.2)
    points = handler.binary_inputs[0].value, handler.analog_inputs[0].value
    print(f"fact integrity polls read the points: {'yes' if points == (True, 42) else 'no'}")


asyncio.run(server() if sys.argv[1] == "server" else client(sys.argv[2]))
