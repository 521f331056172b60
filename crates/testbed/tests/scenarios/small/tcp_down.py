"""Connects to a node that is down, whose address is known, and to one that never was; prints how long each
takes in ms, and the error."""
import errno
import socket
import time

socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("10.0.0.2", 9))
time.sleep(1)
for address in ("10.0.0.2", "10.0.0.9"):
    connecting = socket.socket()
    connecting.setsockopt(socket.IPPROTO_TCP, socket.TCP_SYNCNT, 1)
    begin = time.monotonic()
    number = connecting.connect_ex((address, 5000))
    print(round((time.monotonic() - begin) * 1e3), errno.errorcode[number], flush=True)
