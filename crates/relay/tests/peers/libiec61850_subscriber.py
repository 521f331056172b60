"""Subscribes to sampled values with libiec61850 and prints a line for each sample.

Usage: libiec61850_subscriber.py INTERFACE SECONDS
A line is: svID, smpCnt, and the value of the first channel. `ready` comes first.
"""

import sys
import time
from typing import Any

from pyiec61850.sv import SVSubscriber

lines: list[str] = []


def take(message: Any) -> None:
    """Keeps a sample; values and qualities come in turn."""
    lines.append(f"{message.sv_id} {message.smp_cnt} {message.values[0]}")


def main() -> None:
    """Subscribes, waits, prints."""
    subscriber = SVSubscriber(sys.argv[1])
    subscriber.set_app_id(0x4000)
    subscriber.set_listener(take)
    subscriber.start()
    print("ready", flush=True)
    time.sleep(float(sys.argv[2]))
    subscriber.stop()
    print("\n".join(lines))


main()
