"""Starts readers that ask without a pause, and kills each in the middle of it."""

import os
import signal
import sys
import time

killed = 0
while True:
    reader = os.fork()
    if reader == 0:
        while True:
            with open(sys.argv[1], encoding="ascii") as file:
                file.read()
    time.sleep(0.02)
    os.kill(reader, signal.SIGKILL)
    os.waitpid(reader, 0)
    killed += 1
    print(killed, flush=True)
