"""Protocols over bins: what greedy cleans, what is released, disclosure in slices, and partners that lie."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from accord import spill
from accord.agreement.document import Agreement
from accord.entropy import Seeded
from accord.errors import PeerError
from accord.privacy.calibration import calibrate
from accord.privacy.events import NoisyCounts
from accord.privacy.noise import exact_delta
from accord.privacy.noise_geometric import Geometric
from accord.protocols import disclose, greedy
from accord.protocols.all_pairs import AllPairs
from accord.protocols.base import OneToOne
from accord.protocols.disclose import cut_slices
from accord.protocols.found import disclose as show
from accord.protocols.parts import disclosed as parts
from accord.protocols.parts.disclosed import Disclosed
from accord.protocols.parts.outcome import Outcome
from accord.secure.ideal import IdealEngine
from accord.secure.ot.engine import OtEngine
from accord.secure.party import Party, run_pair
from accord.side import Side
from accord.spill import Scratch
from tests.privacy.definition import moved_delta
from tests.protocols import worlds
from tests.protocols.liars import lie, refused
from tests.protocols.worlds import Rows, agreement

points = st.tuples(st.integers(0, 15), st.integers(0, 15))
tables = st.lists(points, max_size=25) | st.lists(
    st.tuples(st.integers(3, 6), st.integers(3, 6)), max_size=15
)
options = st.fixed_dictionaries(
    {
        "protocol": st.sampled_from(["laplace", "laplace", "all-pairs"]),
        "style": st.sampled_from(["neighbours", "replicate"]),
        "rule": st.sampled_from([worlds.RULE, worlds.WITHOUT_INDEX]),
    }
)

# -- greedy ------------------------------------------------------------------------------------------------


@settings(max_examples=25)
@example([(3, 3), (5, 3)], [(3, 3), (4, 3)], {}, 1, 0, 2)  # The paper's Algorithm 3 loses a1b2 [MATHS §7.2].
@given(tables, tables, options, st.sampled_from([1, 2, 5, 64]), st.integers(0, 99), st.integers(0, 3))
def test_greedy_finds_all_in_any_batching(
    a: Rows, b: Rows, chosen: dict[str, Any], slab: int, seed: int, dummies: int
) -> None:
    """[HMFS17, Theorem on Greedy Match & Clean], with precision 1."""
    with worlds.slabs(slab):
        left, right, _ = worlds.link(agreement(**chosen), a, b, seed, dummies)
    assert worlds.pairs_of_a(left) == worlds.pairs_of_b(right) == worlds.textbook(a, b)


@pytest.mark.parametrize(("on", "comparisons"), [(True, 20), (False, 200)])
def test_greedy_cleans_the_copies_of_all_passes(on: bool, comparisons: int) -> None:
    """One row is compared in each of two passes; then all are known and nothing is left to compare."""
    agreed = agreement(blocking=worlds.passes("x", "x"), greedy=on)
    found, _, _ = worlds.link(agreed, [(3, 3)] * 10, [(3, 3)] * 10, dummies=0)
    assert (len(found.own), found.comparisons) == (100, comparisons)


@pytest.mark.parametrize("engine", [IdealEngine(), OtEngine()])
def test_a_rule_that_the_blocking_guarantees_altogether(engine: Any) -> None:
    """The circuit is empty: every pair of real records in one bin matches, and dummies still do not."""
    agreed = worlds.changed(agreement(rule="same(x)"), blocking=[{"kind": "key", "field": "x"}])
    left, _, _ = worlds.link(agreed, [(1, 0), (2, 0), (2, 5)], [(2, 9), (3, 3)], engine=engine)
    assert worlds.pairs_of_a(left) == [(1, 0), (2, 0)]


@pytest.mark.parametrize("on", [True, False])
def test_the_order_of_disclosure_is_that_of_the_ids_not_of_the_table(on: bool) -> None:
    left, _, _ = worlds.link(agreement(greedy=on), [(5, 5)], [(5, 5)] * 12, seed=1)
    names = left.partner_ids.to_pylist()
    assert names == sorted(names) == sorted(f"B{i}" for i in range(12))


# -- memory ------------------------------------------------------------------------------------------------

KINDS: dict[str, dict[str, Any]] = {
    "greedy": {},
    "candidates": {"rule": worlds.WITHOUT_INDEX},
    "plain": {"greedy": False},
    "greedy passes": {"blocking": worlds.passes("x", "y", "both", "around")},
    "psi": {"protocol": "psi", "rule": "same(x) and same(y)"},
}


def link_within(agreed: Agreement, a: Rows, b: Rows, scratch: Scratch) -> tuple[Outcome, Outcome]:
    """With so much memory."""
    mine = {side: replace(own, scratch=scratch) for side, own in worlds.sides(agreed, a, b).items()}
    engine = IdealEngine()
    return run_pair(*(worlds.run(agreed.task, own, engine) for own in mine.values()))


def ids(outcome: Outcome) -> list[tuple[str, str]]:
    """The pairs in their order, A's first, as names."""
    partner = [outcome.partner_ids[int(place)].as_py() for place in outcome.partner]
    own = [f"{outcome.side.value}{row}" for row in outcome.own]
    return [*zip(own, partner, strict=True)] if outcome.side is Side.A else [*zip(partner, own, strict=True)]


@pytest.mark.parametrize("one_to_one", [False, pytest.param("pairs", marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=6)
@given(st.lists(points, max_size=25), st.lists(points, max_size=25), st.integers(0, 6))
def test_little_memory_changes_nothing(kind: str, one_to_one: OneToOne, a: Rows, b: Rows, most: int) -> None:
    """Nor do many slices."""
    agreed = worlds.changed(agreement(**KINDS[kind]), one_to_one=one_to_one)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spill, "PIECE", 3)
        patch.setattr(greedy, "_MOST_LISTS", 2)
        patch.setattr(disclose, "FIRST", 1)
        patch.setattr(disclose, "LARGEST", 4)
        left, right = link_within(agreed, a, b, Scratch(most=most))
    usual, other = link_within(agreed, a, b, Scratch())
    assert ids(left) == ids(right) == ids(usual) == sorted(ids(usual))
    assert left.digest == right.digest == usual.digest
    for one, expected in ((left, usual), (right, other)):
        assert one.partner_ids.equals(expected.partner_ids)
        assert one.partner_columns.equals(expected.partner_columns)


@pytest.mark.parametrize("kind", ["greedy", "plain", "greedy passes"])
def test_many_matches_are_in_files_and_each_is_there_once(kind: str) -> None:
    rows = [(i % 3, i % 2) for i in range(40)]
    left, right = link_within(agreement(**KINDS[kind]), rows, rows, Scratch(most=50))
    expected = sorted((f"A{i}", f"B{j}") for i, j in worlds.textbook(rows, rows))
    assert len(expected) > 500
    assert ids(left) == ids(right) == expected
    assert isinstance(left.pairs.keys.base, np.memmap)


# -- what is released --------------------------------------------------------------------------------------

TINY = Geometric(1, Fraction(1, 3), Fraction(1, 4), 1)


def changes(agreed: Agreement, one: tuple[int, int], other: tuple[int, int]) -> list[int]:
    """By how much each bin changes when one record is replaced by another, beside a third."""
    held = [worlds.records([row, (2, 2)], agreed) for row in (one, other)]
    counts = [agreed.plan.counts(Side.A, some.columns, 2) for some in held]
    return [int(c) for c in counts[0] - counts[1] if c]


@pytest.mark.parametrize(
    "passes",
    [("both", "around"), *(pytest.param(each, marks=pytest.mark.slow) for each in (("x", "y"), ("x", "x")))],
)
def test_the_joint_release_of_passes_is_as_private_as_k_says(passes: tuple[str, ...]) -> None:
    """δ(ε) of all counts together, by its definition, for the worst pair of records: that of k' = 2."""
    agreed = agreement(blocking=worlds.passes(*passes), missing="differs")
    rows: list[tuple[int, int]] = list(product([0, 6, None], repeat=2))  # type: ignore[arg-type]
    found = {tuple(sorted(changes(agreed, *pair))) for pair in product(rows, repeat=2)}
    assert max(len(each) for each in found) == 4
    chances = [Fraction(weight, 2**256) for weight in TINY.window.table]
    for epsilon in (Fraction(1, 2), Fraction(7, 6)):
        true = max(moved_delta(chances, list(each), epsilon) for each in found if each)
        stated = exact_delta(TINY, agreed.plan.per_record(Side.A), epsilon)
        assert true <= Fraction(stated) <= true * (1 + Fraction(1, 10**10))
        # Who forgets one of the passes states too little.
        assert exact_delta(TINY, 1, epsilon) < float(true)


def test_auto_is_resolved_before_anything_is_told() -> None:
    """The ledger and the release's name know the mechanism; `auto` and its name are one release."""
    for names, noise in ((("x", "y"), "geometric"), (("x", "y", "x", "y"), "gaussian")):
        auto, named = (
            agreement(blocking=worlds.passes(*names), A=privacy, B=privacy)
            for privacy in ({"epsilon": "1", "delta": "2^-40", "noise": name} for name in ("auto", noise))
        )
        release, other = (one.protocol.release(one.task, Side.A, 100) for one in (auto, named))
        assert release.event == other.event
        assert release.setting is not None
        assert (release.setting.name, release.setting.bins_per_record) == (noise, len(names))
        assert auto.task.placement == named.task.placement
        assert auto.digest != named.digest


def test_a_pass_is_where_its_bins_are_whatever_it_is_called() -> None:
    def placement(blocking: Any) -> bytes:
        return agreement(blocking=blocking).task.placement

    named = worlds.passes("x", "y")
    named["pass"][0]["name"] = "across"
    assert placement(named) == placement(worlds.passes("x", "y")) != placement(worlds.passes("y", "x"))
    assert placement(worlds.passes("x")) == placement(worlds.passes("x")["pass"][0]["parts"])


def for_people(records_per_person: int, noise: str = "geometric") -> Agreement:
    """With that many records a person on side A."""
    plain = agreement().model_dump(mode="json")
    plain["protocol"]["A"] |= {"records_per_person": records_per_person, "noise": noise}
    return Agreement.model_validate(plain)


def released(agreed: Agreement, side: Side) -> NoisyCounts:
    event = agreed.protocol.release(agreed.task, side, 10).event
    assert isinstance(event, NoisyCounts)
    return event


@pytest.mark.parametrize("noise", ["geometric", "gaussian"])
def test_the_noise_hides_all_records_of_a_person(noise: str) -> None:
    agreed, single = for_people(3, noise), for_people(1, noise)
    bins, privacy = agreed.plan.per_record(Side.A), agreed.protocol.model_dump(mode="json")["A"]
    setting = calibrate(noise, privacy["epsilon"], privacy["delta"], bins, records_per_person=3)
    event = released(agreed, Side.A)
    assert (event.noise, event.records_per_person) == (setting.noise, 3)
    assert (event.cost.epsilon, event.cost.delta) == (setting.epsilon, setting.delta)
    assert released(agreed, Side.B).records_per_person == 1
    padding = [one.protocol.padding(one.task, Side.A, 10) for one in (agreed, single)]
    assert padding[0] != padding[1]
    assert [agreed.protocol.records_per_person(agreed.task, side) for side in Side] == [3, 1]
    assert AllPairs(name="all-pairs").records_per_person(agreed.task, Side.A) is None


def test_what_greedy_reveals() -> None:
    """Matches beyond the blocking, where the rule has an index, and the fields of the blocking, too."""
    chosen: list[dict[str, Any]] = [
        {},
        {"rule": "within(y, 1)"},
        {"rule": worlds.WITHOUT_INDEX},
        {"greedy": False},
    ]
    told = [agreement(**one).leakage(Side.A) for one in chosen]
    assert [one.beyond_blocking for one in told] == [True, True, False, False]
    assert [one.fields for one in told] == [("x", "y"), ("y", "x"), ("x", "y"), ()]


# -- disclosure in slices ----------------------------------------------------------------------------------


@settings(max_examples=100)
@given(
    pairs=st.sets(st.tuples(st.integers(0, 12), st.integers(0, 9)), max_size=60),
    first=st.integers(1, 4),
    largest=st.integers(4, 9),
    piece=st.integers(1, 7),
)
def test_slices_double_and_cover_all_pairs(
    pairs: set[tuple[int, int]], first: int, largest: int, piece: int
) -> None:
    every = np.array(sorted(a * 10 + b for a, b in pairs), np.int64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(disclose, "FIRST", first)
        patch.setattr(disclose, "LARGEST", largest)
        patch.setattr(spill, "PIECE", piece)
        ends = cut_slices(every, 10)
    assert ends[-1] == len(every)
    size, start = first, 0
    seen: tuple[set[int], set[int]] = (set(), set())
    for number, end in enumerate(ends):
        news = [{int(v) for v in some} for some in (every[start:end] // 10, every[start:end] % 10)]
        assert all(len(new - known) <= size for new, known in zip(news, seen, strict=True))
        if number < len(ends) - 1:
            beyond = every[end] // 10, every[end] % 10
            full = [len(news[i] - seen[i] | {int(beyond[i])} - seen[i]) > size for i in (0, 1)]
            assert any(full), "the next pair would have had room"
        for known, new in zip(seen, news, strict=True):
            known |= new
        size, start = min(2 * size, largest), end


class AllMatch(IdealEngine):
    """An engine whose bits a cheating partner has set: everything matches."""

    def evaluate(self, *given_: Any) -> Party[Any]:
        return np.ones_like((yield from super().evaluate(*given_)))


@pytest.mark.parametrize(
    ("disclosed", "checked", "shown"), [(["x", "y"], True, (1, 16)), (["x"], False, (40, 40))]
)
def test_who_claims_that_everything_matches_sees_one_slice(
    disclosed: list[str], checked: bool, shown: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """That of one record of A's with sixteen of B's, as pairs come in the order of A's slots. Where the
    fields of the rule are not shown nothing is checked."""
    agreed = worlds.changed(
        agreement(protocol="all-pairs", greedy=False), disclose={"A": disclosed, "B": disclosed}
    )
    assert agreed.task.unseen == (() if checked else ("y",))
    assert agreed.task.shown_fields == (("x", "y") if checked else ())
    seen = dict.fromkeys(Side, 0)

    def counted(task: Any, mine: Any, *rest: Any) -> Disclosed:
        made = show(task, mine, *rest)
        seen[mine.side] += len(made)
        return made

    monkeypatch.setattr(disclose, "disclose", counted)
    apart = [(2 * i % 16, 2 * (i // 8)) for i in range(40)]
    if checked:
        with refused():
            worlds.link(agreed, apart, apart, engine=AllMatch())
    else:
        worlds.link(agreed, apart, apart, engine=AllMatch())
    assert (*seen.values(),) == shown


# -- a partner that lies -----------------------------------------------------------------------------------

Meddle = Callable[[Any], None]
"""Changes what side B discloses."""


def disclosing(change: Callable[[Any, Any], Any]) -> Meddle:
    """With another disclosure: a function of the true one and of what is due."""

    def meddle(side: Any) -> None:
        true = side._disclosure
        side._disclosure = lambda due: change(true, due)

    return meddle


def naming(*records: int) -> Meddle:
    """These records in place of those that are due."""
    return disclosing(lambda true, due: true(np.array(records)) if len(due) else true(due))


def elsewhere(*names: str, x: int | None = None) -> Meddle:
    """Other values of these fields than its own: far away, or elsewhere in the same cell."""

    def change(true: Any, due: Any) -> Any:
        told = true(due)
        for name in names:
            values = told.fields[name].values
            values[:] = 4 * (values // 4) if x is None else x
        return told

    return disclosing(change)


def later(record: int) -> Meddle:
    """Another record, the second time."""
    calls: list[int] = []

    def change(true: Any, due: Any) -> Any:
        calls.append(1)
        return true(np.array([record]) if len(calls) == 2 else due)

    return disclosing(change)


def at_end(*records: int) -> Meddle:
    """Without greedy: these records with their slots."""

    def meddle(side: Any) -> None:
        def disclosure(due: np.ndarray) -> Disclosed:
            record = side._mine.slots.record
            slots = np.flatnonzero(np.isin(record, records))
            slots = slots[np.argsort(record[slots])]
            return show(side._task, side._mine, record[slots], slots, np.array(records, np.int64))

        side._disclosure = disclosure

    return meddle


PLAIN = agreement(greedy=False)
BY_Y = agreement(rule="within(y, 1)")
ONE, TWO, OTHER = [(3, 3)], [(3, 3), (12, 12)], [(3, 3), (12, 8)]
LIES: dict[str, tuple[Agreement, Rows, Rows, Meddle]] = {
    "elsewhere in the same cell": (agreement(), ONE, ONE, elsewhere("x", "y")),
    "values of another cell": (agreement(), ONE, ONE, elsewhere("x", "y", x=15)),
    "in another bin, where the rule accepts it": (BY_Y, ONE, ONE, elsewhere("x", x=15)),
    "no record": (agreement(), ONE, ONE, disclosing(lambda true, due: true(due[:0]))),
    "one more": (agreement(), TWO, OTHER, naming(0, 1)),
    "another": (agreement(), TWO, OTHER, naming(1)),
    "another that is not due, later": (agreement(), TWO, OTHER, later(1)),
    "the same again": (agreement(), ONE, ONE, disclosing(lambda true, due: true(np.array([0])))),
    "one more at the end": (PLAIN, ONE, OTHER, at_end(0, 1)),
    "another at the end": (PLAIN, ONE, OTHER, at_end(1)),
    "no record at the end": (PLAIN, ONE, OTHER, at_end()),
    "fields that the rule denies": (worlds.one_to_one(PLAIN), ONE, OTHER, elsewhere("x", "y", x=15)),
}


@pytest.mark.parametrize("name", LIES)
def test_other_records_than_are_due_are_refused(name: str) -> None:
    with refused():
        lie(*LIES[name])


@pytest.mark.parametrize("agreed", [agreement(), PLAIN], ids=["greedy", "plain"])
def test_a_match_with_a_dummy_is_refused(agreed: Agreement) -> None:
    with refused():
        lie(agreed, ONE, ONE, lambda side: None, AllMatch())


def test_a_record_that_did_not_match_is_refused_beside_one_that_did_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two slots matched, of one record, so another would have room. It would show what it matches."""
    real, shown = parts.encode, list[str]()

    def encode(own: Disclosed) -> bytes:
        shown.extend(own.ids.to_pylist())
        return real(own)

    monkeypatch.setattr(parts, "encode", encode)
    a = [(3, 3)] * 20 + [(12, 8)]
    with refused():
        lie(agreement(blocking=worlds.passes("x", "x")), a, [(3, 3), (11, 8)], naming(0, 1))
    assert "A20" not in shown


def test_another_output_is_noticed() -> None:
    def meddle(side: Any) -> None:
        side._found.add(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]))

    with pytest.raises(PeerError):
        lie(agreement(), [(3, 3), (9, 9)], [(3, 3), (9, 9)], meddle)


def test_all_pairs_with_another_count_than_records_is_refused() -> None:
    agreed, entropy, engine = agreement(protocol="all-pairs"), Seeded(1), IdealEngine()
    own_a = worlds.side(agreed, Side.A, [(3, 3)], entropy, partner=1)
    own_b = worlds.side(agreed, Side.B, [(3, 3)], entropy, np.array([5]), 1)
    with refused():
        run_pair(worlds.run(agreed.task, own_a, engine), worlds.run(agreed.task, own_b, engine))
