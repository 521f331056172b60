"""Subscribes to sampled values with libiec61850 and prints a line for each sample.

Usage: libiec61850_subscriber.py INTERFACE SAMPLES
A line is: svID, smpCnt, and the value of the first channel. `ready` comes first. It ends when so
many samples have come, however long a loaded host takes for it.
"""

import os
import sys
import threading
from typing import Any

from pyiec61850.sv import SVSubscriber

# Only so that a hang is found; a host that gives this no processor for so long does nothing else.
LONGEST_S = 300

lines: list[str] = []
wanted = int(sys.argv[2])
is_enough = threading.Event()


def take(message: Any) -> None:
    """Keeps a sample; values and qualities come in turn."""
    if len(lines) < wanted:
        lines.append(f"{message.sv_id} {message.smp_cnt} {message.values[0]}")
    else:
        is_enough.set()


def main() -> None:
    """Subscribes, waits, prints."""
    subscriber = SVSubscriber(sys.argv[1])
    subscriber.set_app_id(0x4000)
    subscriber.set_listener(take)
    subscriber.start()
    print("ready", flush=True)
    is_enough.wait(LONGEST_S)
    print("\n".join(lines), flush=True)
    # It cannot be stopped while samples come: `stop` waits for a thread that waits for the interpreter,
    # which who called `stop` keeps.
    os._exit(0)


main()
