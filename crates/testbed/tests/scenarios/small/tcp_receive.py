"""Receives a stream to its end, and answers."""
import socket

listening = socket.create_server(("", 5000))
connection, _ = listening.accept()
count = 0
while octets := connection.recv(65536):
    count += len(octets)
print("received", count, flush=True)
connection.send(b"x")
