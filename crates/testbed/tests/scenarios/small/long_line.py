"""Writes much without the end of a line, and ends in the middle of one."""

import sys
import time

sys.stdout.write("x" * 1_000_000)
sys.stdout.flush()
time.sleep(1)
sys.stdout.write("half a line")
sys.stdout.flush()
while True:
    time.sleep(60)
