"""Sends 2 MB; prints how long that took in ms, and how many segments were sent again."""
import socket
import struct
import time

COUNT = 2_000_000
while True:
    sending = socket.socket()
    sending.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
    try:
        sending.connect(("10.0.0.2", 5000))
        break
    except ConnectionRefusedError:
        # The receiver has not begun yet, where the host is busy.
        time.sleep(0.1)
begin = time.monotonic()
sending.sendall(bytes(COUNT))
sending.shutdown(socket.SHUT_WR)
sending.recv(1)
took_ms = (time.monotonic() - begin) * 1e3
# tcpi_total_retrans of struct tcp_info.
(again,) = struct.unpack_from("I", sending.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256), 100)
print(round(took_ms), again, flush=True)
