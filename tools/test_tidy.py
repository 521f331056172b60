"""A violation of each rule, planted in a small tree that is clean otherwise."""

import tempfile
import unittest
from pathlib import Path

import tidy

VTIME = '[package]\nname = "vtime"\n\n[dependencies]\n'
TESTBED = '[package]\nname = "testbed"\n\n[dependencies]\n'
LAYOUT = """# Architecture

```
README.md  Cargo.toml
crates/
  vtime/      time types
  network/    links
  testbed/    the testbed; run, report
    src/      its code
```
"""
CLEAN = {
    "ARCHITECTURE.md": LAYOUT,
    "README.md": "See [the layout](ARCHITECTURE.md#a) and [elsewhere](https://example.org/x).\n"
    "`[no](link)`\n\n```\n[no](link)\n```\n",
    "Cargo.toml": "",
    "crates/vtime/Cargo.toml": '[package]\nname = "vtime"\n\n[dev-dependencies]\nproptest = "1"\n',
    "crates/testbed/Cargo.toml": TESTBED + 'vtime = {}\nlibc = "0.2"\n',
    "crates/testbed/src/report/mod.rs": "//! No unsafe { } here, unshare( neither.\n"
    "#![forbid(unsafe_code)]\nuse crate::results::Folder; // as crate::run says\n",
    "crates/vtime/src/page.rs": "/// `struct page`\nstruct Page;\n/// The page of a clock.\n#[repr(C)]\npub struct Clock;\n",
    "crates/testbed/src/cli.rs": "#[derive(Args)]\nstruct X {\n    /// Rate in Hz\n    rate: u32,\n}\n",
    "crates/network/src/tap.rs": "unsafe { libc::ioctl(fd, libc::SIOCSIFFLAGS) };\n",
}

# Path, line, what is written there, a part of what the finding says.
PLANTED = [
    ("README.md", 1, "TODO: write this\n", "`TODO`"),
    ("crates/testbed/src/lib.rs", 2, "\ndbg!(x);\n", "`dbg!`"),
    ("crates/testbed/src/lib.rs", 1, "todo!()\n", "`todo!`"),
    ("crates/testbed/src/lib.rs", 1, "#[ignore]\n", "`#[ignore`"),
    ("Cargo.toml", 1, 'path = "/home/me/x"\n', "`/home/m`"),
    ("README.md", 1, "Run it in `/work/main`.\n", "`/work/`"),
    ("README.md", 1, "Data are in ../shared.\n", "`../shared`"),
    ("README.md", 1, "Fetched from pypi.org.\n", "`pypi.org`"),
    ("README.md", 1, "Mends issue 12.\n", "`issue 12`"),
    ("big.bin", 1, "x" * (tidy.FILE_OCTETS_MAX + 1), "octets"),
    ("crates/testbed/src/run.rs", 901, "\n" * (tidy.RUST_LINES_MAX + 1), "901 lines"),
    ("crates/vtime/Cargo.toml", 5, VTIME + 'libc = "1"\n', "libc"),
    ("crates/testbed/Cargo.toml", 5, TESTBED + "shim = {}\n", "shim"),
    ("crates/other/Cargo.toml", 1, '[package]\nname = "other"\n', "no rule"),
    ("crates/testbed/build.rs", 1, 'const BUILT_FROM = [\n    "shim",\n];\n', "runtime in BUILT_FROM"),
    ("crates/testbed/src/results.rs", 1, "use crate::report::Page;\n", "report, results"),
    ("crates/testbed/src/results.rs", 1, "use std::{\n    fs,\n};\nuse crate::{\n    exit,\n    report::{self, Page},\n};\n", "report, results"),
    ("crates/testbed/src/results.rs", 1, "\nlet x = crate::report::x();\n", "report, results"),
    ("crates/testbed/src/x.rs", 1, "\n" * (tidy.CRATE_LINES_MAX + 1), "lines in testbed"),
    ("crates/testbed/src/run/mod.rs", 1, "libc::unshare(flags);\n", "`unshare(`"),
    ("crates/testbed/src/run/mod.rs", 1, "libc::SIOCSIFADDR;\n", "`SIOCSIFADDR`"),
    ("crates/testbed/src/run/mod.rs", 1, 'Command::new("ip")\n', "Command::new"),
    ("crates/testbed/src/run/mod.rs", 3, "\n\nunsafe { x() };\n", "`unsafe {`"),
    ("crates/vtime/src/lib.rs", 1, "unsafe fn x() {}\n", "`unsafe fn`"),
    ("crates/vtime/src/lib.rs", 2, "\npub fn x() {}\n", "without docs"),
    ("crates/vtime/src/lib.rs", 1, "/// The page.\nstruct Page;\n", "`/// The page.`"),
    ("crates/testbed/src/lib.rs", 1, 'format!("{a:<26}{b}")\n', "`{a:<26}{`"),
    ("crates/testbed/src/cli.rs", 2, "\nprintln!();\n#[cfg(test)]\neprint!();\n", "`println!`"),
    ("docs/guide.md", 2, "\n[layout](ARCHITECTURE.md)\n", "no file ARCHITECTURE.md"),
    ("docs/guide.md", 1, "see `crates/testbed/src/report`, `report/gone.rs`\n", "report/gone.rs"),
    ("docs/guide.md", 1, "see `report/mod.rs`, `crates/gone/src`\n", "crates/gone/src"),
    ("docs/guide.md", 1, "[layout]: ../ARCHITEKTUR.md\n", "no file ../ARCHITEKTUR.md"),
    ("ARCHITECTURE.md", 9, LAYOUT.replace("    src/", "    source/"), "no crates/testbed/source/"),
    ("ARCHITECTURE.md", 4, LAYOUT.replace("README.md", "README.txt"), "no README.txt"),
    ("ARCHITECTURE.md", 4, LAYOUT.replace("  vtime/      time types\n", ""), "vtime/ is not"),
    ("ARCHITECTURE.md", 1, "# Architecture\n", "no layout"),
]


class Tidy(unittest.TestCase):
    """The rules find what they are for, where it is, and nothing else."""

    def findings(self, files: dict[str, str]) -> list[tidy.Finding]:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for path, text in files.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text)
            return tidy.check(tidy.Tree(root, sorted(files)))

    def test_a_clean_tree_has_no_findings(self):
        self.assertEqual(self.findings(CLEAN), [])

    def test_each_planted_violation_is_found(self):
        for path, line, text, says in PLANTED:
            with self.subTest(path=path, says=says):
                found = self.findings(CLEAN | {path: text})
                here = [f for f in found if (f.path, f.line) == (path, line) and says in f.what]
                self.assertEqual(len(here), 1, found)
                self.assertTrue(here[0].instead)

    def test_a_file_that_is_no_text_has_no_words(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "capture.pcap").write_bytes(b"\xa1\xb2TODO\xff")
            tree = tidy.Tree(Path(folder), ["capture.pcap"])
            self.assertEqual(list(tidy.words(tree)), [])
