"""A board by its number: how it is called, where it is, and how QEMU is started as it."""

from pathlib import Path
from typing import NamedTuple

from options import Options


class Board(NamedTuple):
    """One of the boards."""

    # From 1.
    number: int
    # On this machine's loopback, where its ssh server is reached.
    port: int
    ppm: int

    @property
    def name(self) -> str:
        """As ssh and scenarios call it."""
        return f"board{self.number}"

    @property
    def address(self) -> str:
        """On the Ethernet of the boards."""
        return f"10.1.0.{10 + self.number}"

    def words_for_init(self) -> str:
        """What the first process of the guest is told, on the command line of the kernel."""
        return f"board={self.number} host={self.address} ppm={self.ppm}"

    def alone(self, options: Options, kernel: Path, files: Path, kvm: bool) -> list[str]:
        """The command that is this board, before it is joined to others; its console is in the state's folder."""
        memory = f"{options.memory_mb}M"
        return [
            "qemu-system-x86_64", "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
            "-machine", f"q35,accel={'kvm' if kvm else 'tcg'},memory-backend=memory",
            "-cpu", "host" if kvm else "max", "-smp", str(options.cores), "-m", memory,
            "-object", f"memory-backend-memfd,id=memory,size={memory},share=on",
            "-serial", f"file:{options.state / self.name}.console",
            "-kernel", str(kernel), "-initrd", str(files),
            # The counter of an emulated processor runs with the host's, so it is a clock. What keeps programs of a real
            # one from each other's secrets costs each call of an emulated one a quarter more; and what it has
            # translated it finds again only at the same address.
            "-append", "console=ttyS0 quiet panic=-1 rdinit=/init clocksource=tsc tsc=reliable mitigations=off "
            "norandmaps "
            + self.words_for_init(),
        ]

    def joined(self, options: Options, kernel: Path, files: Path, kvm: bool) -> list[str]:
        """The same, at the wire, the Ethernet and the loopback of this machine; sockets are in the state's folder."""
        state, number = options.state, f"{self.number:02x}"
        return [
            *self.alone(options, kernel, files, kvm),
            # First, so that its chip is virtio0.
            "-chardev", f"socket,id=wire,path={state / f'wire{self.number - 1}'}",
            "-device", "vhost-user-gpio-pci,chardev=wire",
            "-netdev", f"user,id=ssh,restrict=on,hostfwd=tcp:127.0.0.1:{self.port}-:22",
            "-device", f"virtio-net-pci,netdev=ssh,mac=52:54:00:0a:00:{number},romfile=",
            "-netdev", f"stream,id=ethernet,addr.type=unix,addr.path={socket_of(state, self.number)}",
            "-device", f"virtio-net-pci,netdev=ethernet,mac=52:54:00:0b:00:{number},romfile=",
        ]


def socket_of(state: Path, number: int) -> Path:
    """Where a board is connected to the Ethernet."""
    return state / f"ethernet{number}"


def ethernet(state: Path, count: int) -> list[str]:
    """The command that is the Ethernet: a QEMU without a machine, that joins what is connected to it.

    So it needs no rights, and each board may end without the others noticing more than its silence.
    """
    command = ["qemu-system-x86_64", "-machine", "none", "-nodefaults", "-no-user-config", "-display", "none"]
    for number in range(1, count + 1):
        place = socket_of(state, number)
        command += [
            "-netdev", f"stream,id=board{number},server=on,addr.type=unix,addr.path={place}",
            "-netdev", f"hubport,id=port{number},hubid=0,netdev=board{number}",
        ]
    return command
