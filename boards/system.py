"""What a board has on its file system: programs of Debian's packages, modules of its kernel, and scenarios.

The packages are fetched and unpacked, never installed, below `target/boards`; that takes no rights, and a network once.
"""

import shutil
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

import packages
from access import SCENARIOS
from cpio import archive
from options import PROJECT

HERE = Path(__file__).resolve().parent
CACHE = PROJECT / "target/boards"
# What the agent of a host needs (libraries), what brings it there (a shell, an ssh server), and what programs of
# scenarios are written in.
SEEDS = ["busybox-static", "dropbear-bin", "libgcc-s1"]
# Packages that those need are followed by the beginnings of their names: not to what only an installation needs.
FOLLOWED = ("lib", "zlib", "python3.")
# What no program of a board reads.
LEFT_OUT = {"share", "include", "gconv", "pkgconfig", "etc"}
FOLDER, PROGRAM, FILE = 0o040755, 0o100755, 0o100644
# Where Debian has packages for Python that are not its own.
FOR_PYTHON = "usr/lib/python3/dist-packages"

File = tuple[str, int, bytes]


class System:
    """The unpacked packages."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def path(self, name: str) -> Path:
        """Where a file of the packages is, which name it by the old folders or by the ones within `usr`."""
        found = (self.root / prefix / name for prefix in ("", "usr"))
        for path in found:
            if path.exists():
                return path
        raise packages.NotThere(f"Debian's packages have no {name}")

    def command(self, name: str) -> list[str | Path]:
        """A program of the packages as a command of this machine, with the loader and libraries that it has there."""
        loader = next(self.root.glob("**/ld-linux-x86-64.so.2"))
        folders = {str(path.parent) for path in self.root.glob("**/lib*.so.*")}
        return [loader.resolve(), "--library-path", ":".join(sorted(folders)), self.path(name)]

    def files(self) -> Iterator[File]:
        """All that a board gets of it, in the order in which a file system is made."""
        for path in sorted(self.root.rglob("*")):
            parts = path.relative_to(self.root).parts
            if not LEFT_OUT.intersection(parts):
                yield of_path(path, "/".join(parts if parts[0] == "usr" else ("usr", *parts)))


def of_path(path: Path, inner: str) -> File:
    """A file, folder or link of this machine, as one in a board."""
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return inner, 0o120777, str(path.readlink()).encode()
    if stat.S_ISDIR(mode):
        return inner, FOLDER, b""
    return inner, PROGRAM if mode & 0o100 else FILE, path.read_bytes()


def unpack() -> System:
    """Fetches and unpacks the packages, unless they are there."""
    lists = packages.Archive(packages.cache_folder(), "amd64")
    CACHE.mkdir(parents=True, exist_ok=True)
    with packages.locked(CACHE):
        place, of = CACHE / "system", CACHE / "system-of"
        # Another version of this may have taken others.
        wanted = " ".join((*SEEDS, *FOLLOWED))
        if place.exists() and of.exists() and of.read_text() == wanted:
            return System(place)
        names = lists.with_needed([*SEEDS, *lists.depends("python3", "python3.")], FOLLOWED)
        with packages.unfinished(CACHE) as making:
            content = making / "content"
            for package in lists.fetch_all(names, making / "fetched"):
                packages.run(["dpkg", "-x", package, content])
            compile_python(System(content))
            shutil.rmtree(place, ignore_errors=True)
            content.rename(place)
        of.write_text(wanted)
    return System(place)


def compile_python(system: System) -> None:
    """Compiles Python's own modules, which an emulated processor takes seconds for, each time."""
    library = next((system.root / "usr/lib").glob("python3.*"))
    python = [*system.command(f"bin/{library.name}"), "-I", "-m", "compileall", "-q", "-x", "lib2to3/tests|/test/"]
    # By what they hold: all files of a board have the same time.
    packages.run(["env", f"PYTHONHOME={system.root}/usr", *python, "--invalidation-mode", "unchecked-hash",
                  "-s", system.root, "-p", "/", library])


def folders() -> Iterator[File]:
    """What is there before there is anything in it; programs and libraries are where Debian has them."""
    for name in ("proc", "sys", "dev", "run", "tmp", "etc", "root", "modules", "usr", SCENARIOS.strip("/")):
        yield name, FOLDER, b""
    for name in ("bin", "sbin", "lib", "lib64"):
        yield f"usr/{name}", FOLDER, b""
        yield name, 0o120777, f"usr/{name}".encode()


def common(system: System) -> bytes:
    """The part of the archive that is the same for each start."""
    python = next((system.root / "usr/bin").glob("python3.*"))
    return archive([
        *folders(),
        *system.files(),
        ("usr/bin/python3", 0o120777, python.name.encode()),
        ("usr/bin/sh", 0o120777, b"busybox"),
        ("init", PROGRAM, (HERE / "init").read_bytes()),
        ("etc/passwd", FILE, b"root:x:0:0:root:/root:/bin/sh\n"),
        ("etc/group", FILE, b"root:x:0:\n"),
    ])


def of_modules(modules: Iterable[Path]) -> Iterator[File]:
    """Modules, and the order in which the first process loads them."""
    names = []
    for module in modules:
        names.append(module.name)
        yield f"modules/{module.name}", FILE, module.read_bytes()
    yield "modules/order", FILE, "".join(f"{name}\n" for name in names).encode()


def of_access(state: Path) -> Iterator[File]:
    """The key of the ssh server, and who may come."""
    yield "root/.ssh", 0o040700, b""
    yield "root/.ssh/authorized_keys", 0o100600, (state / "user_key.pub").read_bytes()
    yield "etc/dropbear", FOLDER, b""
    yield "etc/dropbear/key", 0o100600, (state / "host_key").read_bytes()


def of_folder(folder: Path, inner: str) -> Iterator[File]:
    """A folder with all in it but what is hidden or made by Python."""
    yield inner, FOLDER, b""
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if not any(part == "__pycache__" or part.startswith(".") for part in parts):
            yield of_path(path, "/".join((inner, *parts)))


def for_python(names: Iterable[str]) -> Iterator[File]:
    """Packages for Python of this project's own environment, without compiled parts: those of the cases."""
    for name in names:
        found = next((PROJECT / ".venv/lib").glob(f"python3.*/site-packages/{name}"), None)
        if found:
            yield from of_folder(found, f"{FOR_PYTHON}/{name}")
