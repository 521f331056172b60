"""Runs on a board, for the test of the bus: attaches the lines of a domain, then does what each line of its input says.

`hold` and `release` do that, `state` and `rounds` show what the module says of the bus.
"""

import fcntl
import os
import struct
import sys

# As uapi/qcbus.h has it.
QCBUS_ATTACH = 1 << 30 | 136 << 16 | ord("Q") << 8 | 0x72
ACTIVE_LOW, OPEN_DRAIN = 1, 2
DEBOUNCE_US = 20
FOLDER = "/sys/class/qcbus/qcbus0"


def line(chip: str, offset: int, flags: int) -> bytes:
    """A line as the module has it."""
    return struct.pack("=32sII", chip.encode(), offset, flags)


def main(chip: str, output: str, first: str, second: str) -> None:
    """Does as it is told until nobody tells it anything."""
    domain = os.open("/dev/qcbus", os.O_RDWR)
    lines = line(chip, int(output), ACTIVE_LOW | OPEN_DRAIN) + line(chip, int(first), ACTIVE_LOW)
    lines += line(chip, int(second), ACTIVE_LOW)
    fcntl.ioctl(domain, QCBUS_ATTACH, lines + struct.pack("=IIII", 2, DEBOUNCE_US, 0, 0))
    print("attached", flush=True)
    for word in map(str.strip, sys.stdin):
        if word in ("hold", "release"):
            with open(f"{FOLDER}/hold", "w", encoding="ascii") as hold:
                hold.write("1" if word == "hold" else "0")
            print(word, flush=True)
        else:
            with open(f"{FOLDER}/{word}", encoding="ascii") as file:
                print(file.read().strip(), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
