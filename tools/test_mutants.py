"""The pages say what there is: all mutants, and checks that exist."""

import re
import unittest

import mutants


class Pages(unittest.TestCase):
    def test_the_table_is_that_of_the_mutants(self) -> None:
        for crate in mutants.CRATES:
            text = crate.page.read_text()
            written = mutants.page(text, mutants.mutants(crate))
            self.assertEqual(written, text, "run tools/mutants.py --page")

    def test_each_check_that_is_named_exists(self) -> None:
        for crate, modules, least in zip(
            mutants.CRATES, ["stories|sim|model", "grants|holds"], [21, 5], strict=True
        ):
            tests = crate.folder / "tests"
            named = set(re.findall(rf"`((?:{modules})::[\w:]+)`", crate.page.read_text()))
            self.assertGreaterEqual(len(named), least)
            for check in named:
                *modules_of, function = check.split("::")
                file = tests.joinpath(*modules_of)
                source = file.with_suffix(".rs") if not file.is_dir() else file / "mod.rs"
                test = rf"#\[test\]\n(#\[ignore = .*\]\n)?fn {function}\(\)"
                self.assertRegex(source.read_text(), test, check)

    def test_a_mutant_has_a_place_and_a_check(self) -> None:
        for crate in mutants.CRATES:
            for row in mutants.mutants(crate):
                with self.subTest(row.name):
                    source = crate.folder / "src" / row.file
                    self.assertEqual(source.read_text().count(row.before), 1)
                    self.assertTrue(row.killed_by)

    def test_what_makes_messages_of_types_is_no_part_of_the_core(self) -> None:
        text = "use serde::Serialize;\nuse vtime::X;\n#[derive(Debug, Serialize, Deserialize)]\n"
        text += '    #[serde(with = "ns")]\n    x: X,\n'
        self.assertEqual(
            mutants.without_messages(text), "use vtime::X;\n#[derive(Debug)]\n    x: X,\n"
        )


if __name__ == "__main__":
    unittest.main()
