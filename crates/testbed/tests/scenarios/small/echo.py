"""Echo over UDP: `serve` answers, `ask ADDRESS` asks ten times a second and times the answers."""

import socket
import sys
import time

PORT = 7007

with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
    if sys.argv[1] == "serve":
        udp.bind(("0.0.0.0", PORT))
        while True:
            question, who = udp.recvfrom(2048)
            udp.sendto(question, who)
    udp.settimeout(1)
    while True:
        asked = time.monotonic()
        try:
            udp.sendto(b"are you there?", (sys.argv[2], PORT))
            udp.recv(2048)
            print(f"{(time.monotonic() - asked) * 1000:.3f} ms", flush=True)
        except OSError as error:
            print(error, flush=True)
        time.sleep(0.1)
