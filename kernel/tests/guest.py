"""Guests for the tests of the module: Debian's kernel, the lab as the only program, and the wire.

A guest's first serial port is the kernel's console, kept in a file; its second one takes commands of the lab
(`lab/`). What is started here ends with the test, however that ends.
"""

import os
import socket
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from children import end, listens, start, wait_for
from cpio import archive

BOOT_S_MAX = 60
# A stock kernel under KVM is there in a second; where KVM is that of a nested host it may never be.
KVM_BOOT_S_MAX = 6
ANSWER_S_MAX = 20
MEMORY = "160M"
READY = b"ok ready\n"


class LabError(Exception):
    """The lab answers that a system call failed."""

    def __init__(self, command: str, number: int) -> None:
        super().__init__(f"{command}: {os.strerror(number)}")
        self.number = number


def first_files(lab: Path, modules: list[Path]) -> bytes:
    """The first and only file system of a guest."""
    folders = [(name, 0o040755, b"") for name in ("proc", "sys", "dev")]
    files = [(path.name, 0o100644, path.read_bytes()) for path in modules]
    return archive([*folders, ("init", 0o100755, lab.read_bytes()), *files])


class Guest:
    """A guest; once it has booted (`boot`), it waits for commands."""

    def __init__(
        self, name: str, folder: Path, kernel: Path, files: Path, kvm: bool, wire: Path | None = None,
    ) -> None:
        self.name = name
        self.console = folder / f"{name}.console"
        control = folder / f"{name}.control"
        control.unlink(missing_ok=True)
        command = [
            "qemu-system-x86_64", "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
            "-machine", f"q35,accel={'kvm' if kvm else 'tcg'},memory-backend=memory",
            "-cpu", "host" if kvm else "max", "-m", MEMORY,
            "-object", f"memory-backend-memfd,id=memory,size={MEMORY},share=on",
            "-serial", f"file:{self.console}",
            "-chardev", f"socket,id=control,path={control},server=on,wait=off",
            "-serial", "chardev:control",
            "-kernel", str(kernel), "-initrd", str(files),
            "-append", "console=ttyS0 panic=-1 rdinit=/init",
        ]
        if wire:
            command += [
                "-chardev", f"socket,id=wire,path={wire}", "-device", "vhost-user-gpio-pci,chardev=wire",
            ]
        self.log = folder / f"{name}.log"
        self.process = start(command, self.log)
        self.port: socket.socket | None = None
        self.words = b""
        self.boot_ends = time.monotonic() + (KVM_BOOT_S_MAX if kvm else BOOT_S_MAX)
        try:
            # Before the guest has something to say: QEMU drops what nobody hears.
            wait_for("QEMU", lambda: listens(control), ANSWER_S_MAX)
            self.port = socket.socket(socket.AF_UNIX)
            self.port.connect(str(control))
        except OSError as error:
            self.close()
            raise RuntimeError(f"{name} does not start: {error}; {self.last_words()}") from error

    def boot(self) -> None:
        """Waits for the lab's first words; what the firmware says before is none of its.

        Raises RuntimeError with the last words of the guest if none come in time; it is ended then.
        """
        assert self.port
        try:
            while not self.words.endswith(READY):
                self.port.settimeout(max(self.boot_ends - time.monotonic(), 0.001))
                self.receive()
        except OSError as error:
            self.close()
            raise RuntimeError(f"{self.name} does not boot: {error}; {self.last_words()}") from error
        self.words = b""

    def last_words(self) -> str:
        """The end of what the kernel and QEMU said."""
        said = [path.read_text(errors="replace") for path in (self.log, self.console) if path.exists()]
        return "".join(said)[-600:]

    def receive(self) -> None:
        assert self.port
        octets = self.port.recv(4096)
        if not octets:
            raise ConnectionError("QEMU has ended")
        self.words += octets

    def ask(self, command: str) -> None:
        """Sends a command; its answer comes later."""
        assert self.port
        self.port.sendall(command.encode() + b"\n")

    def answer(self, command: str, seconds: float = ANSWER_S_MAX) -> list[str]:
        """The words of the next answer.

        Raises LabError if a system call failed, RuntimeError if no answer comes.
        """
        assert self.port
        self.port.settimeout(seconds)
        try:
            while b"\n" not in self.words:
                self.receive()
        except OSError as error:
            raise RuntimeError(f"{self.name}, {command}: {error}; {self.last_words()}") from error
        line, _, self.words = self.words.partition(b"\n")
        words = line.decode().split()
        if words[0] != "ok":
            raise LabError(command, int(words[1]))
        return words[1:]

    def do(self, command: str) -> list[str]:
        """Carries out a command: the words of its answer."""
        self.ask(command)
        return self.answer(command)

    def close(self) -> None:
        """Ends the guest."""
        if self.port:
            self.port.close()
        end(self.process)
