"""The wire between the GPIO lines of guests: `qcwire`, built of crates/wired-or, with a socket for each guest."""

from pathlib import Path

from children import end, listens, start, wait_for

START_S_MAX = 20


class Wire:
    """The wire between guests, with a socket for each."""

    def __init__(self, program: Path, folder: Path, guests: int, pull: str = "down") -> None:
        self.sockets = [folder / f"wire{guest}" for guest in range(guests)]
        command = [str(program), "--pull", pull, *map(str, self.sockets)]
        self.process = start(command, folder / "wire.log")
        wait_for("the wire", lambda: all(map(listens, self.sockets)), START_S_MAX)

    def close(self) -> None:
        """Ends the wire."""
        end(self.process)
