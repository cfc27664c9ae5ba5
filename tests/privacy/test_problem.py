"""Neighbours by their definition, and the graphs of three definitions of privacy."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.errors import UsageError
from accord.privacy.problem import Problem, Table, all_tables, difference


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Any f whatever over few tables."""
    records = draw(st.integers(1, 4))
    sizes = draw(st.sampled_from([(2,), (3,), (0, 1, 2), (1, 2), (0, 2)]))
    tables = all_tables(range(records), *sizes, repeats=draw(st.booleans()))
    told = draw(st.lists(st.integers(0, 2), min_size=len(tables), max_size=len(tables)))
    return Problem(dict(zip(tables, told, strict=True)).__getitem__, tables)


def between(one: Table, middle: Table, two: Table) -> bool:
    """Whether each record is in the middle as often as in one of the two, or a number between."""
    counts = [Counter(table) for table in (one, middle, two)]
    held = all(
        min(first[r], last[r]) <= inner[r] <= max(first[r], last[r])
        for first, inner, last in [counts]
        for r in {*one, *middle, *two}
    )
    return held and middle not in (one, two)


@given(problems())
def test_neighbours_have_the_same_output_and_nothing_lies_between_them(problem: Problem) -> None:
    expected = {
        (one, two)
        for one, two in combinations(problem.tables, 2)
        if problem.output(one) == problem.output(two)
        and not any(
            between(one, middle, two)
            for middle in problem.tables
            if problem.output(middle) == problem.output(one)
        )
    }
    assert set(problem.graph.edges) == expected
    assert len(problem.graph.edges) == len(expected)
    for table in problem.tables:
        assert set(problem.neighbours(table)) == set(problem.graph.beside[table])


@given(problems())
def test_what_has_one_output_is_connected_and_nothing_else(problem: Problem) -> None:
    """Of the tables between two of a class, one that lies nearest is a neighbour of the first and nearer to
    the second. So both graphs have the classes of f as their components; in that of IND-S2PC one step leads
    everywhere."""
    classes = {frozenset(tables) for tables in problem.classes.values()}
    assert problem.graph.components() == classes
    assert problem.alike.components() == classes
    assert set(problem.graph.edges) <= set(problem.alike.edges)
    for table in problem.tables:
        assert max(problem.alike.distances(table).values()) <= 1


@pytest.mark.parametrize("repeats", [True, False])
def test_differential_privacy_is_the_case_in_which_nothing_is_told(repeats: bool) -> None:
    tables = all_tables("abcd", 0, 1, 2, 3, repeats=repeats)
    pairs = list(combinations(tables, 2))
    free, sized = Problem(lambda table: None, tables), Problem(len, tables)
    assert set(free.graph.edges) == {pair for pair in pairs if len(difference(*pair)) == 1}
    assert set(sized.graph.edges) == {
        (one, two) for one, two in pairs if len(one) == len(two) and len(difference(one, two)) == 2
    }
    assert len(free.graph.components()) == 1
    for table in tables:
        assert free.graph.distances(table) == {other: len(difference(table, other)) for other in tables}


def test_neighbours_may_differ_in_more_than_one_record() -> None:
    """Where f is a sum, one record cannot change alone [HMFS17, §3.3]."""
    problem = Problem(sum, all_tables(range(5), 2))
    assert problem.neighbours((0, 4)) == ((1, 3), (2, 2))
    assert {len(difference(*edge)) for edge in problem.graph.edges} == {4}
    assert problem.neighbours((0, 0)) == ()


def test_copies_of_a_record_count() -> None:
    problem = Problem(len, all_tables("xy", 2))
    assert difference(("x", "x"), ("x", "y")) == {("x", 1), ("y", 0)}
    assert problem.neighbours(("x", "x")) == (("x", "y"),)
    assert problem.graph.distances(("x", "x")) == {("x", "x"): 0, ("x", "y"): 1, ("y", "y"): 2}


def test_a_table_of_another_problem_is_refused() -> None:
    with pytest.raises(UsageError, match="not among the tables"):
        Problem(len, all_tables("xy", 2)).neighbours(("y", "x"))


def test_tables_may_come_from_a_generator_or_as_lists() -> None:
    """What is read only once would leave nobody with neighbours, and every leak acquitted."""
    tables = all_tables("xy", 2)
    listed: Any
    for listed in ((table for table in tables), [list(table) for table in tables]):
        assert Problem(len, listed).graph == Problem(len, tables).graph
    assert all_tables("xyx", 2, 2) == tables


def test_what_is_no_table_is_refused() -> None:
    sizes: Any
    for sizes in ((), (-1,), (2.0,)):
        with pytest.raises(UsageError, match="sizes of tables"):
            all_tables("xy", *sizes)
    lists: Any = ([1], [2])
    with pytest.raises(UsageError, match="Records must be hashable"):
        all_tables(lists, 1)
    with pytest.raises(UsageError, match="Records must be hashable"):
        Problem(len, (lists,))
    with pytest.raises(UsageError, match="hold the same records"):
        Problem(len, (("x", "y"), ("y", "x")))
    with pytest.raises(UsageError, match="What f says of a table must be hashable"):
        Problem(list, all_tables("xy", 2)).neighbours(("x", "x"))  # type: ignore[arg-type]
