#!/usr/bin/env python3
"""Sends every datagram back to where it came from."""

import socket

PORT = 7007


def main() -> None:
    """Serves until it is killed."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("", PORT))
        while True:
            datagram, sender = server.recvfrom(2048)
            server.sendto(datagram, sender)


if __name__ == "__main__":
    main()
