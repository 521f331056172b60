"""Debian's kernels and their headers, fetched as packages and unpacked, never installed.

They are kept in `$XDG_CACHE_HOME/quartercycle/headers` (`~/.cache/...`), a folder for each package of headers. It
holds what a module is built against, and on request the kernel itself, to be booted. Root is not needed,
a network once.

Another architecture's packages come through lists of their own, which are fetched from the same sources:
what the machine itself can install does not change.
"""

import fcntl
import lzma
import os
import re
import shutil
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# A package that comes slowly is better than none; a source that says nothing is none.
FETCH_S_MAX = 600

# How the compiler for a processor is called before "gcc", where the machine has another one.
CROSS = {"amd64": "x86_64-linux-gnu-", "arm64": "aarch64-linux-gnu-"}
# How the kernel calls a processor.
ARCH = {"amd64": "x86", "arm64": "arm64"}
# Files of a kernel's source that are used as they are: a driver that Debian does not build, and the check of style.
SOURCES = [
    "drivers/gpio/gpio-virtio.c", "scripts/checkpatch.pl", "scripts/spelling.txt", "scripts/const_structs.checkpatch",
]
# Modules that a guest needs before it has a GPIO device, in the order in which they need each other.
VIRTIO = ["virtio_ring", "virtio", "virtio_pci_modern_dev", "virtio_pci_legacy_dev", "virtio_pci"]
# And those that one needs besides to be a host of a run: Ethernet, devices of nodes and their files.
HOST = ["failover", "net_failover", "virtio_net", "tun", "fuse"]


class NotThere(Exception):
    """Something cannot be had on this machine; the message says what and the way out."""


def machine() -> str:
    """The architecture of this machine, as Debian calls it."""
    return run(["dpkg", "--print-architecture"]).strip()


def run(command: list[str | Path], cwd: Path | None = None) -> str:
    """Runs a command: what it prints.

    Raises NotThere if there is no such program or it fails.
    """
    name = str(command[0])
    environment = {**os.environ, "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}
    try:
        done = subprocess.run(
            command, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            check=False, timeout=FETCH_S_MAX,
        )
    except FileNotFoundError:
        raise NotThere(f"there is no {name} here") from None
    except subprocess.TimeoutExpired:
        raise NotThere(f"{name} took longer than {FETCH_S_MAX} s") from None
    if done.returncode:
        said = [line for line in (done.stderr + done.stdout).splitlines() if not line.startswith("W: ")]
        raise NotThere(f"{name}: {'; '.join(said[-4:])}")
    return done.stdout


class Archive:
    """The package lists of one architecture."""

    def __init__(self, cache: Path, architecture: str) -> None:
        self.architecture = architecture
        self.options: list[str | Path] = []
        if architecture != machine():
            self.options = self.lists_of_its_own(cache / f"apt-{architecture}")

    def lists_of_its_own(self, root: Path) -> list[str | Path]:
        """Options by which apt knows this architecture and no other."""
        for folder in ("state/lists/partial", "cache/archives/partial"):
            (root / folder).mkdir(parents=True, exist_ok=True)
        (root / "state/status").touch()
        settings = {
            "APT::Architecture": self.architecture,
            "APT::Architectures": self.architecture,
            "Dir::State": root / "state",
            "Dir::State::status": root / "state/status",
            "Dir::Cache": root / "cache",
        }
        options: list[str | Path] = [part for it in settings.items() for part in ("-o", "=".join(map(str, it)))]
        if not any((root / "state/lists").glob("*Packages*")):
            run(["apt-get", *options, "-q=2", "update"])
        return options

    def depends(self, package: str, start: str) -> list[str]:
        """The packages that one depends on whose names begin so.

        Raises NotThere if the lists have no such package.
        """
        said = run(["apt-cache", *self.options, "depends", package])
        return re.findall(rf"^ *Depends: ({re.escape(start)}\S+)", said, re.MULTILINE)

    def with_needed(self, packages: list[str], starts: tuple[str, ...]) -> list[str]:
        """Packages, and those that they depend on, and so on, as far as their names begin with one of these."""
        found: set[str] = set()
        more = set(packages)
        while more:
            found |= more
            said = run(["apt-cache", *self.options, "depends", *sorted(more)])
            more = {name for name in re.findall(r"(?m)^ *Depends: (\S+)", said) if name.startswith(starts)} - found
        return sorted(found)

    def newest_headers(self) -> str:
        """The newest package of headers in the lists, also one of a newer release's kernel."""
        said = run(["apt-cache", *self.options, "pkgnames", "linux-headers-"])
        pattern = rf"linux-headers-(\d[\d.]+(?:-\d+)?(?:\+deb\d+)?)-{self.architecture}"
        found = re.findall(rf"^{pattern}$", said, re.MULTILINE)
        if not found:
            raise NotThere(f"the package lists have no headers for {self.architecture}; run apt-get update")
        newest = max(found, key=lambda version: [int(number) for number in re.findall(r"\d+", version)])
        return f"linux-headers-{newest}-{self.architecture}"

    def fetch(self, package: str, folder: Path) -> Path:
        """Fetches a package into an empty folder of its name."""
        [fetched] = self.fetch_all([package], folder / package.split("=")[0])
        return fetched

    def fetch_all(self, packages: list[str], folder: Path) -> list[Path]:
        """Fetches packages into a folder that is made for them."""
        folder.mkdir()
        run(["apt-get", *self.options, "-q=2", "-o", "Debug::NoLocking=1", "download", *packages], cwd=folder)
        return sorted(folder.glob("*.deb"))


def cache_folder() -> Path:
    """Where packages are kept."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(home) / "quartercycle/headers"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextmanager
def locked(cache: Path) -> Iterator[None]:
    """Held while something is fetched or built: two at once would do it twice."""
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def unfinished(cache: Path) -> Iterator[Path]:
    """An empty folder for what is not whole yet; what an interruption left is removed."""
    folder = cache / "unfinished"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    yield folder
    shutil.rmtree(folder)


class Kernel:
    """A kernel by its package of headers, such as linux-headers-6.1.0-56-amd64."""

    def __init__(self, package: str, architecture: str, cache: Path) -> None:
        self.package = package
        self.architecture = architecture
        self.release = package.removeprefix("linux-headers-")
        self.cache = cache
        self.folder = cache / package

    @property
    def headers(self) -> Path:
        """The folder that a module is built in: KDIR."""
        return self.folder / "usr/src" / self.package

    @property
    def image(self) -> Path:
        """The kernel, once `fetch_image` has been called: what unpacks itself, unpacked, since an emulated
        processor takes longer for that than for all the rest of a start."""
        return self.folder / "boot" / f"vmlinux-{self.release}"

    def fetch_headers(self, archive: Archive) -> None:
        """Fetches the headers and what they need, unless they are there."""
        if self.folder.exists():
            return
        with unfinished(self.cache) as making:
            content = making / "content"
            tools = Archive(self.cache, machine())
            for package in [self.package, *archive.depends(self.package, "linux-headers-")]:
                run(["dpkg", "-x", archive.fetch(package, making), content])
            # Programs that run while a module is built, so this machine's; any revision of them will do.
            for package in archive.depends(self.package, "linux-kbuild-"):
                run(["dpkg", "-x", tools.fetch(package, making), content])
            makefile = content / "usr/src" / self.package / "Makefile"
            # It includes the common one by the path that this would have if it were installed.
            text = makefile.read_text().replace("/usr/src/", f"{self.folder}/usr/src/")
            makefile.write_text(text)
            content.rename(self.folder)

    @property
    def modules(self) -> Path:
        """The folder of the modules of `VIRTIO` and `HOST`, once `fetch_image` has been called."""
        return self.folder / "modules"

    def module(self, name: str) -> Path | None:
        """The file of one of these modules; None if it is a part of the kernel itself."""
        return next(self.modules.glob(f"{name}.ko*"), None)

    def fetch_image(self, archive: Archive) -> None:
        """Fetches the kernel and the modules of `VIRTIO` and `HOST`, unless they are there."""
        names = [*VIRTIO, *HOST]
        # Which were looked for: another version of this may have looked for others.
        looked_for = self.modules / "looked-for"
        if self.image.exists() and looked_for.exists() and looked_for.read_text().split() == names:
            return
        with unfinished(self.cache) as making:
            package = archive.fetch(f"linux-image-{self.release}", making)
            content = making / "content"
            run(["dpkg", "-x", package, content])
            self.modules.mkdir(exist_ok=True)
            for name in names:
                for module in content.glob(f"lib/modules/*/kernel/**/{name}.ko*"):
                    shutil.copy(module, self.modules)
            (self.folder / "boot").mkdir(exist_ok=True)
            packed = content / "boot" / f"vmlinuz-{self.release}"
            self.image.write_bytes(unpacked(packed.read_bytes()))
            looked_for.write_text(" ".join(names))

    def fetch_sources(self, archive: Archive) -> Path:
        """Fetches `SOURCES`, unless they are there: the folder that they are in.

        Raises NotThere if there is no package with the source of this release.
        """
        place = self.folder / "source"
        match = re.match(r"\d+\.\d+", self.release)
        if not match:
            raise NotThere(f"{self.release} names no release of the kernel")
        if not place.exists():
            name = f"linux-source-{match[0]}"
            with unfinished(self.cache) as making:
                content, ready = making / "content", making / "ready"
                run(["dpkg", "-x", archive.fetch(name, making), content])
                ready.mkdir()
                # It is large: no further than needed.
                run([
                    "tar", "--extract", "--xz", "--occurrence=1", "--strip-components=1",
                    "--file", content / f"usr/src/{name}.tar.xz", "--directory", ready,
                    *[f"{name}/{path}" for path in SOURCES],
                ])
                ready.rename(place)
        return place

    def build(self, sources: Path) -> None:
        """Builds the module in a folder.

        Raises NotThere with the last words of the compiler.
        """
        # Without descriptions of types, which need one more program and which nothing here reads.
        options = [f"ARCH={ARCH[self.architecture]}", "CONFIG_DEBUG_INFO_BTF_MODULES="]
        if self.architecture != machine():
            options.append(f"CROSS_COMPILE={CROSS[self.architecture]}")
        run(["make", "-C", self.headers, f"M={sources}", *options, "modules"])


def unpacked(image: bytes) -> bytes:
    """The kernel within an image for x86 that unpacks itself, if it is packed with xz; else the image, which boots
    as well (`Documentation/arch/x86/boot.rst`: setup_sects, payload_offset, payload_length).
    """
    (offset, length) = struct.unpack_from("<II", image, 0x248)
    start = ((image[0x1F1] or 4) + 1) * 512 + offset
    try:
        return lzma.LZMADecompressor().decompress(image[start : start + length])
    except lzma.LZMAError:
        return image


# Kernels: that which Debian's metapackage names, ordinary and with PREEMPT_RT, and the newest one in the lists.
KINDS = ["stock", "rt", "newest"]


def guest_kernel(architecture: str, kind: str = "stock") -> Kernel:
    """A kernel of one of the `KINDS`, with its headers."""
    cache = cache_folder()
    with locked(cache):
        archive = Archive(cache, architecture)
        if kind == "newest":
            package = archive.newest_headers()
        else:
            metapackage = f"linux-headers-{'rt-' if kind == 'rt' else ''}{architecture}"
            package = archive.depends(metapackage, "linux-headers-")[0]
        kernel = Kernel(package, architecture, cache)
        kernel.fetch_headers(archive)
    return kernel
