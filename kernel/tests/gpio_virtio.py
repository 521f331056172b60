"""The driver of QEMU's GPIO device, which Debian's kernels do not have (`CONFIG_GPIO_VIRTIO is not set`).

It is built from Debian's source of the same kernel and changed in one place, when it is built: QEMU 7.2 never
tells a guest that the device has interrupts, so the driver must not ask.
"""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import packages

SOURCES = ["*/drivers/gpio/gpio-virtio.c"]
MAKEFILE = "obj-m := gpio-virtio.o\n"
ASKS = "if (virtio_has_feature(vdev, VIRTIO_GPIO_F_IRQ)) {"


def module(kernel: packages.Kernel) -> Path:
    """The driver for a kernel, from the cache if it is there.

    Raises packages.NotThere if it cannot be had.
    """
    place = kernel.folder / "gpio-virtio"
    with packages.locked(kernel.cache):
        if not place.exists():
            with packages.unfinished(kernel.cache) as making:
                build(kernel, making).rename(place)
    return place / "gpio-virtio.ko"


def build(kernel: packages.Kernel, making: Path) -> Path:
    """Builds it: a folder with the module."""
    match = re.match(r"\d+\.\d+", kernel.release)
    if not match:
        raise packages.NotThere(f"{kernel.release} names no release of the kernel")
    archive = packages.Archive(kernel.cache, packages.machine())
    source = f"linux-source-{match[0]}"
    content, folder = making / "content", making / "gpio-virtio"
    packages.run(["dpkg", "-x", archive.fetch(source, making), content])
    folder.mkdir()
    packed = content / f"usr/src/{source}.tar.xz"
    # It is large: no further than needed.
    packages.run([
        "tar", "--extract", "--xz", "--occurrence=1", "--wildcards", "--strip-components=3",
        "--file", packed, "--directory", folder, *SOURCES,
    ])
    driver = folder / "gpio-virtio.c"
    text = driver.read_text()
    if text.count(ASKS) != 1:
        raise packages.NotThere(f"the driver in {source} asks for interrupts in another way")
    driver.write_text(text.replace(ASKS, "{"))
    (folder / "Makefile").write_text(MAKEFILE)
    kernel.build(folder)
    return folder
