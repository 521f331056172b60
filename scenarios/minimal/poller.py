#!/usr/bin/env python3
"""Asks an echo server every 20 ms and waits up to 100 ms for each answer."""

import socket
import sys
import time

PORT = 7007
PERIOD_S = 0.020
PATIENCE_S = 0.100


def main() -> None:
    """Polls until it is killed; an answer that does not come costs the polls it would have made."""
    server = (sys.argv[1], PORT)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as poller:
        poller.settimeout(PATIENCE_S)
        due = time.monotonic()
        while True:
            asked = time.monotonic()
            poller.sendto(f"{asked:.6f}".encode(), server)
            try:
                poller.recvfrom(2048)
            except TimeoutError:
                print(f"no answer within {PATIENCE_S * 1e3:.0f} ms", flush=True)
            due = max(due + PERIOD_S, time.monotonic())
            time.sleep(max(0.0, due - time.monotonic()))


if __name__ == "__main__":
    main()
