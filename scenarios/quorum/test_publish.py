"""Tests of what the README shows of an evaluation."""

import tempfile
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

import cell as cells
import publish


def result(condition: str, protocol: str, **others: Any) -> Any:
    """A cell in virtual time of a hundred thousand actions."""
    times = {"count": 100_000, "min": 170.4, "mean": 351.6, "p99.9": 801.0, "max": 1044.4, "over": 0}
    cell = cells.Cell(protocol, condition, cells.VIRTUAL_TIME)._asdict()
    judged = {"met": True, "missed": [], "pace": {"tdf": 2.0}, "series": [[0, 1, 2]]}
    measured = {"host": "Linux 6.1, 2 cores", "on": "2026-11-28"}
    return cell | judged | {"published": times, "measured": measured} | others


class Published(unittest.TestCase):
    """What was measured stands in the table, and what was not below it."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        kept = mock.patch.object(publish, "KEPT", Path(folder.name) / "results")
        kept.start()
        self.addCleanup(kept.stop)

    def test_a_cell_stands_beside_what_was_published_of_it(self) -> None:
        publish.keep(result("byzantine", "peer", met=False, missed=["2 never came"]))
        publish.keep(result("fault-free", "arbiter"))
        found = publish.kept()
        self.assertEqual([one["condition"] for one in found], ["fault-free", "byzantine"])
        self.assertNotIn("series", found[0])
        table = publish.table(found)
        first = "|fault-free | arbiter | virtual (2 : 1) | 100,000 | 170 | 352 | 801 | 1044 | 794, 1665 | 0 | met|\n"
        self.assertIn(first, table)
        self.assertIn("| 2268, 3253; 2227, 3785; 1984, 4002 |", table)
        self.assertIn("missed: 2 never came", table)
        self.assertIn("Measured 2026-11-28 on Linux 6.1, 2 cores.\n", table)
        self.assertIn("Not measured yet: fault-free (peer), ", table)
        self.assertNotIn("byzantine (peer)", table)

    def test_a_later_run_of_a_cell_takes_the_place_of_the_first(self) -> None:
        publish.keep(result("fault-free", "arbiter"))
        publish.keep(result("fault-free", "arbiter", pace={"tdf": 1.5}))
        self.assertEqual([one["pace"]["tdf"] for one in publish.kept()], [1.5])

    def test_the_rest_of_the_readme_stays(self) -> None:
        text = f"before\n{publish.BEGIN}old\n{publish.END}after\n"
        drawn = publish.readme(text, [])
        self.assertTrue(drawn.startswith("before\n") and drawn.endswith(f"{publish.END}after\n"))
        self.assertNotIn("old", drawn)


class Readme(unittest.TestCase):
    """No figure in it is typed."""

    def test_its_table_is_that_of_the_results(self) -> None:
        text = publish.README.read_text(encoding="utf-8")
        self.assertEqual(text, publish.readme(text, publish.kept()))


if __name__ == "__main__":
    unittest.main()
