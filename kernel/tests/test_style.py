"""The module is in the kernel's own style: its checkpatch finds nothing."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import build
import packages

# What a module outside of the kernel's tree cannot do without, in the one file that is for it.
COMPAT = ["--ignore", "LINUX_VERSION_CODE,CONSTANT_COMPARISON"]


class Style(unittest.TestCase):
    def test_checkpatch_finds_nothing(self) -> None:
        try:
            kernel = packages.guest_kernel("amd64")
            with packages.locked(kernel.cache):
                source = kernel.fetch_sources(packages.Archive(kernel.cache, "amd64"))
            packages.run(["perl", "--version"])
        except packages.NotThere as error:
            print(f"not measured: {error}")
            self.skipTest(f"not measured: {error}")
        files = sorted(path for path in build.SOURCES.rglob("*") if path.suffix in (".c", ".h"))
        self.assertGreater(len(files), 10)
        for path in files:
            options = COMPAT if path.name == "compat.h" else []
            command = ["perl", source / "scripts/checkpatch.pl", "--no-tree", "--strict", "--terse", *options]
            with self.subTest(file=path.name):
                # It ends with an error if it finds something.
                try:
                    packages.run([*command, "--no-summary", "--file", path])
                except packages.NotThere as found:
                    self.fail(str(found))


if __name__ == "__main__":
    unittest.main()
