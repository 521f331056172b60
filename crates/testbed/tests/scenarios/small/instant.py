"""One node sends a few octets by TCP, another one answers, and a third one computes while they are under way: in no
virtual time, but for longer than a kernel waits until it sends again.
"""

import socket
import sys
import time

WHEN = 1010.0
PORT = 5000
COMPUTES_NS = 700_000_000


def wait_until(when: float) -> None:
    time.sleep(max(0, when - time.monotonic()))


def ran_ns() -> int:
    """Processor time of the host, which is not this program's to see otherwise."""
    with open("/proc/self/schedstat", encoding="ascii") as file:
        return int(file.read().split()[0])


def connected() -> socket.socket:
    while True:
        try:
            return socket.create_connection(("10.0.0.2", PORT))
        except OSError:
            # The other one listens later, or this machine needed seconds for an instant.
            time.sleep(0.1)


def main() -> None:
    if sys.argv[1] == "send":
        connection = connected()
        wait_until(WHEN)
        connection.sendall(bytes(100))
        connection.recv(1)
        print("answered", round((time.monotonic() - WHEN) * 1e3), "ms", flush=True)
    elif sys.argv[1] == "answer":
        connection, _ = socket.create_server(("", PORT)).accept()
        connection.recv(100)
        connection.send(b"x")
    else:
        wait_until(WHEN + 0.001)
        until_ns = ran_ns() + COMPUTES_NS
        while ran_ns() < until_ns:
            sum(range(200_000))


main()
