"""Reads a point at a fixed rate and writes another: half of what it read."""

import sys
import time

point, other, every_s = sys.argv[1], sys.argv[2], float(sys.argv[3])
print("reading", point, flush=True)
due = time.monotonic()
while True:
    with open(point, encoding="ascii") as file:
        value = float(file.read())
    with open(other, "w", encoding="ascii") as file:
        file.write(f"{value / 2:.6f}\n")
    due += every_s
    time.sleep(max(0.0, due - time.monotonic()))
