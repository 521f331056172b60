"""Leaves three daemons behind: each in a session of its own, with the output still open."""

import os
import signal
import time

for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            while True:
                time.sleep(3600)
        os._exit(0)
    os.wait()
print("three daemons", flush=True)
