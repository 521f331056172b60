"""The driver of QEMU's GPIO device, which Debian's kernels do not have (`CONFIG_GPIO_VIRTIO is not set`).

It is built from Debian's source of the same kernel and changed in one place, when it is built: QEMU 7.2 never
tells a guest that the device has interrupts, so the driver must not ask.
"""

from pathlib import Path

import packages

MAKEFILE = "obj-m := gpio-virtio.o\n"
ASKS = "if (virtio_has_feature(vdev, VIRTIO_GPIO_F_IRQ)) {"


def module(kernel: packages.Kernel) -> Path:
    """The driver for a kernel, from the cache if it is there.

    Raises packages.NotThere if it cannot be had.
    """
    place = kernel.folder / "gpio-virtio"
    with packages.locked(kernel.cache):
        if not place.exists():
            source = kernel.fetch_sources(packages.Archive(kernel.cache, packages.machine()))
            with packages.unfinished(kernel.cache) as making:
                build(kernel, source / "drivers/gpio/gpio-virtio.c", making).rename(place)
    return place / "gpio-virtio.ko"


def build(kernel: packages.Kernel, driver: Path, making: Path) -> Path:
    """Builds it: a folder with the module."""
    folder = making / "gpio-virtio"
    folder.mkdir()
    text = driver.read_text()
    if text.count(ASKS) != 1:
        raise packages.NotThere("the driver of this kernel asks for interrupts in another way")
    (folder / "gpio-virtio.c").write_text(text.replace(ASKS, "{"))
    (folder / "Makefile").write_text(MAKEFILE)
    kernel.build(folder)
    return folder
