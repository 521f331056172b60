"""The page about the quorum says what there is: all mutants, and checks that exist."""

import re
import unittest

import mutants


class Page(unittest.TestCase):
    def test_the_table_is_that_of_the_mutants(self) -> None:
        text = mutants.PAGE.read_text()
        self.assertEqual(mutants.page(text, mutants.mutants()), text, "tools/mutants.py --page")

    def test_each_check_that_is_named_exists(self) -> None:
        tests = mutants.CRATE / "tests"
        named = set(re.findall(r"`((?:stories|sim|model)::[\w:]+)`", mutants.PAGE.read_text()))
        self.assertGreater(len(named), 20)
        for check in named:
            *modules, function = check.split("::")
            file = tests.joinpath(*modules)
            source = file.with_suffix(".rs") if not file.is_dir() else file / "mod.rs"
            test = rf"#\[test\]\n(#\[ignore = .*\]\n)?fn {function}\(\)"
            self.assertRegex(source.read_text(), test, check)

    def test_a_mutant_has_a_place_and_a_check(self) -> None:
        for row in mutants.mutants():
            with self.subTest(row.name):
                source = mutants.CRATE / "src" / row.file
                self.assertEqual(source.read_text().count(row.before), 1)
                self.assertTrue(row.killed_by)
