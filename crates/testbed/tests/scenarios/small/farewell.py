"""Has something to say when it is asked to end."""

import signal
import sys


def end(_number: int, _frame: object) -> None:
    """Called at SIGTERM."""
    print("farewell", flush=True)
    sys.exit(0)


signal.signal(signal.SIGTERM, end)
print("ready", flush=True)
while True:
    signal.pause()
