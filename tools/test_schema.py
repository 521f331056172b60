"""The JSON Schema of scenarios, by a validator that others wrote: what the reader takes passes, and
what is wrong by itself is caught.

The bad scenarios are those of the reader's own test, where each line tells one problem. Of some
files every problem is one that no schema can see: a name that refers to nothing, two that are
alike, what a file holds. Those are listed with the reason; every other bad scenario must be caught.
"""

import json
import unittest
from pathlib import Path

import jsonschema
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

ROOT = Path(__file__).resolve().parent.parent
BAD = ROOT / "crates/scenario/tests/bad-scenarios"
SCHEMA = json.loads((ROOT / "docs/reference/scenario.schema.json").read_text())

# Bad scenario -> why no schema catches it.
READER_ONLY = {
    "duplicate-keys": "no value of JSON has a key twice",
    "files": "files that are not there, or hold something else",
    "free": "how many hosts there are, and how time passes",
    "hosts-without-delay": "which hosts the ends of a link are on",
    "links": "what links join",
    "lone-host": "how many hosts there are",
    "no-hosts": "hosts that nodes name",
    "no-captures": "measures against the captures that are kept",
    "no-plant": "points without a plant",
    "not-in-a-scenario": "tags, aliases and documents, which are gone once YAML is read",
    "signal-bus-alone": "how many hosts there are, and which lines are the same",
    "syntax": "it is no YAML",
    "tabs": "it is no YAML",
    "unconnected": "which nodes are joined",
    "empty": "nothing is no value of JSON either",
}

# What is wrong with a name -> a scenario with it, besides which nothing is wrong.
GOOD = {"scenario": "a", "duration": "1 s"}
NAMES = {
    "a scenario": {"scenario": "my scenario"},
    "a variant": {"variants": {"a/b": None}},
    "a long node": {"nodes": {"a-name-that-is-too-long": {}}},
    "a node": {"nodes": {"_x": {}}},
    "a switch": {"switches": ["s.1"]},
    "an empty switch": {"switches": [""]},
    "an attacker": {"attackers": ["-a"]},
    "an end of a link": {"links": [{"from": "a b", "to": "c"}]},
    "a victim": {"events": [{"at": "0 s", "attack": "arp-poison", "by": "m", "between": ["a", "b!"]}]},
    "a program": {"nodes": {"a": {"programs": [{"name": "a b", "run": "x"}]}}},
    "a variable": {
        "nodes": {"a": {"programs": [{"name": "p", "run": "x", "environment": {"1X": "y"}}]}}
    },
    "a voltage": {"plant": {"circuit": "c", "record": {"every": "1 ms", "points": ["bus.680.v4"]}}},
    "a power of a bus": {
        "plant": {"circuit": "c", "record": {"every": "1 ms", "points": ["BUS.680.kW"]}}
    },
    "an address": {"nodes": {"a": {"address": "10.0.0.256/24"}}},
    "a prefix": {"nodes": {"a": {"address": "10.0.0.1/31"}}},
}


def read(path: Path):
    """A scenario as an editor reads it: YAML 1.2, moments left as text."""
    yaml = YAML(typ="safe", pure=True)
    yaml.constructor.add_constructor(
        "tag:yaml.org,2002:timestamp", lambda constructor, node: constructor.construct_scalar(node)
    )
    return yaml.load(path)


def faults(value) -> list[str]:
    """What the schema says against a scenario."""
    validator = jsonschema.Draft202012Validator(SCHEMA)
    return [f"{list(e.absolute_path)}: {e.message}" for e in validator.iter_errors(value)]


class Schema(unittest.TestCase):
    def test_it_is_a_schema(self):
        jsonschema.Draft202012Validator.check_schema(SCHEMA)

    def test_every_good_scenario_passes(self):
        found = [*(ROOT / "scenarios").rglob("scenario.yaml")]
        self.assertGreaterEqual(len(found), 2)
        for path in found:
            with self.subTest(path=path):
                self.assertEqual(faults(read(path)), [])
        self.assertEqual(faults(GOOD), [])

    def test_every_bad_scenario_is_caught_that_can_be(self):
        names = {path.stem for path in BAD.glob("*.yaml")}
        self.assertGreaterEqual(len(names), 20)
        self.assertEqual(set(READER_ONLY) - names, set(), "exceptions of files that are gone")
        for name in sorted(names - set(READER_ONLY)):
            with self.subTest(name=name):
                self.assertNotEqual(faults(read(BAD / f"{name}.yaml")), [])

    def test_no_exception_is_one_for_nothing(self):
        for name, why in READER_ONLY.items():
            with self.subTest(name=name, why=why):
                try:
                    said = faults(read(BAD / f"{name}.yaml"))
                except YAMLError:
                    continue
                self.assertTrue(said == [] or name == "empty", said)

    def test_each_bad_name_is_caught_by_itself(self):
        for what, part in NAMES.items():
            with self.subTest(what=what):
                self.assertNotEqual(faults({**GOOD, **part}), [])

    def test_names_of_digits_pass(self):
        self.assertEqual(faults({**GOOD, "switches": [7], "nodes": {"a1": {}}}), [])
        bounds = {"at_least": "3 A", "at_most": "4 kA"}
        measure = {"maximum": "line.l.i1"}
        demand = [{"name": "the current", "measure": measure, **bounds}]
        self.assertEqual(faults({**GOOD, "requirements": demand}), [])
