"""Work at a fixed rate, without drift.

Turn n is due at start + n * every on the clock of the event loop, however long a turn took. A turn
that took longer than `every` makes the next ones fall away; none is made up for in a burst, since
what a late poll would ask is out of date.
"""

import asyncio
import contextlib
import math
import signal
from collections.abc import AsyncIterator, Coroutine


async def turns(every_s: float) -> AsyncIterator[float]:
    """Yields the time on the loop's clock at each turn; the first is at once."""
    loop = asyncio.get_running_loop()
    start = loop.time()
    turn = 0
    while True:
        yield loop.time()
        elapsed = (loop.time() - start) / every_s
        turn = max(turn + 1, math.ceil(elapsed))
        await asyncio.sleep(start + turn * every_s - loop.time())


async def until_told(work: Coroutine[None, None, None]) -> None:
    """Does `work` until SIGTERM or SIGINT, then lets it clean up."""
    task = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, task.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await task
