"""Disclosure without greedy, in slices, each of which is checked: false records and matches are found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accord.agreement.document import Agreement
from accord.errors import PeerError
from accord.protocols import disclose
from accord.protocols.disclose import cut_slices
from accord.protocols.found import disclose as show
from accord.protocols.parts.disclosed import Disclosed
from accord.secure.ideal import IdealEngine
from accord.secure.party import Party
from accord.side import Side
from tests.protocols import worlds
from tests.protocols.liars import lie


@pytest.mark.parametrize(
    ("named", "words"),
    [((0, 1), "2 disclosed records where 1 can match"), ((1,), "did not match"), ((), "other records than")],
)
def test_other_records_than_those_that_matched_are_refused(named: tuple[int, ...], words: str) -> None:
    def meddle(side: Any) -> None:
        def disclosure(records: np.ndarray) -> Disclosed:
            record = side._mine.slots.record
            slots = np.flatnonzero(np.isin(record, named))
            slots = slots[np.argsort(record[slots])]
            rows = np.array(named, np.int64)
            return show(side._task, side._mine, record[slots], slots, rows)

        side._disclosure = disclosure

    with pytest.raises(PeerError, match=words):
        lie(worlds.agreement(greedy=False), [(3, 3)], [(3, 3), (12, 8)], meddle)


pairs = st.sets(st.tuples(st.integers(0, 12), st.integers(0, 9)), max_size=60)


@settings(max_examples=200, deadline=None)
@given(pairs=pairs, first=st.integers(1, 4), largest=st.integers(4, 9), piece=st.integers(1, 7))
def test_slices_double_and_cover_all_pairs(
    pairs: set[tuple[int, int]], first: int, largest: int, piece: int
) -> None:
    every = np.array(sorted(a * 10 + b for a, b in pairs), np.int64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(disclose, "FIRST", first)
        patch.setattr(disclose, "LARGEST", largest)
        patch.setattr("accord.spill.PIECE", piece)
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


class Claims:
    """An engine in the clear that says that everything matches."""

    def __init__(self) -> None:
        self._true = IdealEngine()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._true, name)

    def evaluate(self, *args: Any) -> Party[Any]:
        return np.ones_like((yield from self._true.evaluate(*args)))


def _all_pairs(disclosed: list[str]) -> Agreement:
    agreed = worlds.agreement(protocol="all-pairs", greedy=False)
    return Agreement.model_validate(agreed.model_dump() | {"disclose": {"A": disclosed, "B": disclosed}})


def _apart(count: int) -> worlds.Rows:
    return [(2 * i % 16, 2 * (i // 8)) for i in range(count)]


def _shown(agreed: Agreement, a: worlds.Rows, b: worlds.Rows) -> tuple[dict[Side, int], Exception | None]:
    """How many records each side showed to a partner whose engine claims that everything matches."""
    shown = dict.fromkeys(Side, 0)

    def counted(task: Any, mine: Any, *rest: Any) -> Disclosed:
        made = show(task, mine, *rest)
        shown[mine.side] += len(made)
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(disclose, "disclose", counted)
        try:
            worlds.link(agreed, a, b, engine=Claims())
        except PeerError as error:
            return shown, error
    return shown, None


def test_who_claims_that_everything_matches_sees_one_slice() -> None:
    """That of one record of A's with sixteen of B's, as pairs come in the order of A's slots."""
    shown, error = _shown(_all_pairs(["x", "y"]), _apart(40), _apart(40))
    assert error is not None
    assert "a match that the rule denies" in str(error)
    assert shown == {Side.A: 1, Side.B: 16}


def test_where_the_fields_of_the_rule_are_not_shown_nothing_is_checked() -> None:
    agreed = _all_pairs(["x"])
    assert agreed.task.unseen == ("y",)
    shown, error = _shown(agreed, _apart(40), _apart(40))
    assert error is None
    assert shown == {Side.A: 40, Side.B: 40}


@pytest.mark.parametrize("disclosed", [["x", "y"], []])
def test_fields_of_the_rule_travel_only_where_both_sides_show_them(disclosed: list[str]) -> None:
    task = _all_pairs(disclosed).task
    assert task.shown_fields == (("x", "y") if disclosed else ())
    assert task.unseen == (() if disclosed else ("x", "y"))


@pytest.mark.parametrize("style", ["neighbours", "replicate"])
@given(data=st.data())
def test_many_slices_find_what_one_finds(style: str, data: st.DataObject) -> None:
    rows = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), min_size=1, max_size=30)
    a, b = data.draw(rows), data.draw(rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(disclose, "FIRST", 1)
        patch.setattr(disclose, "LARGEST", 4)
        left, right, _ = worlds.link(worlds.agreement(greedy=False, style=style), a, b)
    assert worlds.pairs_of_a(left) == worlds.pairs_of_b(right) == worlds.textbook(a, b)
