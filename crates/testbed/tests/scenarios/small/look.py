"""Says what it finds in the node where it runs."""

import fcntl
import os
import socket
import stat
import struct

# Before anything else opens one.
descriptors = sorted(os.listdir("/proc/self/fd"), key=int)
names = []
for number in descriptors:
    try:
        names.append((number, os.readlink(f"/proc/self/fd/{number}").split(":")[0]))
    except FileNotFoundError:
        pass  # That of the listing itself.
print("descriptors:", ", ".join(f"{number} {name}" for number, name in names))

print("host name:", socket.gethostname())


def is_up(name: str) -> bool:
    siocgifflags, up = 0x8913, 1
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        answer = fcntl.ioctl(udp, siocgifflags, struct.pack("16sH14x", name.encode(), 0))
    return bool(struct.unpack("16sH14x", answer)[1] & up)


interfaces = sorted(name for _, name in socket.if_nameindex())
print("interfaces:", ", ".join(f"{name} {'up' if is_up(name) else 'down'}" for name in interfaces))

points = sorted(os.listdir("/plant"))
modes = (f"{point} {stat.filemode(os.stat(f'/plant/{point}').st_mode)[1:]}" for point in points)
print("points:", ", ".join(modes))

processes = [name for name in os.listdir("/proc") if name.isdigit()]
own = str(os.getpid())
others = [number for number in processes if number != own]


def name_of(number: str) -> str:
    with open(f"/proc/{number}/comm", encoding="ascii") as file:
        return file.read().strip()


print("processes:", ", ".join(f"{number} {name_of(number)}" for number in others) + ", " + name_of(own))
print("first process:", len(os.listdir("/proc/1/task")), "thread")
print("environment:", ", ".join(sorted(name for name in os.environ if name not in ("VIRTUAL_ENV", "LC_CTYPE"))))

with open("there.txt", encoding="ascii") as file:
    print("read:", file.read().strip())
with open("there.txt", "a", encoding="ascii") as file:
    file.write("after\n")

root = set(os.listdir("/"))
host = {"bin", "dev", "etc", "home", "lib", "plant", "proc", "sys", "tmp", "usr", "var"}
print("root:", "every entry of the host" if host <= root else host - root)

status = dict(line.split(":", 1) for line in open("/proc/self/status", encoding="ascii"))
blocked = int(status["SigBlk"], 16)
# Python itself ignores SIGPIPE (13) and SIGXFSZ (25); those from 32 on are the C library's.
ignored = int(status["SigIgn"], 16) & ~(1 << 12 | 1 << 24) & 0x7fff_ffff
said = (f"{blocked:x}" if blocked else "none") + " blocked, " + (f"{ignored:x}" if ignored else "none")
print("signals:", said, "ignored but by the language")
try:
    os.close(os.open("/dev/tty", os.O_RDWR))
    print("terminal: one")
except OSError:
    print("terminal: none")
