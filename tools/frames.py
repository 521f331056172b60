#!/usr/bin/env python3
"""Writes the frames of captures as files of their own, as a fuzzer begins with them.

Usage: tools/frames.py TARGET SOURCE    every .pcap below SOURCE; few of each, for they are alike
"""

import struct
import sys
from collections.abc import Iterator
from pathlib import Path

FRAMES_MAX = 20


def frames(capture: bytes) -> Iterator[bytes]:
    """The frames of a capture (libpcap 2.4)."""
    order = "<" if capture[:4] == b"\xd4\xc3\xb2\xa1" else ">"
    at = 24
    while at + 16 <= len(capture):
        (octets,) = struct.unpack_from(order + "I", capture, at + 8)
        yield capture[at + 16 : at + 16 + octets]
        at += 16 + octets


def main() -> int:
    target, source = Path(sys.argv[1]), Path(sys.argv[2])
    target.mkdir(parents=True, exist_ok=True)
    for path in sorted(source.rglob("*.pcap")):
        for number, frame in zip(range(FRAMES_MAX), frames(path.read_bytes()), strict=False):
            (target / f"{path.stem}-{number}").write_bytes(frame)
    return 0


if __name__ == "__main__":
    sys.exit(main())
