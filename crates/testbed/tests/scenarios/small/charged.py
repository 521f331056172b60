"""Says how long things take, in nanoseconds: waits and timers of 10 ms, a point of the plant, an answer of a peer.

usage: charged.py PEER
"""

import ctypes
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable

SPAN = 0.01


def timed(name: str, act: Callable[[], object]) -> None:
    begin = time.monotonic_ns()
    act()
    print(name, time.monotonic_ns() - begin, flush=True)


def alarm() -> None:
    signal.setitimer(signal.ITIMER_REAL, SPAN)
    signal.pause()


def timer() -> None:
    libc = ctypes.CDLL(None)
    descriptor = libc.timerfd_create(time.CLOCK_MONOTONIC, 0)
    # A period of none, then the time to the first expiration. timerfd_settime(2)
    setting = (ctypes.c_long * 4)(0, 0, 0, int(SPAN * 10**9))
    assert libc.timerfd_settime(descriptor, 0, setting, None) == 0
    os.read(descriptor, 8)
    os.close(descriptor)


def main() -> None:
    signal.signal(signal.SIGALRM, lambda number, frame: None)
    peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    peer.connect((sys.argv[1], 5000))

    def ask() -> None:
        peer.send(b"question")
        peer.recv(100)

    # The kernel asks for the address first.
    ask()
    timed("sleep", lambda: time.sleep(SPAN))
    timed("poll", lambda: select.select([], [], [], SPAN))
    timed("alarm", alarm)
    timed("timer", timer)
    timed("point", lambda: open("/plant/generator.wind.kW", encoding="ascii").read())
    timed("answer", ask)


main()
