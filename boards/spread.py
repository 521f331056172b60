"""A scenario of one host, as one over boards: its text with `hosts`, and a `host` for each node."""

import re
from collections.abc import Callable


class NotSpread(Exception):
    """A scenario that is written in another way than this understands; the message says which."""


def names_of_nodes(text: str) -> list[str]:
    """The nodes of a scenario: the keys of its block `nodes`, one a line.

    Raises NotSpread if there are none, or if some have a host already.
    """
    block = re.search(r"(?m)^nodes:\n((?:[ #].*\n|\n)*)", text)
    if not block:
        raise NotSpread("there is no block `nodes`")
    names = re.findall(r"(?m)^  ([\w-]+):\n", block[1])
    if not names or re.search(r"(?m)^hosts:|^    host:", text):
        raise NotSpread("its nodes are not one a line, or have hosts already")
    return names


def with_settle(text: str, settle: str) -> str:
    """The scenario with another time before its time 0."""
    without = re.sub(r"(?m)^settle:.*\n", "", text)
    return without.replace("\nnodes:\n", f"\nsettle: {settle}\nnodes:\n", 1)


def spread(text: str, count: int, sync: str, hosts: Callable[[int], str]) -> tuple[str, int]:
    """The scenario with one node after the other on one board after the other, and how many boards that are.

    `hosts` writes the block for so many boards.
    """
    names = names_of_nodes(text)
    used = min(count, len(names))
    for at, name in enumerate(names):
        text = re.sub(rf"(?m)^  {name}:\n", f"  {name}:\n    host: board{at % used + 1}\n", text, count=1)
    if used < 2:
        # One board has one time anyway.
        sync = "granted"
    return text.replace("\nnodes:\n", f"\nsync: {sync}\n{hosts(used)}\nnodes:\n", 1), used
