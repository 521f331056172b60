"""Judges schemas and settings, by a validator that others wrote.

Usage: judge_schemas.py FILE, which has a list of {kind, schema, texts}.
"""

import json
import sys
from pathlib import Path

import jsonschema
from ruamel.yaml import YAML


def value_of(text: str) -> object:
    """YAML 1.2 as JSON has it: names are texts, whatever they look like."""
    return json.loads(json.dumps(YAML(typ="safe", pure=True).load(text)))


def main() -> int:
    wrong = []
    for judged in json.loads(Path(sys.argv[1]).read_text()):
        jsonschema.Draft202012Validator.check_schema(judged["schema"])
        validator = jsonschema.Draft202012Validator(judged["schema"])
        for text in judged["texts"]:
            value = value_of(text)
            for error in validator.iter_errors(value):
                wrong.append(f"{judged['kind']}: {list(error.absolute_path)}: {error.message}")
            if validator.is_valid({**value, "unheard": "of"}):
                wrong.append(f"{judged['kind']}: a key that nobody knows passes")
    print("\n".join(wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
