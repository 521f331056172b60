"""Prints what programs of several kinds get that is random, each twice."""
import os
import stat
import subprocess
import sys


def read(path, count):
    with open(path, "rb") as file:
        return file.read(count).hex()


for path in ("/dev/urandom", "/dev/random"):
    print(path, read(path, 9), read(path, 9))
    with open(path, "wb") as file:
        file.write(b"seed")
print("much", hash(read("/dev/urandom", 200_001)), len(read("/dev/random", 200_001)) // 2)
print("call", os.urandom(9).hex(), hash("text"), id(os))
for command in ("od -An -N9 -tx1 /dev/urandom", "od -An -N9 -tx1 /dev/urandom", "mktemp -u"):
    print(command, subprocess.run(command.split(), capture_output=True, text=True).stdout.strip())
sys.stdout.flush()
if os.fork() == 0:
    print("child", read("/dev/urandom", 9), os.urandom(9).hex(), flush=True)
    os._exit(0)
os.wait()
print("mode", oct(stat.S_IMODE(os.stat("/dev/urandom").st_mode)))
