"""Says from whom datagrams come, in their order.

usage: collect.py
"""

import socket

receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(("", 5000))
while True:
    print(receiver.recv(100).decode(), flush=True)
