"""Answers of a routed linkage: those of the pairs, whoever asks, and after a cut; nothing else is seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accord.agreement.document import Agreement
from accord.entropy import Entropy, Seeded
from accord.fields.columns import Records
from accord.protocols import routed_answers, routed_passes, routing
from accord.protocols.parts.answers import Question
from accord.protocols.parts.lanes import HASHES, Lane
from accord.protocols.parts.outcome import Outcome
from accord.protocols.parts.own_side import OwnSide
from accord.protocols.routed import Routed
from accord.protocols.routed_answers import AnswerPasses, Ints
from accord.protocols.routing import Placing, Words
from accord.secure.engine import Engine
from accord.secure.ideal import IdealEngine
from accord.secure.ot.engine import OtEngine
from accord.secure.party import Party, run_pair
from accord.secure.prf.binned import BinnedFunction
from accord.secure.prf.programmed import fetch
from accord.side import Side
from tests.protocols import worlds
from tests.protocols.test_routed import Kept, Points, agreement, asks, chosen, either
from tests.protocols.views import views

NOBODY: dict[str, Any] = {"A": [], "B": []}
X, Y = ({"column": name, "values": ["5", "6"]} for name in "xy")
ANSWERS: list[dict[str, Any]] = [
    {"answer": "count"},
    {"answer": "table", "by": {"A": X, "B": Y}},
    {"answer": "table", "by": {"B": X}},
    {"answer": "sum", "of": {"side": "A", "column": "y", "low": -2, "high": 9}},
    {"answer": "sum", "of": {"side": "B", "column": "x", "low": 5, "high": 14}},
]


def asking(agreed: Agreement, output: dict[str, Any], noise: str | None = None) -> Agreement:
    more = {"exact": True} if noise is None else {"epsilon": noise}
    plain = agreed.model_dump(mode="json") | {"output": output | more, "disclose": NOBODY}
    return Agreement.model_validate(plain)


def values(outcome: Outcome) -> list[int]:
    assert outcome.answer is not None
    assert outcome.matches is None
    assert not len(outcome.pairs)
    return [cell.value for cell in outcome.answer.cells]


def answer(agreed: Agreement, a: Points, b: Points, seed: int = 0, engine: Engine | None = None) -> list[int]:
    left, right, _ = worlds.link(agreed, a, b, seed, engine=engine)  # type: ignore[arg-type]
    assert values(left) == values(right)
    assert left.digest == right.digest
    return values(left)


def expected(output: dict[str, Any], a: Points, b: Points, pairs: Sequence[tuple[int, int]]) -> list[int]:
    """By the pairs themselves."""
    if output["answer"] == "count":
        return [len(pairs)]
    if output["answer"] == "sum":
        of = output["of"]
        rows = [a[i] if of["side"] == "A" else b[j] for i, j in pairs]
        there = [row["xy".index(of["column"])] for row in rows]
        numbers = [min(of["high"], max(of["low"], n)) for n in there if n is not None]
        return [sum(numbers), len(numbers)]
    names = {side: _categories(output["by"].get(side)) for side in "AB"}
    found = {(x, y): 0 for x in names["A"] for y in names["B"]}
    for i, j in pairs:
        found[_category(output["by"].get("A"), a[i]), _category(output["by"].get("B"), b[j])] += 1
    return list(found.values())


def _categories(by: dict[str, Any] | None) -> list[str]:
    return ["all"] if by is None else [*by["values"], "other"]


def _category(by: dict[str, Any] | None, row: tuple[int | None, int | None]) -> str:
    if by is None:
        return "all"
    value = str(row["xy".index(by["column"])])
    return value if value in by["values"] else "other"


def require_answer(agreed: Agreement, a: Points, b: Points, output: dict[str, Any], seed: int) -> None:
    """The answer is that of the pairs of the same run, which has the same places."""
    left, _, _ = worlds.link(agreed, a, b, seed)  # type: ignore[arg-type]
    pairs = worlds.pairs_of_a(left)
    assert answer(asking(agreed, output), a, b, seed) == expected(output, a, b, pairs)


@settings(max_examples=25)
@given(chosen, either, either, asks, st.integers(1, 3), st.sampled_from(ANSWERS), st.integers(0, 9))
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
    require_answer(agreement(*passes, cap=cap, asks=asker), a, b, output, seed)


@pytest.mark.slow
@settings(max_examples=3_000)
@given(chosen, either, either, asks, st.integers(1, 3), st.sampled_from(ANSWERS), st.integers(0, 99))
def test_thousands_of_answers(
    passes: tuple[str, ...],
    a: Points,
    b: Points,
    asker: str | None,
    cap: int,
    output: dict[str, Any],
    seed: int,
) -> None:
    require_answer(agreement(*passes, cap=cap, asks=asker), a, b, output, seed)


@pytest.mark.parametrize("row", range(3))
def test_an_asker_that_lies_learns_of_one_record_whatever_the_noise(
    row: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the documentation says that it can do: half of the ring for one record, nothing for all others."""
    agreed = asking(agreement("x", cap=1, asks="A"), {"answer": "count"}, "0.01")
    a, b = [(1, 5), (5, 5), (9, 9)], [(1, 5), (9, 9), (14, 1)]

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


def test_an_asker_counts_a_pair_up_to_three_times_by_its_bins(monkeypatch: pytest.MonkeyPatch) -> None:
    """As documented: one value a bin is not one a record. All messages have the announced sizes."""
    rows: Points = [(n, n) for n in range(12)]
    agreed = asking(agreement("x", cap=1, asks="A"), {"answer": "count"})
    honest, _, wire = worlds.link(agreed, rows, rows, 1, engine=OtEngine())  # type: ignore[arg-type]
    assert values(honest) == [12]
    monkeypatch.setattr(routed_passes, "route_asked", ask_in_all_bins)
    lied, _, other = worlds.link(agreed, rows, rows, 1, engine=OtEngine())  # type: ignore[arg-type]
    assert 24 < values(lied)[0] <= 36
    assert other.sizes == wire.sizes


LIARS = [
    {"answer": "table", "by": {"A": X, "B": Y}},
    {"answer": "table", "by": {"A": {"column": "x", "values": ["1", "5", "6", "7"]}}},
    {"answer": "sum", "of": {"side": "A", "column": "y", "low": -2, "high": 9}},
    {"answer": "sum", "of": {"side": "A", "column": "y", "low": 5, "high": 6}},
]


@pytest.mark.parametrize("bit", [0, 1, None])
@pytest.mark.parametrize("output", LIARS)
def test_a_lister_that_lies_counts_each_pair_once(
    output: dict[str, Any], bit: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All bits that it holds of a category or a number are 0, or 1, or any."""
    plain = agreement("x", "y", cap=2, asks="B")
    left, _, _ = worlds.link(plain, A_ROWS, A_ROWS, 3)
    pairs, honest = len(worlds.pairs_of_a(left)), Question.listed

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


A_ROWS: list[tuple[int, int]] = [(1, 5), (5, 5), (6, 6), (9, 9)]
B_ROWS: list[tuple[int, int]] = [(1, 6), (5, 6), (6, 6), (12, 9)]


@pytest.mark.parametrize("output", ANSWERS)
def test_the_real_engine_answers_the_same(output: dict[str, Any]) -> None:
    agreed = agreement("x", "y", cap=2)
    left, _, _ = worlds.link(agreed, A_ROWS, B_ROWS, 3)
    told = expected(output, A_ROWS, B_ROWS, worlds.pairs_of_a(left))
    assert answer(asking(agreed, output), A_ROWS, B_ROWS, 3, OtEngine()) == told


def sides(agreed: Agreement, a: Points, b: Points, seed: int = 5) -> dict[Side, OwnSide]:
    entropy = Seeded(seed)
    return {
        Side.A: worlds.side(agreed, Side.A, a, entropy, partner=len(b)),  # type: ignore[arg-type]
        Side.B: worlds.side(agreed, Side.B, b, entropy, partner=len(a)),  # type: ignore[arg-type]
    }


def noise(agreed: Agreement, mine: OwnSide, sizes: tuple[int, int]) -> np.ndarray:
    """What a side adds, as only it knows."""
    assert isinstance(agreed.protocol, Routed)
    lanes, question = agreed.protocol.lanes(agreed.task, sizes), agreed.protocol.question(agreed.task, sizes)
    return AnswerPasses(agreed.task, lanes, question, mine, IdealEngine()).noise


@pytest.mark.parametrize("output", ANSWERS)
def test_both_add_noise_of_their_own(output: dict[str, Any]) -> None:
    agreed = asking(agreement("x", "y", cap=2), output, "1")
    mine, sizes = sides(agreed, A_ROWS, B_ROWS), (len(A_ROWS), len(B_ROWS))
    engine = IdealEngine()
    a, b = (worlds.run(agreed.task, mine[side], engine) for side in Side)
    left, right = run_pair(a, b)
    added = [noise(agreed, mine[side], sizes) for side in Side]
    assert added[0].tolist() != added[1].tolist()
    assert all(one.any() for one in added)
    exact = answer(asking(agreement("x", "y", cap=2), output), A_ROWS, B_ROWS, 5)
    assert values(left) == values(right) == (np.array(exact) + sum(added)).tolist()
    again = [noise(agreed, replace(mine[side], entropy=Seeded("else")), sizes) for side in Side]
    assert [one.tolist() for one in again] == [one.tolist() for one in added], "the noise is the run's own"
    other = sides(agreed, A_ROWS, B_ROWS, seed=6)
    assert noise(agreed, other[Side.A], sizes).tolist() != added[0].tolist(), "another run has other noise"


@pytest.mark.parametrize("engine", ["ideal", "ot"])
@pytest.mark.parametrize("side", list(Side))
def test_overlap_shows_in_no_message(side: Side, engine: str) -> None:
    """Sizes, numbers and order of messages are those of any table of the size."""
    agreed = asking(agreement("x", "y", cap=2), ANSWERS[0], "1")
    seen = []
    for b in (B_ROWS, [(15, 15), (14, 14), (13, 13), (12, 12)], [(1, 5), (5, 5), (6, 6), (9, 9)]):
        mine = sides(agreed, A_ROWS, b)
        made = views(
            agreed.task, mine[Side.A], mine[Side.B], IdealEngine() if engine == "ideal" else OtEngine()
        )
        seen.append(([len(m) for m in made[side].received], made[side].sent))
    assert seen[0] == seen[1] == seen[2]


# -- a run that is cut -------------------------------------------------------------------------------------

CUT = asking(agreement("x", "y", cap=2), ANSWERS[0], "1")
STEPS = 5
"""Commitments, two passes, that both have kept them, the answer."""


def attempt(mine: dict[Side, OwnSide], journals: dict[Side, Kept], coins: str) -> tuple[Outcome, Outcome]:
    engine, entropy = IdealEngine(), Seeded(coins)
    own = {s: replace(mine[s], entropy=entropy.stream(s.value), journal=journals[s]) for s in Side}
    a, b = (worlds.run(CUT.task, own[s], engine) for s in Side)
    return run_pair(a, b)


CUTS = [
    *((kept, kept) for kept in range(STEPS + 1)),
    *((kept + 1, kept) for kept in range(STEPS)),
    *((kept, kept + 1) for kept in range(STEPS)),
]


@pytest.mark.parametrize("steps", CUTS)
def test_a_run_that_was_cut_comes_to_the_same_answer(steps: tuple[int, int]) -> None:
    mine = sides(CUT, A_ROWS, B_ROWS)
    first = {side: Kept() for side in Side}
    whole = attempt(mine, first, "first")
    shared = min(steps)
    kept = {}
    for side, own in zip(Side, steps, strict=True):
        # A share that is made anew is dropped, as `FileJournal.meet` does.
        anew = CUT.protocol.made_anew(CUT.task, shared)
        kept[side] = first[side].cut(shared if anew else own, shared)
    again = attempt(mine, kept, "second")
    assert values(again[0]) == values(again[1]) == values(whole[0])
    assert [len(kept[side].answers) for side in Side] == [STEPS, STEPS]


def test_shares_are_fresh_and_noise_is_sent_after_both_have_kept_them() -> None:
    mine = sides(CUT, A_ROWS, B_ROWS)
    first, second = ({side: Kept() for side in Side} for _ in range(2))
    attempt(mine, first, "first")
    attempt(mine, second, "second")
    steps = [CUT.protocol.made_anew(CUT.task, step) for step in range(STEPS)]
    assert steps == [False, True, True, False, False]
    for side in Side:
        one, two = first[side].answers, second[side].answers
        assert [x == y for x, y in zip(one, two, strict=True)] == [not anew for anew in steps]


def test_a_count_that_forgets_earlier_passes_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken: pairs that meet in both passes count twice."""
    monkeypatch.setattr(routed_answers, "_earlier", lambda task, lanes: iter(()))
    same: list[tuple[int, int]] = [(1, 5), (5, 5)]
    agreed = asking(agreement("x", "y", cap=2), ANSWERS[0])
    assert answer(agreed, same, same) == [4]
