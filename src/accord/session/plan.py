"""`plan`: what an agreement will cost, before it is run. Nothing is spent and nobody is called.

With the numbers of records alone the plan follows from the agreement and this machine; what it chooses may be
written into an agreement. With one's own table it follows from that, too, and is for its owner's eyes.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from accord.agreement.document import Agreement
from accord.arguments import as_path_or_none, require, require_text, wrong
from accord.errors import UsageError
from accord.network import Network
from accord.planning.choose import Wish
from accord.planning.figures import Plan
from accord.planning.plan import NETWORKS, OVERLAP, Question, make_plan
from accord.session.speed import Speedometer
from accord.session.state import state_folder


def plan(
    agreement: Agreement,
    *,
    records: Sequence[int] | None = None,
    overlap: float = OVERLAP,
    network: str = "wan",
    recall: float = 1.0,
    max_time: float | None = None,
    max_bytes: float | None = None,
    max_epsilon: float | None = None,
    state: Path | str | None = None,
) -> Plan:
    """Price every sensible way to run an agreement, and choose.

    `records` are those of A and of B. `overlap` is the share of the smaller table that is expected to match.
    `network` is "lan", "wan", or Mbit/s and the round trip in ms, as in "100/20". The choice is the cheapest
    that finds `recall` of all matches, within seconds, bytes and ε as named; by default the agreed ε. How
    fast this machine is, is measured once and kept in the folder `state`.
    """
    require("agreement", agreement, "an Agreement, such as accord.read_agreement(PATH) gives", Agreement)
    wish = Wish(
        _number("recall", recall),
        _positive("max_time", max_time),
        _positive("max_bytes", max_bytes),
        None if max_epsilon is None else _number("max_epsilon", max_epsilon),
    )
    folder = state_folder(as_path_or_none("state", state), os.environ)
    question = Question(read_sizes(records), read_network(network), _number("overlap", overlap), wish)
    return make_plan(agreement, question, Speedometer(folder))


def read_sizes(records: Sequence[int] | None) -> tuple[int, int]:
    """The sizes of A and B."""
    if records is None:
        raise UsageError(problem="Say how many records A and B have: `records=`.")
    expected = "two whole numbers, the records of A and of B"
    require("records", records, expected, list, tuple)
    if len(records) != 2 or any(isinstance(n, bool) or not isinstance(n, int) for n in records):
        raise wrong("records", records, expected)
    return records[0], records[1]


def read_network(name: str) -> Network:
    """A network by its name or its numbers."""
    require_text("network", name, "wan")
    return NETWORKS[name] if name in NETWORKS else Network.parse(name)


def _number(argument: str, given: object) -> float:
    require(argument, given, "a number", int, float)
    assert isinstance(given, int | float)
    return float(given)


def _positive(argument: str, given: object) -> float | None:
    if given is None:
        return None
    found = _number(argument, given)
    if not 0 < found < float("inf"):
        raise UsageError(problem=f"`{argument}=` is a number above 0.")
    return found
