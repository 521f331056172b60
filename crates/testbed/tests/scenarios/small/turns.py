"""At each full second computes for a while, appends its name to a file, sends it to a collector, and says when it woke.

usage: turns.py NAME COUNT FILE COLLECTOR
"""

import ctypes
import socket
import sys
import time

REALTIME, ABSOLUTE = 0, 1
SECONDS = 5


class Timespec(ctypes.Structure):
    _fields_ = (("tv_sec", ctypes.c_long), ("tv_nsec", ctypes.c_long))


def sleep_until(second: int) -> None:
    """To the nanosecond, which time.sleep is not. clock_nanosleep(2)"""
    until = Timespec(second, 0)
    failed = ctypes.CDLL(None).clock_nanosleep(REALTIME, ABSOLUTE, ctypes.byref(until), None)
    assert failed == 0, failed


def main() -> None:
    name, count, path, collector = sys.argv[1:]
    peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    begin = time.time_ns() // 10**9
    for second in range(begin + 1, begin + 1 + SECONDS):
        sleep_until(second)
        woke = time.time_ns() - second * 10**9
        sum(range(int(count)))
        with open(path, "a", encoding="ascii") as file:
            file.write(f"{name}\n")
        peer.sendto(name.encode(), (collector, 5000))
        print(woke, flush=True)


main()
