"""Whether what the project depends on may be used: licences, sources, known vulnerabilities.

The check itself is `make deny`. Here it must also find what it is there to find: a vulnerability in
a crate that is used, in a database made for the test.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from common import ROOT

ADVISORY = """```toml
[advisory]
id = "RUSTSEC-2099-0001"
package = "{package}"
date = "2025-01-01"
url = "https://example.com"
categories = ["memory-corruption"]

[versions]
patched = [">= 999.0.0"]
```

# It is broken

For a test.
"""


def deny(environment: dict[str, str], project: Path = ROOT) -> tuple[int, str, str]:
    """Runs the check: exit code, output and errors."""
    check = project / "tools/deny.sh"
    done = subprocess.run(check, capture_output=True, text=True, check=False, env=environment)
    return done.returncode, done.stdout, done.stderr


def measured() -> tuple[int, str]:
    """The same, where cargo-deny is there or can be built."""
    code, out, errors = deny(dict(os.environ))
    said = out + errors
    if "deny: not measured" in said:
        raise unittest.SkipTest(said.splitlines()[-1])
    return code, said


def database(folder: Path, package: str) -> Path:
    """A database with one advisory, as a git repository."""
    place = folder / "crates" / package
    place.mkdir(parents=True)
    (place / "RUSTSEC-2099-0001.md").write_text(ADVISORY.format(package=package))
    git = ["git", "-C", str(folder), "-c", "user.name=test", "-c", "user.email=test@example.com"]
    for command in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "one"]):
        subprocess.run(git + command, check=True)
    return folder


class Advisories(unittest.TestCase):
    def test_everything_that_is_used_may_be_used(self) -> None:
        """Licences, bans and sources always; advisories where the database can be had."""
        code, said = measured()
        self.assertEqual(code, 0, said)
        self.assertIn("bans ok, licenses ok, sources ok", said)
        if "not measured" in said:
            print(said.splitlines()[-1])
        else:
            self.assertIn("advisories ok", said)

    def test_a_vulnerability_of_a_crate_in_use_is_found_and_of_another_is_not(self) -> None:
        """With databases of one advisory each."""
        measured()
        for package, code in (("anyhow", 1), ("nobody-uses-this", 0)):
            with tempfile.TemporaryDirectory() as folder:
                advisories = {"QCYCLE_ADVISORIES": str(database(Path(folder), package))}
                ended, out, errors = deny(os.environ | advisories)
                self.assertEqual(ended, code, out + errors)
                self.assertEqual("RUSTSEC-2099-0001" in out + errors, code == 1, out + errors)

    def test_without_what_it_needs_it_says_that_nothing_was_measured(self) -> None:
        """As on a fresh machine without a network."""
        with tempfile.TemporaryDirectory() as folder:
            project = Path(folder) / "project"
            for name in ("tools/deny.sh", "tools/setup.sh", "tools/packages.txt", "deny.toml", "Cargo.toml"):
                (project / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, project / name)
            (Path(folder) / "cargo").write_text("#!/bin/sh\n[ $1 = --version ] && echo cargo 9999.0.0\n")
            (Path(folder) / "cargo").chmod(0o755)
            path = f"{folder}:/usr/bin:/bin:/usr/sbin:/sbin"
            code, out, errors = deny({"PATH": path, "HOME": folder}, project)
        self.assertEqual(code, 0, errors)
        self.assertIn("deny: not measured: cargo-deny", out)
        self.assertIn("could not be built", errors)
