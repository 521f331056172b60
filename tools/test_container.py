"""Tests of tools/container.py: a program in a bundle has its rights and no others."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import container

# Prints its rights, what came of asking for SCHED_FIFO and for a raw socket, and its arguments.
PROBE = r"""
#include <arpa/inet.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
int main(int argc, char **argv) {
    char line[200];
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status))
        if (!strncmp(line, "CapEff", 6) || !strncmp(line, "Cpus_allowed_list", 17))
            fputs(line, stdout);
    struct sched_param priority = { .sched_priority = 10 };
    printf("fifo %d\n", sched_setscheduler(0, SCHED_FIFO, &priority));
    printf("raw %d\n", socket(AF_PACKET, SOCK_RAW, 0) >= 0);
    printf("locked %d\n", mlockall(MCL_CURRENT));
    printf("written %d\n", fopen("/new", "w") != NULL);
    printf("arguments %d %s\n", argc, argc > 1 ? argv[1] : "");
}
"""
# The bits of CAP_NET_RAW, CAP_IPC_LOCK and CAP_SYS_NICE.
RIGHTS = 1 << 13 | 1 << 14 | 1 << 23


def run(command: list[str | Path]) -> subprocess.CompletedProcess[str]:
    """Runs a command and keeps what it says."""
    return subprocess.run(command, capture_output=True, text=True, check=False)


class Bundles(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def probe(self, *options: str) -> Path:
        source, binary = self.folder / "probe.c", self.folder / "probe"
        source.write_text(PROBE, encoding="utf-8")
        subprocess.run(["cc", *options, "-o", binary, source], check=True)
        return binary

    def test_a_program_that_needs_a_loader_is_told_apart(self) -> None:
        self.assertTrue(container.is_static(self.probe("-static")))
        self.assertFalse(container.is_static(self.probe()))
        self.assertFalse(container.is_static(self.folder / "probe.c"))

    def test_rights_are_those_of_a_relay_and_the_share_is_there_where_it_is_needed(self) -> None:
        whole = container.config("qcrelay", ["run"], "1", real_time_share=True)
        for rights in whole["process"]["capabilities"].values():
            self.assertEqual(rights, ["CAP_NET_RAW", "CAP_SYS_NICE", "CAP_IPC_LOCK"])
        cpu = whole["linux"]["resources"]["cpu"]
        self.assertEqual((cpu["cpus"], cpu["realtimePeriod"]), ("1", 1_000_000))
        self.assertLess(2 * cpu["realtimeRuntime"], 950_000, "two of them fit")
        whole = container.config("qcrelay", ["run"], "1", real_time_share=False)
        self.assertEqual(whole["linux"]["resources"]["cpu"], {"cpus": "1"})

    def test_a_contained_program_may_what_it_must(self) -> None:
        if shutil.which("runc") is None or os.geteuid() != 0:
            self.skipTest("not measured: needs root and runc")
        container.make(self.probe("-static"), self.folder, "0", ["hello"])
        root = sorted(path.name for path in (self.folder / "rootfs").iterdir())
        self.assertEqual(root, ["dev", "probe", "proc", "settings"])
        name = f"probe-{os.getpid()}"
        command: list[str | Path] = ["runc", "run", "--bundle", self.folder, name]
        told = run(command)
        if told.returncode != 0:
            # Where the root is an initramfs, pivot_root(2) is refused.
            told = run([*command[:2], "--no-pivot", *command[2:]])
        if told.returncode != 0:
            self.skipTest(f"not measured: runc does not run here: {told.stderr.strip()}")
        lines = dict(line.replace(":", " ").split(maxsplit=1) for line in told.stdout.splitlines())
        self.assertEqual(int(lines["CapEff"], 16), RIGHTS)
        self.assertEqual(lines["Cpus_allowed_list"], "0")
        self.assertEqual((lines["raw"], lines["locked"], lines["written"]), ("1", "0", "0"))
        self.assertEqual(lines["arguments"], "2 hello")
        self.assertEqual(lines["fifo"], "0")
