"""`plan`: what an agreement will cost, before it is run. Nothing is spent and nobody is called.

With the numbers of records alone the plan follows from the agreement and this machine; what it chooses may be
written into an agreement. With one's own table it follows from that, too, and is for its owner's eyes.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow as pa

from accord.agreement.document import Agreement
from accord.arguments import (
    as_path_or_none,
    require,
    require_share,
    require_text,
    require_text_or_none,
    wrong,
)
from accord.errors import AccountError, DataError, Fault, UsageError
from accord.exact import Number
from accord.fields.columns import Records
from accord.fields.load import load_records
from accord.fields.own_cells import read_settled
from accord.fields.schema import agreed_columns
from accord.forecast.pace import measure_pace
from accord.network import Network
from accord.planning.choose import COVERED, Wanted
from accord.planning.figures import Plan, Warning
from accord.planning.plan import NETWORKS, Own, PlanQuestion, agreed_network, make_plan
from accord.planning.recall import with_errors
from accord.side import Side
from accord.state.accounts import account
from accord.state.folder import State, state_folder
from accord.state.ledger import Ledger
from accord.table.layout import Layout
from accord.table.sources.opening import TableLike, require_table
from accord.workers.choice import require_count
from accord.workers.resources import count_cores

_MOST_BATCHES = 16
"""Of rows that errors are made up for."""


def plan(  # noqa: PLR0913 — a public function: one keyword for each thing that may be said
    agreement: Agreement,
    data: TableLike | None = None,
    *,
    party: str | None = None,
    records: Sequence[int] | None = None,
    layout: Layout | None = None,
    overlap: float | None = None,
    network: str | None = None,
    recall: float | None = None,
    covered: Number | None = None,
    max_time: float | None = None,
    max_bytes: float | None = None,
    max_epsilon: float | None = None,
    dataset: str | None = None,
    state: Path | str | None = None,
    workers: int | None = None,
) -> Plan:
    """Price every sensible way to run an agreement, and choose one.

    With `data`, your own table as the `party` of that name, the plan is made from how it falls into bins, for
    a similar partner; it is for your eyes only. `records` are those of A and of B: without data they are
    needed, unless the agreement expects some; with data your number is that of the table, and the
    partner's is assumed to be the same unless it is named. `layout` says how the file is laid out.

    `overlap` is the share of the smaller table that is expected to match something, 0.3 by default.
    `network` is "lan", "wan", or Mbit/s and the round trip in ms, as in "100/20"; by default the agreed one.

    The choice finds `recall` of all matches, by default as many as the agreement. Its promise is expected to
    hold for a share `covered` of the records on either side, 0.995 by default: that of `routed` does not hold
    for a record that shares a key with too many others. It takes no more seconds, bytes and ε than named, by
    default the agreed ε and at most a day. Of these options it is the quickest with ε = 0 if that takes ten
    minutes or less, or `max_time`, and else the quickest.

    With data, the account `dataset` that is kept in the folder `state` is asked whether it would allow the
    agreed run. With `workers` the time is for that
    many processes per side, but no more than this machine has cores; the partner is assumed to have as many.
    Without it, it is the time of one.
    """
    _require_kinds(agreement, data, party, layout, dataset)
    wish = Wanted(
        recall=None if recall is None else _number("recall", recall),
        max_time=_positive("max_time", max_time),
        max_bytes=_positive("max_bytes", max_bytes),
        max_epsilon=_epsilon(max_epsilon),
        covered=COVERED if covered is None else float(require_share("covered", covered)),
    )
    folder = state_folder(as_path_or_none("state", state), os.environ)
    between = agreed_network(agreement) if network is None else read_network(network)
    share = None if overlap is None else _number("overlap", overlap)
    named = read_sizes(agreement, records)
    require_count(workers)
    processes = min(workers or 1, count_cores())
    if data is None:
        if named is None:
            raise UsageError(problem="Say how many records A and B have: `records=`.")
        return make_plan(agreement, PlanQuestion(named, between, share, wish, processes, measure_pace()))
    own = read_own(agreement, data, party, layout or Layout())
    asked = PlanQuestion(sizes_with(own, named), between, share, wish, processes, measure_pace())
    found = make_plan(agreement, asked, own)
    refused = ledger_refuses(agreement, own, State(folder), dataset)
    return replace(found, warnings=(*refused, *found.warnings))


def _require_kinds(agreement: object, data: object, party: object, layout: object, dataset: object) -> None:
    require("agreement", agreement, "an Agreement, such as accord.read_agreement(PATH) gives", Agreement)
    if data is not None:
        require_table("data", data)
    require_text_or_none("party", party, "A")
    require_text_or_none("dataset", dataset, "patients")
    if layout is not None:
        require("layout", layout, "a Layout", Layout)


def ledger_refuses(agreement: Agreement, own: Own, state: State, dataset: str | None) -> tuple[Warning, ...]:
    """What the account says to the agreed run, where there is one; nothing is charged."""
    if dataset is None and not state.database.path.exists():
        return ()
    ledger = Ledger(state.database)
    try:
        name = ledger.find_account(dataset)
    except AccountError:
        if dataset is not None:
            raise
        return ()
    left = account(name, ledger.runs(), ledger.budgets()).left
    event = agreement.protocol.release(agreement.task, own.side, own.records.size).event
    cost = None if event is None else event.cost
    if left is None or cost is None:
        return ()
    if cost.epsilon <= left.epsilon and cost.delta <= left.delta:
        return ()
    return (
        Warning(
            "ledger-refuses",
            f"The account '{name}' has {left.describe(up=False)} left, but a new release takes "
            f"{cost.describe()}: the run would be refused, unless it repeats a snapshot that was paid for.",
        ),
    )


def sizes_with(own: Own, named: tuple[int, int] | None) -> tuple[int, int]:
    """The sizes of A and B, of which one's own is that of the table."""
    size = own.records.size
    a, b = named or (size, size)
    return (size, b) if own.side is Side.A else (a, size)


def read_own(agreement: Agreement, data: TableLike, party: str | None, layout: Layout) -> Own:
    """One's own table, and some of its rows with made-up errors; raises all its faults."""
    layout.require_known(agreement.names)
    side = find_side(agreement, party)
    source = pa.table(data) if hasattr(data, "__arrow_c_stream__") else data

    def load(table: TableLike, how: Layout) -> Records:
        return load_records(table, agreement.fields, agreement.salt, (), how)

    records = load(source, layout)
    if not len(records):
        raise DataError("the table", [Fault("", "There are no records in it.", "Is it the right one?")])
    if not agreement.plan.losses(agreement.rule):
        return Own(side, records)
    names = agreed_columns(agreement.fields, ())
    raw, settled = read_settled(source, names, layout, _MOST_BATCHES)
    where = {name: name for name in names}
    return Own(side, records, with_errors(agreement, raw, where, partial(load, how=settled)))


def find_side(agreement: Agreement, party: str | None) -> Side:
    """The side that A, B or a party's name means."""
    for side in Side:
        if party in (side.value, side.value.lower(), agreement.party(side)):
            return side
    names = f"A ({agreement.parties.A}) and B ({agreement.parties.B})"
    if party is not None:
        raise UsageError(problem=f"'{party}' is not a party to this agreement; the parties are {names}.")
    raise UsageError(problem=f"Say whose data it is with `party=`: the parties are {names}.")


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
