"""Neighbouring series look alike, message by message; a whole one is exactly as private as one release."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from math import exp

import numpy as np
import pytest
from numpy.typing import NDArray

from accord.agreement.document import Agreement
from accord.entropy import Seeded
from accord.fields.columns import Records
from accord.protocols.binned import Binned
from accord.protocols.parts.batches import (
    Known,
    Released,
    find_changes,
    look_at,
    members_of,
    rows_released,
    take_rows,
)
from accord.protocols.parts.outcome import Outcome
from accord.protocols.parts.own_side import OwnSide
from accord.protocols.parts.shown import Shown
from accord.protocols.parts.slots import Slots
from accord.protocols.parts.standing import BatchMeeting, Disclosures
from accord.protocols.series import stand
from accord.secure.engine import Engine
from accord.secure.ideal import IdealEngine
from accord.secure.ot.engine import OtEngine
from accord.secure.party import Buffer, Party, Wire, run_pair
from accord.side import Side
from accord.simulation.series import SeriesSide
from accord.table.pairs import Rows
from tests.protocols.parts.test_batches import Table, records
from tests.protocols.test_series import agreement

Ints = NDArray[np.int64]

# -- neighbouring series look alike, message by message -----------------------------------------------------

History = tuple[tuple[int, int] | None, ...]
"""What one id of B is in each run; None where it is not there."""

HISTORIES: dict[str, tuple[History, History]] = {
    "replaced": (((12, 12), (12, 12), (12, 12)), ((8, 12), (8, 12), (8, 12))),
    "moved to another batch": (((12, 12), (12, 12), (12, 12)), (None, (12, 12), (12, 12))),
    "gone": (((12, 12), (12, 12), (12, 12)), ((12, 12), None, None)),
    "changed": (((12, 12), (12, 12), (12, 12)), ((12, 12), (8, 14), (8, 14))),
    "returned": (((12, 12), (12, 12), (12, 12)), ((12, 12), None, (12, 12))),
    "never there": (((12, 12), (12, 12), (12, 12)), (None, None, None)),
    "the only arrival": ((None, (12, 12), (12, 12)), (None, None, None)),
}
A_TABLES: list[Table] = [
    {"p": (1, 1), "q": (5, 5)},
    {"p": (1, 1), "q": (5, 5), "r": (5, 6)},
    {"q": (5, 5), "r": (5, 6), "s": (2, 2)},
]
B_TABLES: list[Table] = [{"u": (1, 2), "w": (15, 0)}, {"u": (1, 2), "w": (15, 0)}, {"u": (1, 2), "v": (5, 5)}]
INERT = ("x", "w")
Shape = tuple[list[int], list[int], int, int, int, list[tuple[int, str]]]
"""Sizes of A's and B's messages, rounds of messages, comparisons, rounds, and the output."""


def with_history(history: History) -> list[Table]:
    return [
        ({"x": value} if value is not None else {}) | table
        for table, value in zip(B_TABLES, history, strict=True)
    ]


def noisy(agreed: Agreement, histories: tuple[History, History]) -> list[Ints]:
    """Counts of each batch that both histories can have."""
    rng = np.random.default_rng(4)
    found: list[Ints] = []
    for batches in zip(*(true_counts(agreed, with_history(h)) for h in histories), strict=True):
        found.append(np.maximum(*batches) + rng.integers(0, 3, agreed.plan.bins))
    return found


def true_counts(agreed: Agreement, tables: list[Table]) -> list[Ints]:
    side, found = SeriesSide(agreed, Side.B), list[Ints]()
    none = np.zeros(agreed.plan.bins, np.int64)
    for table in tables:
        side.take_part(records(table), len(found) + 1, Seeded(1), none)
        found.append(Known.of(side.looks).counts[-1])
    return found


def coupled(
    agreed: Agreement, table: Records, batch: Ints, counts: Ints, seed: int, hidden: NDArray[np.bool_]
) -> Slots:
    """B's slots with these counts; matching records lie where the seed says, whatever else is there."""
    record, bins = agreed.plan.place(Side.B, table.columns, len(table))
    record, bins = record[~hidden[record]], bins[~hidden[record]]
    at = batch[record] * agreed.plan.bins + bins
    ids = table.ids.to_pylist()
    rng = np.random.default_rng(seed)
    placed = np.full(int(counts.sum()), -1, np.int64)
    first = np.cumsum(counts) - counts
    for place, size in enumerate(counts):
        order = first[place] + rng.permutation(size)
        here = sorted(record[at == place].tolist(), key=lambda row: ids[row])
        matching = [row for row in here if ids[row] not in INERT]
        others = [row for row in here if ids[row] in INERT]
        placed[order[: len(matching)]] = matching
        placed[order[size - len(others) :]] = others
    return Slots(counts, placed, bytes(64))


def party(
    agreed: Agreement, mine: OwnSide, meeting: BatchMeeting, old: Ints, before: Disclosures, engine: Engine
) -> Party[Outcome]:
    """One side of a run that goes on from this."""
    assert agreed.series is not None
    standing = stand(agreed.series, mine.side, meeting, old, before)
    return agreed.protocol.party(agreed.task, replace(mine, standing=standing), engine)


def shapes(agreed: Agreement, history: History, counts: list[Ints], engine: Engine) -> list[Shape]:
    """All that has a size, a number or an order in A's view of every run."""
    a, looks, found = SeriesSide(agreed, Side.A), SeriesSide(agreed, Side.B), list[Shape]()
    series, options, bins = agreed.series, agreed.protocol, agreed.plan.bins
    assert series is not None
    assert isinstance(options, Binned)
    for number, table in enumerate(map(records, with_history(history))):
        old = a.left
        own, entered = a.take_part(records(A_TABLES[number]), number + 1, Seeded(f"a {number}"))
        known, members = Known.of(looks.looks), members_of(table, agreed.salt)
        changes = find_changes(known, members, series.declared(Side.B, number), series.versions)
        rows = rows_released(changes, known, due=True)
        looks.looks.append(look_at(changes, members, np.zeros(bins, np.int64)))
        taken = take_rows(table, rows.rows, series.announced(Side.B, number + 1))
        every = looks.shown.left(np.concatenate(counts[: number + 1]))
        slots = coupled(agreed, taken, rows.batch, every, number, looks.shown.rows(rows.member))
        other = OwnSide(Side.B, taken, series.announced(Side.A, number + 1), slots, Seeded(f"b {number}"))
        meeting, wire = BatchMeeting((number, number), (number + 1, number + 1)), Wire()
        parties = [
            party(agreed, mine, meeting, before, Disclosures(shown, of), engine)
            for mine, before, shown, of in (
                (own, every[: number * bins], a.shown, entered.rows),
                (other, old, looks.shown, rows),
            )
        ]
        left, right = run_pair(parties[0], parties[1], wire)
        assert left.shown is not None
        assert right.shown is not None
        a.shown, looks.shown = left.shown, right.shown
        output = pairs_of(left.partner_ids.to_pylist(), left.own, left.partner)
        found.append(
            (wire.sizes[Side.A], wire.sizes[Side.B], wire.rounds, left.comparisons, left.rounds, output)
        )
    return found


def pairs_of(ids: list[str], own: Rows, partner: Rows) -> list[tuple[int, str]]:
    return sorted((int(i), ids[j]) for i, j in zip(own, partner, strict=True))


@pytest.mark.parametrize(
    ("versions", "greedy"),
    [
        (1, True),
        (2, False),
        *(pytest.param(*each, marks=pytest.mark.slow) for each in ((1, False), (2, True))),
    ],
)
@pytest.mark.parametrize("case", HISTORIES)
def test_neighbouring_series_look_alike(case: str, versions: int, greedy: bool) -> None:
    agreed = agreement({"versions": versions}, greedy=greedy)
    counts = noisy(agreed, HISTORIES[case])
    one, other = (shapes(agreed, history, counts, IdealEngine()) for history in HISTORIES[case])
    assert one == other
    assert sum(len(run[-1]) for run in one) == 4, "there is something to find"


@pytest.mark.slow
@pytest.mark.parametrize("case", HISTORIES)
def test_neighbouring_series_look_alike_with_real_cryptography(case: str) -> None:
    agreed = agreement()
    counts = noisy(agreed, HISTORIES[case])
    one, other = (shapes(agreed, history, counts, OtEngine()) for history in HISTORIES[case])
    assert one == other


def test_a_true_batch_size_would_be_seen() -> None:
    """The test above can fail: a series that announces what it has tells whether there was an arrival."""
    agreed = agreement()
    seen = []
    for history in HISTORIES["the only arrival"]:
        side = SeriesSide(agreed, Side.B)
        for number, table in enumerate(with_history(history)):
            mine, entered = side.take_part(records(table), number + 1, Seeded(1))
            seen.append(len(entered.changes.arrived))
            assert mine.records.size == (20, 30, 40)[number]
    assert seen[:3] != seen[3:]


# -- exact enumeration: a whole series is as private as one release ------------------------------------------

NOISE = (0.6, 0.4)


class Tape(Wire):
    """Keeps what B sends."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[bytes] = []

    def record(self, sender: Side, buffer: Buffer, depth: int) -> None:
        super().record(sender, buffer, depth)
        if sender is Side.B:
            self.sent.append(bytes(buffer))


def two_bins() -> Agreement:
    """Bins x = 0 and x = 1; a match is |y − y′| ≤ 1 in the same bin."""
    agreed = agreement(rule="same(x) and within(y, 1)")
    fields = {"x": {"type": "number", "min": 0, "max": 1, "step": 1}, "y": agreed.fields["y"].model_dump()}
    plain = agreed.model_dump(mode="json") | {"fields": fields, "blocking": [{"kind": "key", "field": "x"}]}
    return Agreement.model_validate(plain)


A_RECORDS: list[Table] = [{"p": (0, 5)}, {"p": (0, 5), "q": (0, 6)}]
"""The second record of A arrives in the second run and matches what B had in the first."""
MATCHING = ("m", (0, 5))


def placements(counts: tuple[int, ...], at: list[int]) -> Iterator[list[int]]:
    """Every way to place record i into bin at[i] of these sizes."""
    starts = np.cumsum(counts) - counts
    for chosen in product(*(range(counts[place]) for place in at)):
        slots = [int(starts[place]) + i for place, i in zip(at, chosen, strict=True)]
        if len(set(slots)) == len(slots):
            placed = [-1] * sum(counts)
            for row, slot in enumerate(slots):
                placed[slot] = row
            yield placed


def view(agreed: Agreement, number: int, b: Table, counts: tuple[int, ...], placed: list[int]) -> object:
    """A's view of a run: what B sends, without what is uniformly random."""
    series, options, tape = agreed.series, agreed.protocol, Tape()
    assert series is not None
    assert isinstance(options, Binned)
    side = SeriesSide(agreed, Side.A)
    for earlier in range(number + 1):
        own, entered = side.take_part(
            records_of(agreed, A_RECORDS[earlier]), earlier + 1, Seeded(1), np.array([1, 1])
        )
    slots = Slots(np.array(counts), np.array(placed), bytes(64))
    taken = take_rows(records_of(agreed, b), np.arange(len(b)), series.announced(Side.B, number + 1))
    other = OwnSide(Side.B, taken, series.announced(Side.A, number + 1), slots, Seeded(5))
    meeting = BatchMeeting((number, number), (number + 1, number + 1))
    before = np.array(counts)[: 2 * number], side.counts[: 2 * number]
    engine, shown = IdealEngine(), (side.shown, Shown.nothing(agreed.task.shape(Side.A, 0)))
    none = np.zeros(0, np.int64)
    parties = [
        party(agreed, mine, meeting, old, Disclosures(known, rows), engine)
        for mine, old, known, rows in zip(
            (own, other), before, shown, (entered.rows, Released(none, none, none)), strict=True
        )
    ]
    left, _ = run_pair(parties[0], parties[1], tape)
    commitment, opened, *rest = tape.sent
    return len(commitment), opened[32:], tuple(rest[:-2]), tuple(map(len, tape.sent)), left.comparisons


def records_of(agreed: Agreement, table: Table) -> Records:
    import pyarrow as pa

    from accord.fields.load import load_records

    rows = {
        "id": pa.array(list(table), pa.string()),
        "x": pa.array([x for x, _ in table.values()], pa.int64()),
        "y": pa.array([y for _, y in table.values()], pa.int64()),
    }
    return load_records(pa.table(rows), agreed.fields, agreed.salt, ("x", "y"))


def run_views(
    agreed: Agreement, number: int, inert: tuple[int, int] | None, counts: tuple[int, ...]
) -> dict[object, float]:
    """The distribution of A's view of a run, given the counts; `inert` is the (batch, bin) of B's record that
    matches nothing."""
    at, table = [0], dict([MATCHING])
    if inert is not None and inert[0] <= number:
        at.append(2 * inert[0] + inert[1])
        table["x"] = (inert[1], 12)
    ways = list(placements(counts[: 2 * number + 2], at))
    found: dict[object, float] = defaultdict(float)
    for placed in ways:
        found[view(agreed, number, table, counts[: 2 * number + 2], placed)] += 1 / len(ways)
    return found


def series_views(inert: tuple[int, int] | None) -> dict[object, float]:
    """The exact distribution of A's view of two runs, over noise and both orders."""
    agreed, found = two_bins(), dict[object, float]()
    true = [1, 0, 0, 0]
    if inert is not None:
        true[2 * inert[0] + inert[1]] += 1
    for drawn in product(enumerate(NOISE), repeat=4):
        counts = tuple(t + x for t, (x, _) in zip(true, drawn, strict=True))
        chance = float(np.prod([p for _, p in drawn]))
        # Given the counts, the two runs are shuffled independently.
        first, second = (run_views(agreed, number, inert, counts) for number in (0, 1))
        for (v, p), (w, q) in product(first.items(), second.items()):
            found[v, w] = found.get((v, w), 0.0) + chance * p * q
    return found


def delta(p: dict[object, float], q: dict[object, float], epsilon: float) -> float:
    return sum(max(0.0, mass - exp(epsilon) * q.get(seen, 0.0)) for seen, mass in p.items())


def one_release(epsilon: float) -> float:
    """δ of one release of two counts, if a record moves from the one bin to the other."""
    here = {(1 + x, y): p * q for (x, p), (y, q) in product(enumerate(NOISE), repeat=2)}
    there = {(x, 1 + y): p * q for (x, p), (y, q) in product(enumerate(NOISE), repeat=2)}
    return delta(dict(here), dict(there), epsilon)


MOVED = [((0, 0), (0, 1)), ((0, 0), (1, 0)), ((1, 1), (1, 0))]


@pytest.mark.parametrize(
    "moved", [((0, 1), (1, 0)), *(pytest.param(moved, marks=pytest.mark.slow) for moved in MOVED)]
)
def test_a_whole_series_leaks_exactly_what_one_release_leaks(moved: tuple[tuple[int, int], ...]) -> None:
    """A record that is in another bin, another batch or both: two runs are as private as one release."""
    one, other = (series_views(inert) for inert in moved)
    assert sum(one.values()) == pytest.approx(1)
    for epsilon in (0.2, 0.5, 1.0, 1.5):
        assert delta(one, other, epsilon) == pytest.approx(one_release(epsilon), abs=1e-9)
        assert delta(other, one, epsilon) == pytest.approx(one_release(epsilon), abs=1e-9)
