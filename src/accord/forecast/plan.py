"""`plan`: what an agreement will cost, before it is run. Nothing is spent and nobody is called.

The plan follows from the agreement, the numbers of records and this machine; what it chooses may be written
into an agreement.
"""

from __future__ import annotations

from collections.abc import Sequence

from accord.agreement.document import Agreement
from accord.arguments import (
    require,
    require_share,
    require_text,
    wrong,
)
from accord.errors import UsageError
from accord.exact import Number
from accord.forecast.pace import measure_pace
from accord.network import Network
from accord.planning.choose import COVERED, Wanted
from accord.planning.figures import Plan
from accord.planning.plan import NETWORKS, PlanQuestion, agreed_network, make_plan
from accord.workers.choice import require_count
from accord.workers.resources import count_cores


def plan(  # noqa: PLR0913 — a public function: one keyword for each thing that may be said
    agreement: Agreement,
    *,
    records: Sequence[int] | None = None,
    overlap: float | None = None,
    network: str | None = None,
    recall: float | None = None,
    covered: Number | None = None,
    max_time: float | None = None,
    max_bytes: float | None = None,
    max_epsilon: float | None = None,
    workers: int | None = None,
) -> Plan:
    """Price every sensible way to run an agreement, and choose one.

    `records` are those of A and of B, which are needed unless the agreement expects some. `overlap` is the
    share of the smaller table that is expected to match something, 0.3 by default. `network` is "lan", "wan",
    or Mbit/s and the round trip in ms, as in "100/20"; by default the agreed one.

    The choice finds `recall` of all matches, by default as many as the agreement. Its promise is expected to
    hold for a share `covered` of the records on either side, 0.995 by default: that of `routed` does not hold
    for a record that shares a key with too many others. It takes no more seconds, bytes and ε than named, by
    default the agreed ε and at most a day. Of these options it is the quickest with ε = 0 if that takes ten
    minutes or less, or `max_time`, and else the quickest.

    With `workers` the time is for that many processes per side, but no more than this machine has cores; the
    partner is assumed to have as many. Without it, it is the time of one.
    """
    require("agreement", agreement, "an Agreement, such as accord.read_agreement(PATH) gives", Agreement)
    wish = Wanted(
        recall=None if recall is None else _number("recall", recall),
        max_time=_positive("max_time", max_time),
        max_bytes=_positive("max_bytes", max_bytes),
        max_epsilon=_epsilon(max_epsilon),
        covered=COVERED if covered is None else float(require_share("covered", covered)),
    )
    between = agreed_network(agreement) if network is None else read_network(network)
    share = None if overlap is None else _number("overlap", overlap)
    named = read_sizes(agreement, records)
    require_count(workers)
    processes = min(workers or 1, count_cores())
    if named is None:
        raise UsageError(problem="Say how many records A and B have: `records=`.")
    return make_plan(agreement, PlanQuestion(named, between, share, wish, processes, measure_pace()))


def read_sizes(agreement: Agreement, records: Sequence[int] | None) -> tuple[int, int] | None:
    """The sizes of A and B, as they are named or agreed; None where they are not."""
    if records is None:
        return None if agreement.expected is None else (agreement.expected.A, agreement.expected.B)
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


def _epsilon(given: object) -> float | None:
    found = None if given is None else _number("max_epsilon", given)
    if found is not None and not found >= 0:
        raise UsageError(problem="`max_epsilon=` is a number of 0 or more.")
    return found


def _positive(argument: str, given: object) -> float | None:
    if given is None:
        return None
    found = _number(argument, given)
    if not 0 < found < float("inf"):
        raise UsageError(problem=f"`{argument}=` is a number above 0.")
    return found
