"""Programs of Debian 12 and Debian 13, which is newer than most machines: do they run as natively?

Each case runs natively, in `qcycle exec`, and in a shell that is attached to. What it prints and how it
ends must be the same, or it must be refused in exactly one line. The cases are those that sandboxes,
newer C libraries and debuggers make hard.

QCYCLE_DEBIAN (default "bookworm trixie") names the releases.
"""

from __future__ import annotations

import os
import re
import unittest
from dataclasses import dataclass
from pathlib import Path

import debian

RELEASES = os.environ.get("QCYCLE_DEBIAN", "bookworm trixie").split()
PACKAGES = ["python3", "make", "openssh-server", "openssh-client", "chrony", "gdb", "strace"]
PACKAGES += ["valgrind", "iproute2", "procps"]
# The largest one, in the newest release only.
BROWSER = {"trixie": ["chromium"]}
SECONDS = 180


@dataclass(frozen=True)
class Case:
    """A shell script; whether it is refused in virtual time, and whether an ordinary user runs it."""

    script: str
    refused: str = ""
    ordinary: bool = False


CASES = {
    "python-subprocess": Case(
        "python3 -c \"import subprocess as s; print(s.run(['echo', 'run'], capture_output=True)); "
        "print(s.check_output('echo shell', shell=True, start_new_session=True))\""
    ),
    "python-spawn": Case(
        "python3 -c \"import os; pid = os.posix_spawn('/bin/echo', ['echo', 'spawned'], {}); "
        "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])); "
        "print(os.popen('echo popen').read()); print(os.system('exit 7'))\""
    ),
    "system-and-popen-of-the-c-library": Case(
        "awk 'BEGIN { print system(\"echo system; exit 3\"); \"echo popen\" | getline x; print x; "
        'print "to cat" | "cat" }\''
    ),
    "make": Case(
        "cd /tmp && printf 'all: a b\\n\\t@echo $(shell echo all)\\na b:\\n\\t@sleep 0.1; echo made\\n'"
        " > Makefile && make -j2"
    ),
    "sshd-login": Case(
        "mkdir -p /run/sshd /tmp/ssh && ssh-keygen -q -t ed25519 -N '' -f /tmp/ssh/key && "
        "cp /tmp/ssh/key.pub /tmp/ssh/allowed && ssh-keygen -q -t ed25519 -N '' -f /tmp/ssh/host; "
        "/usr/sbin/sshd -D -e -f /dev/null -p 2222 -h /tmp/ssh/host -o StrictModes=no "
        "-o AuthorizedKeysFile=/tmp/ssh/allowed -o PidFile=none -o UsePAM=no 2>/tmp/ssh/log & "
        "server=$!; ok=1; for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.3; "
        "ssh -F /dev/null -p 2222 -i /tmp/ssh/key -o BatchMode=yes -o StrictHostKeyChecking=no "
        "-o UserKnownHostsFile=/dev/null -o LogLevel=ERROR root@127.0.0.1 'echo logged in; exit 5'; "
        "ok=$?; [ $ok = 255 ] || break; done 2>/tmp/ssh/errors; kill $server; wait $server; "
        "[ $ok = 5 ] || cat /tmp/ssh/log /tmp/ssh/errors >&2; exit $ok"
    ),
    "chronyd-with-its-filter": Case(
        "printf 'local stratum 8\\nport 0\\ncmdport 323\\nbindcmdaddress 127.0.0.1\\n"
        "bindcmdaddress /run/chronyd.sock\\npidfile /run/chronyd.pid\\n' > /tmp/chrony.conf; "
        "chronyd -F 1 -x -d -f /tmp/chrony.conf >/tmp/chrony.log 2>&1 & server=$!; "
        "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.3; "
        "chronyc -n -h 127.0.0.1 tracking >/tmp/tracking 2>&1 && break; done; "
        "grep -E '^(Stratum|Leap)' /tmp/tracking || cat /tmp/chrony.log >&2; "
        "grep -E '^Seccomp' /proc/$server/status >/tmp/mode; "
        "kill $server; wait $server; echo ended $?"
    ),
    "chromium-with-its-sandbox": Case(
        "export HOME=/tmp/home; mkdir -p $HOME; chromium --headless --disable-gpu "
        "--disable-dev-shm-usage --user-data-dir=/tmp/home/data --dump-dom "
        "'data:text/html,<p id=p></p><script>p.textContent = 6 * 7</script>' 2>/tmp/home/log; "
        "code=$?; [ $code = 0 ] || tail -n 20 /tmp/home/log >&2; exit $code",
        ordinary=True,
    ),
    "gdb-attach": Case(
        "sleep 100 & sleep 0.3; gdb -nx -batch -ex 'handle SIGSYS nostop noprint pass' "
        "-ex 'print 6 * 7' -ex detach -p $! 2>/dev/null | grep '^.1 = '; kill $!"
    ),
    "gdb-run": Case(
        "gdb -nx -batch -ex run /bin/true 2>&1 | grep -c 'exited normally'", refused="gdb"
    ),
    "strace": Case("strace -f -o /dev/null /bin/true; echo $?", refused="/bin/true"),
    "valgrind": Case("valgrind -q /bin/true; echo $?", refused="valgrind"),
}

ATTACH = """
mkfifo /tmp/go
exec 3<>/tmp/go
sh -c 'read go <&3; exec 3<&-; eval "$1"' sh "$1" &
program=$!
/opt/qcycle attach --name attached $program 3<&- >&2 &
until /opt/qcycle ps 2>/dev/null | grep -q attached; do sleep 0.1; done
echo go >&3
wait $program
code=$?
wait
exit $code
"""


def command(way: str, case: Case) -> list[str]:
    """What runs a case in one of the three ways."""
    shell = {
        "natively": ["sh", "-c", case.script],
        "exec": ["/opt/qcycle", "exec", "--", "sh", "-c", case.script],
        "attach": ["sh", "-c", ATTACH, "attach", case.script],
    }[way]
    home = ["env", "XDG_RUNTIME_DIR=/tmp"]
    user = ["setpriv", "--reuid=1000", "--regid=1000", "--clear-groups"]
    return [*(user if case.ordinary else []), *home, *shell]


@unittest.skipIf(debian.missing(), debian.missing())
class Programs(unittest.TestCase):
    """Whether they run as natively, or are refused in one line."""

    def test_programs_of_distributions(self) -> None:
        for release in RELEASES:
            system = debian.make(release, PACKAGES + BROWSER.get(release, []))
            for name, case in CASES.items():
                if name.startswith("chromium") and release not in BROWSER:
                    continue
                with self.subTest(release=release, case=name):
                    self.compare(system, case)

    def compare(self, system: Path, case: Case) -> None:
        """One case in all ways."""
        native = debian.run(system, command("natively", case), SECONDS)
        self.assertTrue(native.stdout, native.stderr)
        for way in ["exec", "attach"]:
            with self.subTest(way=way):
                ended = debian.run(system, command(way, case), SECONDS)
                refusals = re.findall(r"^qcycle: refused .*$", ended.stderr, re.MULTILINE)
                self.assertNotEqual(ended.returncode, -9, f"it did not end: {ended}")
                if case.refused:
                    self.assertEqual(len(refusals), 1, ended)
                    self.assertIn(case.refused, refusals[0])
                else:
                    self.assertEqual(native.stdout, ended.stdout, ended)
                    self.assertEqual(native.returncode, ended.returncode, ended)
                    self.assertEqual(refusals, [], ended)
