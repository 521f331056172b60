"""The archive from which the kernel of a guest makes its first file system."""

from collections.abc import Iterable


def archive(files: Iterable[tuple[str, int, bytes]]) -> bytes:
    """An archive as the kernel unpacks it: cpio, "newc". Each file has a path, a mode and its content."""
    octets = bytearray()
    for number, (path, mode, content) in enumerate([*files, ("TRAILER!!!", 0, b"")], 1):
        name = path.encode() + b"\0"
        fields = [number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name), 0]
        octets += b"070701" + b"".join(b"%08X" % field for field in fields) + name
        octets += bytes(-len(octets) % 4) + content
        octets += bytes(-len(octets) % 4)
    return bytes(octets)
