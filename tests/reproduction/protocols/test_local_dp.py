"""Local DP: full windows find everything, recall is what the formula says, reports are sticky and checked."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from accord.agreement.document import Agreement
from accord.entropy import Entropy, Seeded
from accord.errors import PeerError, UsageError
from accord.fields.columns import Records
from accord.privacy.release import Snapshot
from accord.protocols.base import prepare
from accord.protocols.greedy import GreedyClean
from accord.protocols.parts.own_side import OwnSide
from accord.protocols.parts.slots import shuffle_slots
from accord.secure.ideal import IdealEngine
from accord.secure.ot.engine import OtEngine
from accord.secure.party import run_pair
from accord.side import Side
from accord.state.ledger import Ask
from reproduction.protocols.local_dp import LocalDp
from reproduction.protocols.randomised_response import PublicBins, Reports
from tests.protocols import worlds
from tests.protocols.views import views
from tests.protocols.worlds import run
from tests.spent import Spent, SpentError

EPSILON = {"epsilon": "1"}
PUBLIC = {"public": True}
NORMAL = 4.9
"""Two-sided, below a false-alarm rate of 1e-6."""


RULE = "same(x) and within(y, 1)"


def agreement(
    window: int,
    a: dict[str, Any] = EPSILON,
    b: dict[str, Any] = EPSILON,
    rule: str = RULE,
    missing: str = "error",
    **options: Any,
) -> Agreement:
    """16 bins, by x."""
    plain = worlds.agreement(rule=rule).model_dump(mode="json")
    plain["blocking"] = [{"kind": "key", "field": "x"}]
    plain["fields"]["x"]["missing"] = missing
    plain["protocol"] = {"name": "local-dp", "A": a, "B": b, "window": window, **options}
    return Agreement.model_validate(plain)


def side(agreed: Agreement, which: Side, rows: worlds.Rows, entropy: Seeded, partner: int = 1) -> OwnSide:
    held, own = worlds.records(rows, agreed, which.value), entropy.stream(which.value)
    release = agreed.protocol.release(agreed.task, which, len(held))
    assert release.event is not None
    return prepare(agreed.task, which, held, partner, release.draw(held, own), own, (release.event,))


def options(agreed: Agreement) -> LocalDp:
    assert isinstance(agreed.protocol, LocalDp)
    return agreed.protocol


def draw(agreed: Agreement, held: Records, entropy: Entropy) -> NDArray[np.int64]:
    return agreed.protocol.release(agreed.task, Side.A, len(held)).draw(held, entropy)


def key(agreed: Agreement, which: Side) -> bytes | None:
    release = agreed.protocol.release(agreed.task, which, 5)
    assert release.event is not None
    return Ask("r", "d", "p", b"", release.place, release.event, Snapshot("s", b"")).key


def link(agreed: Agreement, a: worlds.Rows, b: worlds.Rows, seed: int = 0, engine: Any = None) -> Any:
    entropy, chosen = Seeded(seed), engine or IdealEngine()
    own = side(agreed, Side.A, a, entropy, len(b)), side(agreed, Side.B, b, entropy, len(a))
    return run_pair(run(agreed.task, own[0], chosen), run(agreed.task, own[1], chosen))


def textbook(a: worlds.Rows, b: worlds.Rows) -> list[tuple[int, int]]:
    return [(i, j) for i, (x, y) in enumerate(a) for j, (u, v) in enumerate(b) if x == u and abs(y - v) <= 1]


points = st.tuples(st.integers(0, 15), st.integers(0, 15))
tables = st.lists(points, max_size=15) | st.lists(st.tuples(st.integers(3, 4), st.integers(3, 5)), max_size=9)


@given(tables, tables, st.integers(0, 99), st.booleans(), st.booleans())
def test_a_window_of_all_bins_finds_everything(
    a: worlds.Rows, b: worlds.Rows, seed: int, greedy: bool, index: bool
) -> None:
    left, right = link(agreement(16, rule=RULE if index else f"not not ({RULE})", greedy=greedy), a, b, seed)
    assert worlds.pairs_of_a(left) == worlds.pairs_of_b(right) == textbook(a, b)
    assert left.dummies == right.dummies == 0
    assert left.comparisons == right.comparisons <= len(a) * len(b)
    if not greedy:
        assert left.comparisons == len(a) * len(b)


@given(tables, tables, st.integers(0, 99), st.integers(1, 15), st.booleans())
def test_a_smaller_window_finds_the_matches_among_the_reports_that_it_compares(
    a: worlds.Rows, b: worlds.Rows, seed: int, window: int, candidates: bool
) -> None:
    """Without greedy, and with greedy that is bound to candidates, exactly those."""
    chosen: dict[str, Any] = {"rule": f"not not ({RULE})"} if candidates else {"greedy": False}
    agreed = agreement(window, **chosen)
    left, right = link(agreed, a, b, seed)
    entropy = Seeded(seed)
    bins = []
    for which, rows in ((Side.A, a), (Side.B, b)):
        slots = side(agreed, which, rows, entropy).slots
        of = np.zeros(len(rows), np.int64)
        of[slots.record] = np.repeat(np.arange(16), slots.counts)
        bins.append(of)
    met = [(i, j) for i, j in textbook(a, b) if (bins[1][j] - bins[0][i]) % 16 < window]
    assert worlds.pairs_of_b(right) == worlds.pairs_of_a(left)
    if candidates:
        # A match that is a candidate is found when its records are disclosed, by whatever match.
        assert set(worlds.pairs_of_a(left)) == set(met)
    else:
        assert worlds.pairs_of_a(left) == met


@settings(max_examples=4)
@given(tables, tables)
def test_the_real_engine_gives_the_same(a: worlds.Rows, b: worlds.Rows) -> None:
    agreed = agreement(5)
    ideal, _ = link(agreed, a, b)
    left, _ = link(agreed, a, b, engine=OtEngine())
    assert worlds.pairs_of_a(left) == worlds.pairs_of_a(ideal)
    assert left.comparisons == ideal.comparisons


STRATEGIES: dict[str, dict[str, Any]] = {
    "basic": {"window": 3, "spread": 1},
    "x": {"window": 4, "spread": 3},
    "best": {"window": 6, "a": {"epsilon": "3"}, "b": {"epsilon": "2"}},
    "A public": {"window": 4, "a": PUBLIC},
    "B public": {"window": 4, "b": PUBLIC},
    "round the end": {"window": 14, "spread": 9},
}


@pytest.mark.parametrize(
    "name",
    # The two that are told apart in most ways; in `make slow` all.
    [n if n in ("best", "round the end") else pytest.param(n, marks=pytest.mark.slow) for n in STRATEGIES],
)
def test_measured_recall_is_the_formulas(name: str) -> None:
    """6,000 matches of one record each; false-alarm rate below 1e-6 for each strategy."""
    agreed = agreement(greedy=False, rule="same(x) and same(y)", **STRATEGIES[name])
    found = tried = 0
    for seed in range(25):
        rows = [(i, j) for i in range(16) for j in range(15)]
        left, _ = link(agreed, rows, rows, seed)
        found, tried = found + len(left.own), tried + len(rows)
    expected = options(agreed).expected_recall(16)
    assert 0 < expected < 1
    assert abs(found / tried - expected) < NORMAL * sqrt(expected * (1 - expected) / tried)


def test_the_spread_is_agreed_or_the_best() -> None:
    assert options(agreement(3, spread=2)).likely(16) == 2
    assert options(agreement(3, a=PUBLIC)).likely(16) == 3
    best = options(agreement(8)).likely(16)
    recalls = [options(agreement(8, spread=x)).expected_recall(16) for x in range(1, 9)]
    assert recalls[best - 1] == max(recalls)


def test_events_say_what_was_released() -> None:
    left, right = link(agreement(3, b=PUBLIC), [(1, 1)], [(1, 1)])
    response = options(agreement(3, b=PUBLIC)).response(16, Side.A)
    assert response is not None
    assert (response.spread, response.start) == (3, 2)
    assert left.released == (Reports(response),)
    assert right.released == (PublicBins(),)


def test_records_without_a_bin_report_one_like_all_others() -> None:
    agreed = agreement(16, rule="within(y, 0)", missing="differs")
    rows: Any = [(None, 4), (3, 5)]
    entropy = Seeded(3)
    own = side(agreed, Side.A, rows, entropy)
    assert sorted(own.slots.record) == [0, 1], "as many slots as records: nothing tells that one has no bin"
    left, _ = link(agreed, rows, rows[:1])
    assert worlds.pairs_of_a(left) == [(0, 0)], "and what does not depend on the bin still matches"


# -- sticky reports ---------------------------------------------------------------------------------------


def test_reports_of_a_release_are_named_by_how_they_are_drawn() -> None:
    agreed = agreement(3)
    keys = {
        key(agreed, Side.A),
        key(agreed, Side.B),
        key(agreement(3, a={"epsilon": "2"}), Side.A),
        key(agreement(3, spread=1), Side.A),
    }
    assert len(keys) == 4 - (options(agreed).likely(16) == 1)
    assert key(agreed.model_copy(update={"salt": "11111111"}), Side.A) in keys, "no text is hashed with it"
    assert key(agreement(3, a=PUBLIC), Side.A) is None


def test_what_is_stored_needs_no_fresh_noise_and_must_fit_the_table() -> None:
    agreed = agreement(3)
    held = worlds.records([(1, 1), (2, 2)], agreed)
    with pytest.raises(SpentError):
        draw(agreed, held, Spent())
    for wrong in (np.zeros(3, np.int64), np.array([0, 16]), np.array([-1, 0])):
        with pytest.raises(UsageError, match="not those of this table"):
            prepare(agreed.task, Side.A, held, 1, wrong, Seeded(1))


def test_stored_reports_fit_the_ledgers_format() -> None:
    from accord.state.noise import decode_noise, encode_noise

    agreed = agreement(3)
    reports = draw(agreed, worlds.records([(1, 1), (2, 2)], agreed), Seeded(1))
    assert (decode_noise(encode_noise(reports)) == reports).all()


# -- what the messages tell -------------------------------------------------------------------------------


def test_messages_depend_on_reports_and_output_alone() -> None:
    """Two tables of B that differ in a record without a match; the same reports give the same shape."""
    agreed, shapes = agreement(4), []
    for other in ((9, 9), (2, 14)):
        own_a = side(agreed, Side.A, [(5, 5), (6, 1)], Seeded(1), 2)
        held = worlds.records([(5, 5), other], agreed, "B")
        own_b = prepare(agreed.task, Side.B, held, 2, np.array([5, 7]), Seeded(2))
        seen = views(agreed.task, own_a, own_b, IdealEngine())[Side.A]
        sizes = seen.sent, tuple(map(len, seen.received))
        shapes.append((*sizes, seen.received[1][32:], seen.outcome.comparisons))
    assert shapes[0] == shapes[1]


def test_a_partner_with_another_number_of_slots_than_records_is_refused() -> None:
    agreed, entropy = agreement(4), Seeded(1)
    own_a = side(agreed, Side.A, [(5, 5)], entropy)
    held = worlds.records([(5, 5)], agreed, "B")
    slots = shuffle_slots(np.array([0, -1]), np.array([5, 6]), 16, held, entropy)
    own_b = OwnSide(Side.B, held, 1, slots, entropy)
    with pytest.raises(PeerError, match="another number of slots than of records"):
        run_pair(run(agreed.task, own_a, IdealEngine()), run(agreed.task, own_b, IdealEngine()))


def test_a_record_with_more_than_one_report_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    true = GreedyClean._disclosure

    def disclosure(own: GreedyClean, records: np.ndarray) -> Any:
        told = true(own, records)
        if own._mine.side is Side.A or not len(told):
            return told
        every = np.arange(len(own._mine.slots.record))
        return replace(told, slot_counts=np.array([len(every)]), slots=every)

    monkeypatch.setattr(GreedyClean, "_disclosure", disclosure)
    with pytest.raises(PeerError, match="more or less than one report"):
        link(agreement(16), [(5, 5)], [(5, 5), (9, 9)])


def test_a_person_with_several_records_has_the_same_promise_with_smaller_reports() -> None:
    person, single = {"epsilon": "2", "records_per_person": 4}, {"epsilon": "1/2"}
    many, one = options(agreement(5, person, person)), options(agreement(5, single, single))
    assert many.response(16, Side.A) == one.response(16, Side.A)
    assert many.likely(16) == one.likely(16)
    assert many.expected_recall(16) == one.expected_recall(16)
    agreed = agreement(5, person, EPSILON)
    event = agreed.protocol.release(agreed.task, Side.A, 10).event
    assert isinstance(event, Reports)
    assert (event.response.epsilon, event.records_per_person) == (Fraction(1, 2), 4)
    assert event.cost.epsilon == agreed.leakage(Side.A).epsilon == 2
    assert [agreed.protocol.records_per_person(agreed.task, which) for which in Side] == [4, 1]


def test_of_public_bins_nothing_is_promised_to_people() -> None:
    agreed = agreement(5, PUBLIC)
    assert agreed.protocol.records_per_person(agreed.task, Side.A) is None
    with pytest.raises(ValueError, match="goes with epsilon"):
        agreement(5, PUBLIC | {"records_per_person": 2})
