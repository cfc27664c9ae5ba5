"""Answers of routed and of all pairs: over full keys, with noise, from partners that lie, after a cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accord.agreement.document import Agreement
from accord.agreement.file import require_sound
from accord.entropy import Entropy, Seeded
from accord.errors import AgreementError
from accord.fields.columns import Records
from accord.protocols import routed_answers, routed_passes, routing
from accord.protocols.parts.answers import Question
from accord.protocols.parts.lanes import HASHES, Lane
from accord.protocols.parts.outcome import Outcome
from accord.protocols.parts.own_side import OwnSide
from accord.protocols.routed import Routed
from accord.protocols.routed_answers import AnswerPasses, Ints
from accord.protocols.routing import Placing, Words
from accord.secure.ideal import IdealEngine
from accord.secure.ot.engine import OtEngine
from accord.secure.party import Party, run_pair
from accord.secure.prf.binned import BinnedFunction
from accord.secure.prf.programmed import fetch
from accord.side import Side
from tests.protocols import worlds
from tests.protocols.worlds import (
    ANSWERS,
    Kept,
    Pairs,
    Points,
    X,
    Y,
    answer,
    asking,
    cuts,
    join,
    routed,
    values,
)

A_ROWS: Points = [(1, 5), (5, 5), (6, 6), (9, 9)]
B_ROWS: Points = [(1, 6), (5, 6), (6, 6), (12, 9)]
PLAIN = routed("x", "y", cap=2)


def expected(output: dict[str, Any], a: Points, b: Points, pairs: Pairs) -> list[int]:
    """By the pairs themselves."""
    if output["answer"] == "count":
        return [len(pairs)]
    if output["answer"] == "sum":
        of = output["of"]
        rows = [a[i] if of["side"] == "A" else b[j] for i, j in pairs]
        there = [row["xy".index(of["column"])] for row in rows]
        numbers = [min(of["high"], max(of["low"], n)) for n in there if n is not None]
        return [sum(numbers), len(numbers)]
    by = [output["by"].get(side) for side in "AB"]
    names = [["all"] if of is None else [*of["values"], "other"] for of in by]
    found = {(x, y): 0 for x in names[0] for y in names[1]}
    for i, j in pairs:
        found[_category(by[0], a[i]), _category(by[1], b[j])] += 1
    return list(found.values())


def _category(by: dict[str, Any] | None, row: Sequence[int | None]) -> str:
    if by is None:
        return "all"
    value = str(row["xy".index(by["column"])])
    return value if value in by["values"] else "other"


@settings(max_examples=15)
@given(
    worlds.chosen, worlds.tables, worlds.tables, worlds.askers, st.integers(1, 3), st.sampled_from(ANSWERS),
    st.integers(0, 9),
)  # fmt: skip
def test_the_answer_is_that_of_the_pairs(
    passes: tuple[str, ...],
    a: Points,
    b: Points,
    asker: str | None,
    cap: int,
    output: dict[str, Any],
    seed: int,
) -> None:
    """Also where keys are too full: the same run with pairs has the same places. A pair counts once, however
    often it meets."""
    agreed = routed(*passes, cap=cap, asks=asker)
    pairs = join(agreed, a, b, seed)
    assert answer(asking(agreed, output), a, b, seed) == expected(output, a, b, pairs)


def test_a_count_that_forgets_earlier_passes_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken: pairs that meet in both passes count twice."""
    monkeypatch.setattr(routed_answers, "_earlier", lambda task, lanes: iter(()))
    same: Points = [(1, 5), (5, 5)]
    assert answer(asking(PLAIN, ANSWERS[0]), same, same) == [4]


def noise(agreed: Agreement, mine: OwnSide) -> np.ndarray:
    """What a side adds, as only it knows."""
    assert isinstance(agreed.protocol, Routed)
    sizes = len(A_ROWS), len(B_ROWS)
    lanes, question = agreed.protocol.lanes(agreed.task, sizes), agreed.protocol.question(agreed.task, sizes)
    return AnswerPasses(agreed.task, lanes, question, mine, IdealEngine()).noise


@pytest.mark.parametrize("output", ANSWERS)
def test_both_add_noise_of_their_own(output: dict[str, Any]) -> None:
    agreed, engine = asking(PLAIN, output, "1"), IdealEngine()
    mine = worlds.sides(agreed, A_ROWS, B_ROWS)
    left, right = run_pair(*(worlds.run(agreed.task, own, engine) for own in mine.values()))
    added = [noise(agreed, own) for own in mine.values()]
    assert added[0].tolist() != added[1].tolist()
    assert all(one.any() for one in added)
    exact = answer(asking(PLAIN, output), A_ROWS, B_ROWS, 5)
    assert values(left) == values(right) == (np.array(exact) + sum(added)).tolist()
    again = [noise(agreed, replace(own, entropy=Seeded("else"))) for own in mine.values()]
    assert [one.tolist() for one in again] == [one.tolist() for one in added], "the noise is the run's own"
    other = worlds.sides(agreed, A_ROWS, B_ROWS, seed=6)
    assert noise(agreed, other[Side.A]).tolist() != added[0].tolist(), "another run has other noise"


def test_noise_is_for_routed() -> None:
    exact, noisy = (asking(worlds.agreement(protocol="all-pairs"), ANSWERS[0], of) for of in (None, "1"))
    require_sound(exact)
    assert exact.protocol.guarantee(exact.task, Side.A).epsilon is None
    with pytest.raises(AgreementError):
        require_sound(noisy)


# -- a partner that lies -----------------------------------------------------------------------------------


@pytest.mark.parametrize("row", range(3))
def test_an_asker_that_lies_learns_of_one_record_whatever_the_noise(
    row: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the documentation says that it can do: half of the ring for one record, nothing for all others."""
    agreed = asking(routed("x", cap=1, asks="A"), ANSWERS[0], "0.01")
    a: Points = [(1, 5), (5, 5), (9, 9)]
    b: Points = [(1, 5), (9, 9), (14, 1)]

    def lie(question: Question, records: Records) -> Ints:
        return np.where(np.arange(len(records)) == row, 1 << (question.bits - 1), 0)[:, None]

    monkeypatch.setattr(Question, "weights", lie)
    (found,) = answer(agreed, a, b)
    assert isinstance(agreed.protocol, Routed)
    half = 1 << (agreed.protocol.question(agreed.task, (3, 3)).bits - 1)
    assert (abs(found) > half // 2) == (a[row] in b)


def ask_in_all_bins(
    function: BinnedFunction, lane: Lane, own: Placing, width: int, entropy: Entropy
) -> Party[tuple[Ints, Words]]:
    """A lie: each query stands in all of its bins that are free, not in one."""
    base, entry = routing._points(function, lane, own, lane.asker, entropy)
    real = entry >= 0
    cells = routing._bins(function, base, lane.bins)[real]
    at, first = np.unique(cells.reshape(-1), return_index=True)
    asked = np.repeat(base[real], HASHES, axis=0)
    asked.reshape(-1, HASHES, 2)[:, :, 0] ^= np.arange(HASHES, dtype=np.uint64)
    asked, held = asked[first], routing._draw(entropy, lane.bins, width)
    seeds = yield from function.ask(asked, at, lane.bins)
    yield from fetch(function, seeds, asked, lane.programmed, held, at)
    record = np.full(lane.bins, -1, np.int64)
    record[at] = np.repeat(own.record[entry[real]], HASHES)[first]
    return record, held


@pytest.mark.usefixtures("quick")
def test_an_asker_counts_a_pair_up_to_three_times_by_its_bins(monkeypatch: pytest.MonkeyPatch) -> None:
    """As documented: one value a bin is not one a record. All messages have the announced sizes."""
    rows: list[tuple[int, int]] = [(n, n) for n in range(12)]
    agreed = asking(routed("x", cap=1, asks="A"), ANSWERS[0])
    honest, _, wire = worlds.link(agreed, rows, rows, 1, engine=OtEngine())
    assert values(honest) == [12]
    monkeypatch.setattr(routed_passes, "route_asked", ask_in_all_bins)
    lied, _, other = worlds.link(agreed, rows, rows, 1, engine=OtEngine())
    assert 24 < values(lied)[0] <= 36
    assert other.sizes == wire.sizes


LIARS = [
    {"answer": "table", "by": {"A": X, "B": Y}},
    {"answer": "table", "by": {"A": {"column": "x", "values": ["1", "5", "6", "7"]}}},
    {"answer": "sum", "of": {"side": "A", "column": "y", "low": -2, "high": 9}},
    {"answer": "sum", "of": {"side": "A", "column": "y", "low": 5, "high": 6}},
]


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("bit", [0, 1, None])
@pytest.mark.parametrize("output", LIARS)
def test_a_lister_that_lies_counts_each_pair_once(
    output: dict[str, Any], bit: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All bits that it holds of a category or a number are 0, or 1, or any."""
    plain = routed("x", "y", cap=2, asks="B")
    pairs, honest = len(join(plain, A_ROWS, A_ROWS, 3)), Question.listed

    def lie(question: Question, records: Records) -> Ints:
        said = honest(question, records)
        return np.random.default_rng(9).integers(0, 2, said.shape) if bit is None else np.full_like(said, bit)

    monkeypatch.setattr(Question, "listed", lie)
    found = answer(asking(plain, output), A_ROWS, A_ROWS, 3, OtEngine())
    if output["answer"] == "table":
        assert sum(found) == pairs > 0
        assert min(found) >= 0
    else:
        low, width = output["of"]["low"], (output["of"]["high"] - output["of"]["low"]).bit_length()
        total, count = found
        assert 0 <= count <= pairs
        assert bit is None or count == pairs * bit
        assert low * count <= total <= (low + (1 << width) - 1) * count


# -- a run that is cut -------------------------------------------------------------------------------------

CUT = asking(PLAIN, ANSWERS[0], "1")
STEPS = 5
"""Commitments, two passes, that both have kept them, the answer."""


def attempt(mine: dict[Side, OwnSide], journals: dict[Side, Kept], coins: str) -> tuple[Outcome, Outcome]:
    engine, entropy = IdealEngine(), Seeded(coins)
    own = [replace(mine[s], entropy=entropy.stream(s.value), journal=journals[s]) for s in Side]
    return run_pair(*(worlds.run(CUT.task, each, engine) for each in own))


@pytest.mark.parametrize("steps", cuts(STEPS))
def test_a_run_that_was_cut_comes_to_the_same_answer(steps: tuple[int, int]) -> None:
    mine, first = worlds.sides(CUT, A_ROWS, B_ROWS), {side: Kept() for side in Side}
    whole = attempt(mine, first, "first")
    shared = min(steps)
    # A share that is made anew is dropped, as `FileJournal.meet` does.
    anew = CUT.protocol.made_anew(CUT.task, shared)
    kept = {s: first[s].cut(shared if anew else own, shared) for s, own in zip(Side, steps, strict=True)}
    again = attempt(mine, kept, "second")
    assert values(again[0]) == values(again[1]) == values(whole[0])
    assert [len(kept[side].answers) for side in Side] == [STEPS, STEPS]


def test_shares_are_fresh_and_noise_is_sent_after_both_have_kept_them() -> None:
    mine = worlds.sides(CUT, A_ROWS, B_ROWS)
    first, second = ({side: Kept() for side in Side} for _ in range(2))
    attempt(mine, first, "first")
    attempt(mine, second, "second")
    steps = [CUT.protocol.made_anew(CUT.task, step) for step in range(STEPS)]
    assert steps == [False, True, True, False, False]
    for side in Side:
        one, two = first[side].answers, second[side].answers
        assert [x == y for x, y in zip(one, two, strict=True)] == [not anew for anew in steps]


@pytest.mark.parametrize("greedy", [True, False])
def test_over_all_pairs_what_both_have_kept_is_asked_once(greedy: bool) -> None:
    """Else a partner could count again, with another table."""
    agreed = asking(worlds.agreement(protocol="all-pairs", greedy=greedy), ANSWERS[0])
    assert agreed.protocol.steps_at_once(agreed.task) == 1
    assert [agreed.protocol.made_anew(agreed.task, step) for step in range(4)] == [False, True, False, False]
