"""routed: full keys, promises and their conditions, the cascade, views, partners that lie, resumed runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import accord
from accord.agreement.document import Agreement
from accord.agreement.file import require_sound
from accord.entropy import Entropy, Seeded
from accord.errors import AgreementError, DataError, UsageError
from accord.fields.columns import Columns, Integers
from accord.fields.load import load_records
from accord.forecast import room
from accord.privacy.events import UNLESS, FullKeys
from accord.protocols import routed as module
from accord.protocols import routed_pairs, routed_passes, routing
from accord.protocols.naming import Naming
from accord.protocols.parts.comparers import InTurn
from accord.protocols.parts.own_side import OwnSide
from accord.protocols.routed import Routed
from accord.protocols.routed_pairs import PairPasses
from accord.protocols.sharing import Sample
from accord.secure.engine import Engine
from accord.secure.ideal import IdealEngine
from accord.secure.okvs.cuckoo import table_bins
from accord.secure.ot.engine import OtEngine
from accord.secure.party import Party, Send, run_pair
from accord.side import Side
from tests.protocols import worlds
from tests.protocols.liars import refused
from tests.protocols.views import View, views_of
from tests.protocols.worlds import Pairs, Point, Points, changed, join, one_to_one, oracle, routed, run
from tests.secure.engines import noted

COUNT = {"answer": "count", "epsilon": "2"}
EXACT = {"answer": "count", "exact": True}


def test_cells_may_be_too_many_to_list() -> None:
    """Those of the whole earth, from a draft whose owner names no range."""
    grid = {"kind": "grid", "fields": ["x", "y"], "cell": "0.002", "style": "replicate", "reach": "0.001"}
    earth = {"x": {"type": "latitude"}, "y": {"type": "longitude"}}
    agreed = changed(routed("x", rule="euclidean(x, y) <= 0.001"), fields=earth, blocking=[grid])
    require_sound(agreed)
    assert agreed.plan.bins > 10**10
    a, b = (
        pa.table({"id": [*"123"], "x": [-90.0, 40.7 + moved, 52.0], "y": [180.0, -73.9, 13.4 + moved]})
        for moved in (0, 0.0009)
    )
    found = accord.simulate(a, b, agreed, seed=1)
    assert (found.matches, found.recall, found.bins) == (3, 1, 0)
    records = load_records(a, agreed.fields, agreed.salt, agreed.disclosed(Side.A))
    assert room.predict(agreed.task, Side.A, records)[0] < 1 << 20


# -- full keys ---------------------------------------------------------------------------------------------

full = st.lists(st.tuples(st.just(5), st.integers(4, 7)), min_size=1, max_size=7)


def placed(count: int, cap: int) -> Iterator[set[int]]:
    """Every set of records of one key that may have found a place."""
    yield from map(set, combinations(range(count), min(cap, count)))


@settings(max_examples=15)
@given(full, full, st.tuples(st.integers(1, 4), st.integers(1, 4)), worlds.askers, st.integers(0, 9))
def test_of_a_full_key_those_are_found_that_some_placing_has(
    a: Points, b: Points, caps: tuple[int, int], asker: str | None, seed: int
) -> None:
    agreed = routed("x", caps=[{"A": caps[0], "B": caps[1]}], asks=asker)
    found, whole = join(agreed, a, b, seed), oracle(("x",), a, b)
    ways = product(placed(len(a), caps[0]), placed(len(b), caps[1]))
    assert any(found == [(i, j) for i, j in whole if i in m and j in n] for m, n in ways)


def covered_by(
    agreed: Agreement, side: Side, rows: Points
) -> tuple[list[int], list[tuple[str, int, int, int]]]:
    """The uncovered rows; and of each pass its name, its cap, how many it leaves uncovered, how many out."""
    found = agreed.protocol.coverage(agreed.task, side, worlds.records(rows, agreed))
    passes = [(one.name, one.cap, one.uncovered, one.left_out) for one in found.passes]
    assert found.count == found.uncovered.sum()
    return np.flatnonzero(found.uncovered).tolist(), passes


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.none() | st.integers(0, 15), st.none() | st.integers(0, 2)), max_size=12),
    st.lists(st.sampled_from(["x", "y", "both", "grid"]), min_size=1, max_size=3, unique=True),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.sampled_from(Side),
)
def test_uncovered_is_as_the_theorem_has_it(
    rows: Points, names: list[str], caps: tuple[int, int], side: Side
) -> None:
    """A record is covered if in every pass each of its keys is shared by at most `cap` records."""
    cap = caps[side is Side.B]
    agreed = routed(*names, caps=[{"A": caps[0], "B": caps[1]}, *[cap] * 2], cap=9)
    owned = [[worlds.keys_of(name, side, row) for row in rows] for name in names]
    over = [{k for keys in each for k in keys if sum(k in other for other in each) > cap} for each in owned]
    found, passes = covered_by(agreed, side, rows)
    assert found == [
        i
        for i in range(len(rows))
        if any(keys[i] & crowded for keys, crowded in zip(owned, over, strict=True))
    ]
    for (_, stated, uncovered, left_out), keys, crowded in zip(passes, owned, over, strict=True):
        assert stated == cap
        assert uncovered == sum(bool(of & crowded) for of in keys)
        assert left_out == sum(sum(key in of for of in keys) - cap for key in crowded)


BY_KEY, BY_CELL = routed("x", "square").plan.passes


def sample(x: Sequence[int | None], y: Sequence[int] = (), size: int | None = None) -> Sample:
    """Of a table that stands for one with so many records."""
    present = np.array([value is not None for value in x], np.bool_)
    table: Columns = {
        "x": Integers(np.array([value or 0 for value in x], np.int64), present),
        "y": Integers(np.array(y or [0] * len(x), np.int64), np.ones(len(x), np.bool_)),
    }
    return Sample.of(Side.A, table, len(x), len(x) if size is None else size)


@given(st.lists(st.none() | st.integers(0, 4), max_size=20), st.integers(1, 5))
def test_sharers_are_the_records_of_a_key(values: list[int | None], cap: int) -> None:
    """A record without a key shares none, and counts in no place."""
    made, keys = sample(values), {*values} - {None}
    sharers = made.sharers(BY_KEY)
    counts = [0 if value is None else values.count(value) for value in values]
    assert sharers.counts.tolist() == counts
    assert sharers.over(cap).tolist() == [count > cap for count in counts]
    placed = sum(min(cap, values.count(key)) for key in keys)
    assert sharers.placed(cap) == pytest.approx(placed / sum(map(bool, counts)) if keys else 1)
    covered = [count <= cap for count in counts]
    assert made.covered([(BY_KEY, cap)]) == pytest.approx(sum(covered) / len(covered) if covered else 1)


def test_a_record_is_covered_if_it_is_in_every_pass() -> None:
    made = sample([1, 1, 2, 4, 5, 12], [1, 9, 5, 13, 13, 9])
    # Two share x, and two more a cell.
    assert made.covered([(BY_KEY, 1), (BY_CELL, 1)]) == pytest.approx(2 / 6)
    assert made.covered([(BY_KEY, 2), (BY_CELL, 2)]) == 1


def test_a_longer_table_is_expected_to_cover_less() -> None:
    x = np.random.default_rng(0).integers(0, 16, 40).tolist()
    shares = [sample(x, size=size).covered([(BY_KEY, 4)]) for size in (20, 40, 50)]
    assert shares[0] > shares[1] > shares[2]
    assert sample(x, size=10**6).covered([(BY_KEY, 4)]) == 0


# -- promises ----------------------------------------------------------------------------------------------

BOTH, OF_B, NONE = ("leave-out", "leave-out"), ("", "leave-out"), ("", "")
STRICT = ("refuse", "refuse")


@pytest.mark.parametrize(
    ("over", "output", "epsilon", "conditions"),
    [
        ("leave-out", {}, 0, BOTH),
        ("refuse", {}, 0, STRICT),
        ("leave-out", {"to": "A"}, 0, OF_B),
        ("leave-out", {"to": "B"}, 0, OF_B[::-1]),
        ("refuse", {"to": "A"}, 0, STRICT),
        ("leave-out", COUNT, 2, NONE),
        ("refuse", COUNT, 2, STRICT),
        ("leave-out", EXACT, None, NONE),
        ("refuse", EXACT, None, NONE),
    ],
)
def test_the_condition_goes_with_the_promise(
    over: str, output: dict[str, Any], epsilon: int | None, conditions: tuple[FullKeys, FullKeys]
) -> None:
    """The lister learns nothing of the asker where the asker alone learns the pairs. A refusal is seen by
    either, and what is charged is what is promised. Without a condition no record is uncovered, and those
    that find no place are counted all the same."""
    agreed = changed(routed("x", over=over, cap=1), output=output, disclose=worlds.NOBODY)
    for side, condition in zip(Side, conditions, strict=True):
        told = agreed.leakage(side)
        assert (told.epsilon, told.unless) == (epsilon, UNLESS[condition])
        event = agreed.protocol.release(agreed.task, side, 5).event
        assert event is not None
        assert event.cost == told.cost
        found, passes = covered_by(agreed, side, [(5, 1), (5, 2), (5, 3), (6, 1)])
        assert len(found) == (3 if condition else 0)
        assert passes == [("pass 1", 1, len(found), 2)]


def test_full_keys_are_refused_if_agreed() -> None:
    """Before a linkage, and in a simulation."""
    rows: list[tuple[int, int]] = [(5, i % 2) for i in range(7)]
    free, strict = (routed("x", "both", caps=[3, None], cap=4, over=over) for over in ("leave-out", "refuse"))
    free.protocol.refuse_records(free.task, Side.A, worlds.records(rows, free))
    strict.protocol.refuse_records(strict.task, Side.A, worlds.records(rows[:3], strict))
    for tables in ((rows, [(1, 1)]), ([(1, 1)], rows)):
        with pytest.raises(DataError) as caught:
            accord.simulate(worlds.table(tables[0], "a"), worlds.table(tables[1], "b"), strict)
        assert [one.place for one in caught.value.faults] == ["pass 'pass 1'"]


def test_a_row_that_is_too_long_to_be_sealed_is_not_told_of_in_the_agreement() -> None:
    """Its length would be, if it were proposed for row_bytes as it is."""
    agreed = changed(routed("x"), disclose=worlds.NOBODY, output={"to": "A"})

    def told(length: int) -> str:
        rows = replace(worlds.records([(1, 1)], agreed), ids=pa.array(["i" * length], pa.large_string()))
        with pytest.raises(DataError) as caught:
            agreed.protocol.refuse_records(agreed.task, Side.B, rows)
        return str(caught.value)

    assert told(300) == told(500)
    assert "512" in told(500)
    assert "65,536" in told(70_000)


def test_the_side_that_learns_the_pairs_is_the_one_that_asks() -> None:
    for learner in Side:
        agreed = changed(routed("x"), output={"to": learner.value})
        told = {side: agreed.protocol.guarantee(agreed.task, side).of_matches for side in Side}
        assert told[learner] == () != told[learner.other]
        asks = changed(routed("x", asks=learner.other.value), output={"to": learner.other.value})
        require_sound(asks)
        with pytest.raises(AgreementError):
            require_sound(changed(asks, output={"to": learner.value}))


@pytest.mark.parametrize(
    "blocking",
    [
        [],
        [{"kind": "grid", "fields": ["x"], "cell": 4, "style": "neighbours"}],
        [{"kind": "key", "field": "x", "buckets": 3}],
    ],
)
def test_agreements_that_it_cannot_keep_are_refused(blocking: list[Any]) -> None:
    require_sound(routed("x", "both", "grid"))
    with pytest.raises(AgreementError):
        require_sound(changed(routed("x"), blocking=blocking))


def test_tables_that_are_too_large_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 29)
    agreed = routed("x", cap=2)
    assert agreed.protocol.refuse_sizes(agreed.task, Side.A, 4, 4) == ""
    with pytest.raises(UsageError, match="30"):
        join(agreed, [(1, 1)] * 5, [(1, 1)] * 5)


def test_who_asks() -> None:
    """As agreed, or who has fewer queries; always the same on both sides, and in all passes."""

    def lanes(agreed: Agreement, *sizes: int) -> Any:
        return agreed.protocol.lanes(agreed.task, (sizes[0], sizes[1]))

    for asker in Side:
        assert {lane.asker for lane in lanes(routed("x", "y", asks=asker.value), 5, 9)} == {asker}
    free = routed("x", "square")
    # B's records fall into up to four cells.
    assert lanes(free, 5, 5)[1].entries == {Side.A: 5, Side.B: 20}
    assert [lanes(free, size, 5)[0].asker for size in (5, 50)] == [Side.A, Side.B]


# -- the cascade -------------------------------------------------------------------------------------------


def by_pass(passes: Sequence[str], a: Points, b: Points) -> Iterator[Pairs]:
    """M_1, M_2, …, without full keys [MATHS §10.4]."""
    left, right = set(range(len(a))), set(range(len(b)))
    for name in passes:
        found = [
            (i, j)
            for i in sorted(left)
            for j in sorted(right)
            if worlds.holds(a[i], b[j]) and worlds.meet(name, a[i], b[j])
        ]
        yield found
        left -= {i for i, _ in found}
        right -= {j for _, j in found}


def bins(agreed: Agreement, found: list[Pairs], *sizes: int) -> Iterator[int]:
    """Those of each pass, of the records that are left."""
    here = dict(zip(Side, sizes, strict=True))
    for lane, some in zip(agreed.protocol.lanes(agreed.task, (sizes[0], sizes[1])), found, strict=True):
        several = agreed.task.blocking.passes[lane.number].per_record(lane.asker)
        yield table_bins(here[lane.asker] * several * lane.caps[lane.asker.other])
        for side, which in zip(Side, zip(*some, strict=True), strict=False):
            here[side] -= len(set(which))


@settings(max_examples=8)
@given(worlds.chosen, worlds.tables, worlds.tables, worlds.askers, st.integers(0, 9))
def test_a_pass_of_a_cascade_has_what_those_before_left(
    passes: tuple[str, ...], a: Points, b: Points, asker: str | None, seed: int
) -> None:
    """Its bins are as many as the records that are left need. What is found is in tests/test_pipeline.py."""
    agreed = one_to_one(routed(*passes, cap=64, asks=asker))
    left, _, _ = worlds.link(agreed, a, b, seed)  # type: ignore[arg-type]
    expected = list(by_pass(passes, a, b))
    assert left.matches_found == sum(map(len, expected))
    assert left.comparisons == sum(bins(agreed, expected, len(a), len(b)))


@pytest.mark.parametrize("output", [{"to": "A"}, EXACT])
def test_only_pairs_that_both_see_are_a_cascade(output: dict[str, Any]) -> None:
    plain = routed("x", "y", cap=4)
    assert one_to_one(plain).protocol.cascades(one_to_one(plain).task)
    for other in (plain, changed(plain, output=output)):
        assert not other.protocol.cascades(other.task)


def test_a_token_that_was_named_before_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would show a record twice, or another one under its name."""
    real = PairPasses.name

    def again(self: PairPasses, naming: Naming) -> Party[Any]:
        self._told = 0
        return real(self, naming)

    monkeypatch.setattr(PairPasses, "name", again)
    with refused():
        join(one_to_one(routed("x", "y", cap=9)), [(1, 1), (5, 5)], [(1, 1), (6, 5)])


def test_a_record_that_is_shown_under_a_known_id_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a lister that shows in the next pass what it has shown, which the rule would accept."""
    real, shown = Naming._by_id, list[Any]()

    def same(self: Naming, records: Any) -> Any:
        if self._own.side is Side.B and len(records):
            shown.append(records)
            records = shown[0]
        return real(self, records)

    monkeypatch.setattr(Naming, "_by_id", same)
    with refused():
        join(one_to_one(routed("x", "y", cap=9, asks="A")), [(1, 1), (2, 1)], [(1, 1), (3, 1)])


# -- views -------------------------------------------------------------------------------------------------

A_ROWS: Points = [(1, 1), (5, 5), (5, 9), (8, 8), (12, 3)]
B_ROWS: Points = [(1, 2), (5, 5), (7, 6), (13, 13)]
OTHERS: list[Point] = [(5, 1), (0, 15), (1, 14), (8, 1), (None, None), (None, 9)]
"""What may stand in place of a record that matches nothing; also in a key with others, or in none."""


def opened(view: View) -> tuple[bytes, ...]:
    """What a side receives, without the commitments, which hide the table, and the confirmation, whose digest
    is under a fresh key."""
    return view.received[1:-2]


@pytest.mark.parametrize("asker", Side)
def test_the_lister_receives_the_same_bytes_whatever_else_the_asker_has(asker: Side) -> None:
    """With coins that are the same and everything in the clear: tokens and records of what matches."""
    plain = routed("x", "y", cap=4, asks=asker.value)
    for agreed in (plain, one_to_one(plain)):
        first = views_of(agreed, A_ROWS, B_ROWS, 1)[asker.other]
        assert any(len(message) for message in opened(first))
        for other in OTHERS:
            a, b = [*A_ROWS], [*B_ROWS]
            (a if asker is Side.A else b)[3] = other
            assert oracle(("x", "y"), a, b) == oracle(("x", "y"), A_ROWS, B_ROWS)
            assert opened(views_of(agreed, a, b, 1)[asker.other]) == opened(first)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("sessions", [1, 3])
def test_the_lister_is_opened_nothing(sessions: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a bit nor a token, by any session; all comes from the asker in the end."""
    given_: dict[Side, int] = dict.fromkeys(Side, 0)
    real = OtEngine.open

    def watched(self: OtEngine, session: Any, *rest: Any) -> Party[Any]:
        found = yield from real(self, session, *rest)
        given_[session.side] += len(found)
        return found

    monkeypatch.setattr(OtEngine, "open", watched)
    agreed, expected = routed("x", cap=2), oracle(("x",), A_ROWS, B_ROWS)
    own = [replace(mine, staff=InTurn(sessions)) for mine in worlds.sides(agreed, A_ROWS, B_ROWS).values()]
    left, right = run_pair(*(run(agreed.task, mine, OtEngine()) for mine in own))
    assert worlds.pairs_of_a(left) == worlds.pairs_of_b(right) == expected
    # The lister has A's part in the engine.
    assert given_ == {Side.A: 0, Side.B: len(expected)}


# -- a partner that lies -----------------------------------------------------------------------------------


def test_a_token_where_nothing_was_asked_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    real: Any = routing.route_asked

    def forgetful(*arguments: Any) -> Party[Any]:
        record, held = yield from real(*arguments)
        return np.full_like(record, -1), held

    monkeypatch.setattr(routed_passes, "route_asked", forgetful)
    with refused():
        join(routed("x", cap=1), [(1, 1)], [(1, 1)])


# -- a run that is cut -------------------------------------------------------------------------------------

CUT = routed("x", "y", cap=2)
CASCADE = one_to_one(CUT)


@dataclass
class Attempt:
    """A run, whole or from where one was cut."""

    journals: dict[Side, worlds.Kept]
    pairs: Pairs
    said: set[bytes]
    """Everything that is masked, of both sides."""
    masks: list[NDArray[np.uint64]]


def attempt(
    agreed: Agreement,
    mine: dict[Side, OwnSide],
    journals: dict[Side, worlds.Kept],
    coins: Entropy,
    engine: Engine,
) -> Attempt:
    said: list[Any] = []
    masks: list[NDArray[np.uint64]] = []

    def heard(real: Callable[..., Party[Any]]) -> Callable[..., Party[Any]]:
        def call(*arguments: Any) -> Party[Any]:
            answer = yield from noted(real(*arguments), said)
            if real.__name__ == "route_listed":
                masks.append(answer)
            return answer

        return call

    own = [replace(mine[s], entropy=coins.stream(s.value), journal=journals[s]) for s in Side]
    spied = [(routed_passes, "route_asked"), (routed_passes, "route_listed")]
    with pytest.MonkeyPatch.context() as patch:
        for place, name in (*spied, (OtEngine, "set_up"), (OtEngine, "open")):
            patch.setattr(place, name, heard(getattr(place, name)))
        left, right = run_pair(*(run(agreed.task, each, engine) for each in own))
    assert worlds.pairs_of_a(left) == worlds.pairs_of_b(right)
    # What is shorter may be there twice by chance, or says nothing.
    sent = {bytes(e.buffer) for e in said if isinstance(e, Send) and len(e.buffer) >= 16}
    return Attempt(journals, worlds.pairs_of_a(left), sent, masks)


@pytest.mark.parametrize(("agreed", "kept", "passes"), [(CUT, 1, 2), (CASCADE, 2, 1)])
def test_another_attempt_says_nothing_again(agreed: Agreement, kept: int, passes: int) -> None:
    """All masks, keys and transfers are fresh; ranks and tokens are the run's. What it comes to is in
    tests/run/test_matrix.py."""
    mine, engine = worlds.sides(agreed, A_ROWS, B_ROWS), OtEngine()
    whole = attempt(agreed, mine, {side: worlds.Kept() for side in Side}, Seeded("first"), engine)
    cut = {side: whole.journals[side].cut(kept, kept) for side in Side}
    again = attempt(agreed, mine, cut, Seeded("second"), engine)
    assert again.pairs == whole.pairs
    assert len(again.masks) == passes
    assert len(whole.said) > 20
    # But for what names the protocol.
    assert all(message.startswith(b"accord") for message in whole.said & again.said)
    rows = [{row.tobytes() for one in each.masks for row in one} for each in (whole, again)]
    assert rows[0].isdisjoint(rows[1])
    for side in Side:
        one, two = (inner(replace(mine[side], entropy=Seeded(n))) for n in range(2))
        assert np.array_equal(one.tokens, two.tokens)
        for first, second in zip(one.placings, two.placings, strict=True):
            assert np.array_equal(first.rank, second.rank)
            assert np.array_equal(first.record, second.record)
    other = inner(worlds.sides(agreed, A_ROWS, B_ROWS, 6)[Side.A])
    tokens = [{row.tobytes() for row in made.tokens} for made in (inner(mine[Side.A]), other)]
    assert tokens[0].isdisjoint(tokens[1]), "another run has tokens of its own"


def inner(mine: OwnSide) -> Any:
    """What a side knows in the middle of its run."""
    assert isinstance(CUT.protocol, Routed)
    lanes = CUT.protocol.lanes(CUT.task, (len(A_ROWS), len(B_ROWS)))
    return routed_pairs.PairPasses(CUT.task, lanes, mine, IdealEngine())


def test_a_kept_answer_that_names_records_that_do_not_exist_is_refused() -> None:
    mine, engine = worlds.sides(CUT, A_ROWS, B_ROWS), IdealEngine()
    whole = attempt(CUT, mine, {side: worlds.Kept() for side in Side}, Seeded("first"), engine)
    cut = {side: whole.journals[side].cut(2, 2) for side in Side}
    cut[Side.B if inner(mine[Side.B]).asks else Side.A].answers[1] = np.array([99, 1, 2], "<i8").tobytes()
    with refused():
        attempt(CUT, mine, cut, Seeded("second"), engine)
