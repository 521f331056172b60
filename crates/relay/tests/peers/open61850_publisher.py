"""Publishes 20 streams of 4800 samples a second with open61850 for some seconds.

Usage: open61850_publisher.py INTERFACE SECONDS
Prints what the engine says of it, as JSON.
"""

import dataclasses
import json
import sys
import time

from open61850.sv_publisher import Publisher, SvStream, Wave

WAVES = [Wave(amplitude=400_000, phase_deg=-120 * n) for n in range(8)]


def main() -> None:
    """Publishes, and prints what the engine says of it."""
    publisher = Publisher(sys.argv[1], rate=4800, asdus_per_frame=2, engine="native")
    for number in range(1, 21):
        group = f"01:0c:cd:04:00:{number:02x}"
        own = f"02:00:00:00:00:{number:02x}"
        publisher.add(SvStream(f"MU{number:02}", 0x4000, group, own, WAVES))
    publisher.start()
    time.sleep(float(sys.argv[2]))
    publisher.stop()
    print(json.dumps(dataclasses.asdict(publisher.stats())))


main()
