"""Answers of routed and of all pairs: over full keys, with noise, from partners that lie, asked again; what a
record can change of an answer, by brute force; sealed rows, and keys that open them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, permutations, product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accord.agreement.document import Agreement
from accord.entropy import Entropy, Seeded
from accord.fields.columns import Records
from accord.protocols import routed_passes, routing
from accord.protocols.parts import sealed
from accord.protocols.parts.answers import Question, cell_names, decode_answer, pairs_of_one
from accord.protocols.parts.lanes import HASHES, Lane
from accord.protocols.parts.output import Output
from accord.protocols.parts.own_side import OwnSide
from accord.protocols.parts.sealed import open_rows, seal_rows, sealed_bytes, taken_bytes
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
from tests.protocols.worlds import ANSWERS, Kept, Pairs, Points, answer, asking, join, routed, values

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


FIVE = {"answer": "table", "by": {"A": {"column": "x", "values": ["1", "5", "6", "7"]}}}


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("output", "bit"),
    [(ANSWERS[1], 1), (FIVE, 0), (FIVE, None), (ANSWERS[3], 0), (ANSWERS[3], 1), (ANSWERS[3], None)],
)
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


# -- an answer that is asked again -------------------------------------------------------------------------


def test_shares_are_fresh_and_noise_is_sent_after_both_have_kept_them() -> None:
    """The steps: commitments, two passes, that both have kept them, the answer."""
    agreed = asking(PLAIN, ANSWERS[0], "1")
    mine, kept = worlds.sides(agreed, A_ROWS, B_ROWS), {side: (Kept(), Kept()) for side in Side}
    engine = IdealEngine()
    for n in range(2):
        own = [replace(mine[s], entropy=Seeded(f"{n}{s.value}"), journal=kept[s][n]) for s in Side]
        run_pair(*(worlds.run(agreed.task, each, engine) for each in own))
    steps = [agreed.protocol.made_anew(agreed.task, step) for step in range(5)]
    assert steps == [False, True, True, False, False]
    for side in Side:
        one, two = (journal.answers for journal in kept[side])
        assert [x == y for x, y in zip(one, two, strict=True)] == [not anew for anew in steps]


@pytest.mark.parametrize("greedy", [True, False])
def test_over_all_pairs_what_both_have_kept_is_asked_once(greedy: bool) -> None:
    """Else a partner could count again, with another table."""
    agreed = asking(worlds.agreement(protocol="all-pairs", greedy=greedy), ANSWERS[0])
    assert agreed.protocol.steps_at_once(agreed.task) == 1
    assert [agreed.protocol.made_anew(agreed.task, step) for step in range(4)] == [False, True, False, False]


# -- what a record can change ------------------------------------------------------------------------------

Row = tuple[int, int]
"""A record: its key in each of two passes."""
Order = tuple[int, ...]
EVERY: list[Row] = [(x, y) for x in range(2) for y in range(2)]
BOTH = dict.fromkeys(Side, 4)
ROUTED = worlds.agreement(protocol="routed", missing="differs", blocking=worlds.passes("x"))
SEX = {"column": "x", "values": ["0"]}
NUMBER = {"side": "A", "column": "y", "low": -1, "high": 2}
OUTPUTS: dict[str, dict[str, Any]] = {
    "count": {"answer": "count"},
    "table": {"answer": "table", "by": {"A": SEX}},
    "sum": {"answer": "sum", "of": NUMBER},
}


def asked(name: str, cap: int, displaces: bool, size: int = 2, people: int = 1) -> Question:
    output = Output.model_validate(OUTPUTS[name] | {"epsilon": "1", "records_per_person": people})
    ones, caps = [dict.fromkeys(Side, 1)] * 2, [dict.fromkeys(Side, cap)] * 2
    return Question(output, Side.A, pairs_of_one(ones, caps), dict.fromkeys(Side, size), displaces)


def met(a: list[Row], b: list[Row], cap: int, orders: tuple[Order, ...]) -> set[tuple[int, int]]:
    """All pairs that meet, every one of which matches; the first `cap` of a key, in an order for each side
    and pass, have a place."""
    pairs = set()
    for place in range(2):
        placed = []
        for rows, order in ((a, orders[2 * place]), (b, orders[2 * place + 1])):
            keys = [rows[i][place] for i in order]
            placed.append([i for n, i in enumerate(order) if keys[:n].count(keys[n]) < cap])
        pairs |= {(i, j) for i in placed[0] for j in placed[1] if a[i][place] == b[j][place]}
    return pairs


def cells_of(name: str, a: list[Row], pairs: set[tuple[int, int]]) -> np.ndarray:
    """The answer, by A's rows."""
    if name == "count":
        return np.array([len(pairs)])
    if name == "table":
        return np.array([sum(a[i][0] == 0 for i, _ in pairs), sum(a[i][0] != 0 for i, _ in pairs)])
    return np.array([sum(3 * a[i][1] - 1 for i, _ in pairs), len(pairs)])


def neighbours(size: int) -> Iterator[tuple[list[Row], list[Row]]]:
    """Tables of A that differ in their first record."""
    for first, other in permutations(EVERY, 2):
        for rest in product(EVERY, repeat=size - 1):
            yield [first, *rest], [other, *rest]


@pytest.mark.parametrize("displaces", [True, False])
@pytest.mark.parametrize("name", list(OUTPUTS))
def test_no_neighbour_changes_more_than_is_told(name: str, displaces: bool) -> None:
    """Whether or not the record matches. Without displacement: tables none of whose keys is too full."""
    cap, most = 1 if displaces else 2, 0
    orders = list(permutations(range(2)))
    for (one, two), b in product(neighbours(2), combinations_with_replacement(EVERY, 2)):
        for chosen in product(orders, repeat=4) if displaces else [(orders[0],) * 4]:
            first, second = (cells_of(name, a, met(a, list(b), cap, chosen)) for a in (one, two))
            apart = np.abs(first - second)
            most = max(most, int(apart.sum() if name == "table" else apart[0]))
    told = asked(name, cap, displaces).changes(Side.A)[0]
    assert most <= told
    # With one key a pass and two records not everything that could happen does.
    assert 2 * most >= told


def test_a_person_has_the_pairs_of_all_records() -> None:
    """Without displacement: each of two records is in all four pairs that it can be in."""
    b = [(x, 7) for x in (0, 0, 1, 1)] + [(7, y) for y in (0, 0, 1, 1)]
    orders = ((0, 1), tuple(range(8))) * 2
    counts = [len(met(a, b, 2, orders)) for a in ([(0, 0), (1, 1)], [(5, 5), (6, 6)])]
    assert [counts[0] - counts[1]] == asked("count", 2, False, people=2).changes(Side.A) == [8]
    assert asked("count", 2, True, people=2).changes(Side.A) == [16], "a displaced record counts as well"
    tables = [cells_of("table", a, met(a, b, 2, ((0,), tuple(range(8))) * 2)) for a in ([(0, 0)], [(1, 1)])]
    assert [np.abs(tables[0] - tables[1]).sum()] * 2 == asked("table", 2, False).changes(Side.A) == [8, 8]


def test_what_is_released_is_as_private_as_claimed() -> None:
    """Exactly: the answers of two neighbours, over all orders, with the noise of one side."""
    noise = asked("count", 1, True).noise(Side.A)[0]
    far = np.arange(-60, 61)
    shape = noise.ratio ** np.abs(far) * (1 - noise.ratio) / (1 + noise.ratio)
    orders = list(permutations(range(2)))
    worst = 0.0
    for (one, two), b in product(neighbours(2), [[(0, 0), (0, 1)], [(0, 0), (0, 0)]]):
        seen = np.zeros((2, len(far)))
        for chosen in product(orders, repeat=4):
            for number, a in enumerate((one, two)):
                seen[number] += np.roll(shape, len(met(a, b, 1, chosen)))
        inside = slice(8, -8)
        worst = max(worst, float((seen[0, inside] / seen[1, inside]).max()))
    assert worst <= np.exp(1) * (1 + 1e-9)


# -- arithmetic --------------------------------------------------------------------------------------------


def shown(*rows: tuple[object, object]) -> Records:
    """Records that show these values of x and y."""
    table = worlds.records([(0, 0)] * len(rows), ROUTED)
    cells = zip(*([None if v is None else str(v) for v in row] for row in rows), strict=True)
    columns = {name: pa.array(v, pa.large_string()) for name, v in zip("xy", cells, strict=True)}
    return replace(table, disclosed=pa.table(columns))


def test_noise_may_take_a_number_below_zero() -> None:
    question = asked("count", 1, True)
    (cell,) = question.answer(np.array([(1 << question.bits) - 5])).cells
    assert cell.value == -5
    assert cell.within > 10


def test_an_answer_is_kept_as_it_is() -> None:
    question = asked("table", 2, True)
    answer = question.answer(np.array([7, 300]))
    assert decode_answer(question.output, answer.encode()) == answer
    assert answer.table().column_names == ["x_a", "value", "low", "high"]
    assert answer.table()["x_a"].to_pylist() == ["0", "other"]
    assert cell_names(question.output) == [("0",), ("other",)]


def test_a_sum_comes_with_its_mean() -> None:
    question = asked("sum", 1, False, size=10**6)
    assert "1.5" in question.answer(np.array([3_000_000, 2_000_000])).describe()[-1]
    assert Fraction(question.noise(Side.A)[1].scale) == Fraction(2, Fraction(1, 2))


@pytest.mark.parametrize("asker", list(Side))
def test_a_sum_is_as_private_as_its_bits_can_say(asker: Side) -> None:
    """Ten bits for 0 to 1,000 can say 1,023; an asker's own number is a weight."""
    of = {"side": "A", "column": "y", "low": 0, "high": 1000}
    output = Output.model_validate({"answer": "sum", "epsilon": "1", "of": of})
    question = Question(output, asker, BOTH, BOTH, False)
    most = 1000 if asker is Side.A else 1023
    assert question.changes(Side.A) == question.changes(Side.B) == [4 * most, 4]
    exact = replace(question, output=output.model_copy(update={"epsilon": None, "exact": True}))
    sums = [9] * exact.tally.rows if asker is Side.B else [9, 9000]
    assert exact.answer(exact.cells(np.array(sums))).values == (9 * most, 9)


def test_what_is_too_large_for_a_ring_is_refused_before_a_run() -> None:
    changed = ROUTED.model_dump(mode="json") | {"disclose": {"A": [], "B": []}}
    for high, refused in ((10**12, True), (10**2, False)):
        output = {"answer": "sum", "epsilon": "2^-30", "of": NUMBER | {"high": high}}
        agreed = Agreement.model_validate(changed | {"output": output})
        assert bool(agreed.protocol.refuse_sizes(agreed.task, Side.A, 10**6, 10**6)) == refused


@pytest.mark.parametrize(
    ("cell", "number"),
    [
        ("1e-05", 0),
        ("1E16", 11),
        ("-1e999", -3),
        ("12345678901234567890", 11),
        ("0" * 40 + "7", 7),
        ("4.000000000000000000001", 4),
        ("+.5e1", 5),
        (" 20e-1 ", 2),
        ("1e", None),
        ("e5", None),
        ("1e5000", None),
        ("nan", None),
        ("0x10", None),
        (None, None),
    ],
)
def test_numbers_as_programs_write_them(cell: str | None, number: int | None) -> None:
    """A column of floats as text, and cells that are no number."""
    of = {"side": "A", "column": "y", "low": -3, "high": 11}
    output = Output.model_validate({"answer": "sum", "exact": True, "of": of})
    for asker in Side:
        question = Question(output, asker, BOTH, BOTH, True)
        sums = (question.weights if asker is Side.A else question.listed)(shown((0, cell))).reshape(-1)
        answer = question.answer(question.cells(sums))
        assert answer.values == (number or 0, number is not None)
        assert all(of.within == 0 for of in answer.cells)


@pytest.mark.parametrize("name", list(OUTPUTS))
def test_noise_wider_than_any_answer_is_told(name: str) -> None:
    """Of two passes with caps of one: noise of 2·2/ε on each side, and no more than 10 pairs."""
    (told,) = asked(name, 1, True, size=5).tell_drowned()
    assert "10" in told
    assert asked(name, 1, True, size=500).tell_drowned() == []


# -- sealed rows -------------------------------------------------------------------------------------------

texts = st.none() | st.text(max_size=6)
ROOM = 120
RUN = b"a run"


def keys_of(count: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 1 << 63, (count, 2), np.uint64)


@given(st.lists(st.tuples(st.text(max_size=6), texts, texts), max_size=6))
def test_what_is_sealed_is_opened(rows: list[tuple[str, str | None, str | None]]) -> None:
    ids, x, y = (pa.array([row[i] for row in rows], pa.large_string()) for i in range(3))
    columns = pa.table({"x": x, "y": y})
    made = seal_rows(RUN, ids, columns, keys_of(len(rows)), ROOM)
    assert made.shape == (len(rows), sealed_bytes(ROOM))
    found, names, shown = open_rows(RUN, made, keys_of(len(rows)), ("x", "y"))
    assert found.tolist() == list(range(len(rows)))
    assert names.to_pylist() == ids.to_pylist()
    assert shown.to_pydict() == columns.to_pydict()


def test_another_key_or_run_opens_nothing() -> None:
    ids, nothing = pa.array(["a", "b"]), pa.table({})
    made = seal_rows(RUN, ids, nothing, keys_of(2), ROOM)
    assert not len(open_rows(RUN, made, keys_of(2, seed=2), ())[0])
    assert not len(open_rows(b"another", made, keys_of(2), ())[0])
    mixed = np.concatenate([keys_of(1), keys_of(1, seed=2)])
    assert open_rows(RUN, made, mixed, ())[0].tolist() == [0]


def test_long_and_short_rows_look_alike() -> None:
    """Bits of 200 rows of one letter and of twenty: shares of ones within 5 deviations of a half, a false
    alarm in 10⁶."""
    for letters in (1, 20):
        made = seal_rows(RUN, pa.array(["x" * letters] * 200), pa.table({}), keys_of(200), ROOM)
        bits = np.unpackbits(made)
        assert abs(bits.mean() - 0.5) < 5 * 0.5 / np.sqrt(len(bits))


MADE_UP = {
    "longer than there is": [255, 255, 0, 0],
    "no UTF-8": [1, 0, 0, 0, 0xFF],
    "no id": [255, 255, 255, 255],
    "no room for the next": [113, 0, 0, 0],
}


@pytest.mark.parametrize("made_up", MADE_UP.values(), ids=MADE_UP)
def test_a_row_that_was_made_up_is_not_among_those_opened(made_up: list[int]) -> None:
    """And the others are: who made it up learns nothing by it."""
    columns = pa.table({"x": pa.array(["1", None], pa.large_string())})
    rows = seal_rows(RUN, pa.array(["a", "b"]), columns, keys_of(2), ROOM)
    wrong = np.zeros((1, rows.shape[1]), np.uint8)
    wrong[0, 8 : 8 + len(made_up)] = made_up
    third = wrong ^ sealed._expand(RUN, keys_of(3)[2:], rows.shape[1])
    found, ids, shown = open_rows(
        RUN, np.concatenate([rows[:1], third, rows[1:]]), keys_of(3)[[0, 2, 1]], ("x",)
    )
    assert found.tolist() == [0, 2]
    assert ids.to_pylist() == ["a", "b"]
    assert shown["x"].to_pylist() == ["1", None]


def test_what_a_row_takes() -> None:
    records = worlds.records([(1, 12)], worlds.agreement(), prefix="r")
    assert taken_bytes(records).tolist() == [4 + 2 + 4 + 1 + 4 + 2]
