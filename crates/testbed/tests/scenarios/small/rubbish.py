"""Writes what is no value to a point, and then one that is."""

import sys
import time

for text in ["", "five", "1\n2\n", "nan", "1e12", "250\n"]:
    if not text:
        continue
    try:
        with open(sys.argv[2], "w", encoding="ascii") as file:
            file.write(text)
        print("taken:", text.strip(), flush=True)
    except OSError:
        print("refused", flush=True)
while True:
    time.sleep(1)
