"""Answers and sealed rows: what a record can change of an answer, by brute force; keys that open a row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import permutations, product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.agreement.document import Agreement
from accord.fields.columns import Records
from accord.protocols.parts import sealed
from accord.protocols.parts.answers import Question, cell_names, decode_answer, pairs_of_one
from accord.protocols.parts.output import Output
from accord.protocols.parts.sealed import open_rows, seal_rows, sealed_bytes, taken_bytes
from accord.secure.ideal import rows_of
from accord.side import Side
from tests.protocols import worlds

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


def found(a: list[Row], b: list[Row], cap: int, orders: tuple[Order, ...]) -> set[tuple[int, int]]:
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


def cells(name: str, a: list[Row], pairs: set[tuple[int, int]]) -> np.ndarray:
    """The answer, by A's rows."""
    if name == "count":
        return np.array([len(pairs)])
    if name == "table":
        return np.array([sum(a[i][0] == 0 for i, _ in pairs), sum(a[i][0] != 0 for i, _ in pairs)])
    return np.array([sum(3 * a[i][1] - 1 for i, _ in pairs), len(pairs)])


def neighbours(size: int) -> Iterator[tuple[list[Row], list[Row]]]:
    """Tables of A that differ in their first record."""
    for first, other in product(EVERY, repeat=2):
        for rest in product(EVERY, repeat=size - 1):
            yield [first, *rest], [other, *rest]


@pytest.mark.parametrize("displaces", [True, False])
@pytest.mark.parametrize("name", list(OUTPUTS))
def test_no_neighbour_changes_more_than_is_told(name: str, displaces: bool) -> None:
    """Whether or not the record matches. Without displacement: tables none of whose keys is too full."""
    cap, most = 1 if displaces else 2, 0
    orders = list(permutations(range(2)))
    for (one, two), b in product(neighbours(2), product(EVERY, repeat=2)):
        for chosen in product(orders, repeat=4) if displaces else [(orders[0],) * 4]:
            first, second = (cells(name, a, found(a, list(b), cap, chosen)) for a in (one, two))
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
    counts = [len(found(a, b, 2, orders)) for a in ([(0, 0), (1, 1)], [(5, 5), (6, 6)])]
    assert [counts[0] - counts[1]] == asked("count", 2, False, people=2).changes(Side.A) == [8]
    assert asked("count", 2, True, people=2).changes(Side.A) == [16], "a displaced record counts as well"
    tables = [cells("table", a, found(a, b, 2, ((0,), tuple(range(8))) * 2)) for a in ([(0, 0)], [(1, 1)])]
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
                seen[number] += np.roll(shape, len(found(a, b, 1, chosen)))
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


@pytest.mark.parametrize("asker", list(Side))
@pytest.mark.parametrize("side", list(Side))
def test_bits_and_weights_make_the_cells(asker: Side, side: Side) -> None:
    """Every pair of two tables counts, here; shares are all on one side."""
    by = {s: {"column": c, "values": ["1", "2"]} for s, c in (("A", "x"), ("B", "y"))}
    total = {"answer": "sum", "of": {"side": side.value, "column": "y", "low": -3, "high": 11}}
    rows: dict[Side, list[Any]] = {
        Side.A: [(1, 2), (2, 15), (3, None)],
        Side.B: [(1, 1), (1, 2), (2, 2), (4, None)],
    }
    for output in ({"answer": "table", "by": by}, total, {"answer": "count"}):
        question = Question(Output.model_validate(output | {"exact": True}), asker, BOTH, BOTH, True)
        tally = question.tally
        weights, lister = question.weights(shown(*rows[asker])), shown(*rows[asker.other])
        listed = {} if tally.by is None else {tally.by.of.name: question.listed(lister)}
        counts = rows_of(tally, listed, np.arange(len(lister))).sum(axis=0)
        sums = (counts[:, None] * weights.sum(axis=0)[None, :]).reshape(-1)
        answer = question.answer(question.cells(sums))
        assert [cell.value for cell in answer.cells] == plain(output, rows, side)
        assert all(cell.within == 0 for cell in answer.cells)


def plain(output: dict[str, Any], rows: dict[Side, list[Any]], side: Side) -> list[int]:
    a, b = rows[Side.A], rows[Side.B]
    if output["answer"] == "count":
        return [len(a) * len(b)]
    if output["answer"] == "sum":
        numbers = [min(11, max(-3, y)) for _, y in rows[side] if y is not None]
        return [sum(numbers) * len(rows[side.other]), len(numbers) * len(rows[side.other])]
    of_a, of_b = ([[r[i] == v for r in t] for v in (1, 2)] for i, t in ((0, a), (1, b)))
    of_a.append([not any(c) for c in zip(*of_a, strict=True)])
    of_b.append([not any(c) for c in zip(*of_b, strict=True)])
    return [sum(x) * sum(y) for x in of_a for y in of_b]


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
    ],
)
def test_numbers_as_programs_write_them(cell: str, number: int | None) -> None:
    """A column of floats as text, and cells that are no number."""
    of = {"side": "A", "column": "y", "low": -3, "high": 11}
    output = Output.model_validate({"answer": "sum", "exact": True, "of": of})
    for asker in Side:
        question = Question(output, asker, BOTH, BOTH, True)
        sums = (question.weights if asker is Side.A else question.listed)(shown((0, cell))).reshape(-1)
        assert question.answer(question.cells(sums)).values == (number or 0, number is not None)


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


def keys(count: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 1 << 63, (count, 2), np.uint64)


@given(st.lists(st.tuples(st.text(max_size=6), texts, texts), max_size=6))
def test_what_is_sealed_is_opened(rows: list[tuple[str, str | None, str | None]]) -> None:
    ids, x, y = (pa.array([row[i] for row in rows], pa.large_string()) for i in range(3))
    columns = pa.table({"x": x, "y": y})
    made = seal_rows(RUN, ids, columns, keys(len(rows)), ROOM)
    assert made.shape == (len(rows), sealed_bytes(ROOM))
    found, names, shown = open_rows(RUN, made, keys(len(rows)), ("x", "y"))
    assert found.tolist() == list(range(len(rows)))
    assert names.to_pylist() == ids.to_pylist()
    assert shown.to_pydict() == columns.to_pydict()


def test_another_key_or_run_opens_nothing() -> None:
    ids, nothing = pa.array(["a", "b"]), pa.table({})
    made = seal_rows(RUN, ids, nothing, keys(2), ROOM)
    assert not len(open_rows(RUN, made, keys(2, seed=2), ())[0])
    assert not len(open_rows(b"another", made, keys(2), ())[0])
    mixed = np.concatenate([keys(1), keys(1, seed=2)])
    assert open_rows(RUN, made, mixed, ())[0].tolist() == [0]


def test_long_and_short_rows_look_alike() -> None:
    """Bits of 200 rows of one letter and of twenty: shares of ones within 5 deviations of a half, a false
    alarm in 10⁶."""
    for letters in (1, 20):
        made = seal_rows(RUN, pa.array(["x" * letters] * 200), pa.table({}), keys(200), ROOM)
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
    rows = seal_rows(RUN, pa.array(["a", "b"]), columns, keys(2), ROOM)
    wrong = np.zeros((1, rows.shape[1]), np.uint8)
    wrong[0, 8 : 8 + len(made_up)] = made_up
    third = wrong ^ sealed._expand(RUN, keys(3)[2:], rows.shape[1])
    found, ids, shown = open_rows(
        RUN, np.concatenate([rows[:1], third, rows[1:]]), keys(3)[[0, 2, 1]], ("x",)
    )
    assert found.tolist() == [0, 2]
    assert ids.to_pylist() == ["a", "b"]
    assert shown["x"].to_pylist() == ["1", None]


def test_what_a_row_takes() -> None:
    records = worlds.records([(1, 12)], worlds.agreement(), prefix="r")
    assert taken_bytes(records).tolist() == [4 + 2 + 4 + 1 + 4 + 2]
