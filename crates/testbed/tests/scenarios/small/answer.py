"""Sends each datagram back.

usage: answer.py
"""

import socket

server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("", 5000))
while True:
    server.sendto(*server.recvfrom(100))
