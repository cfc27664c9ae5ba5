"""Neighbours are what the guarantee speaks of, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from accord.agreement.file import require_sound
from accord.errors import UsageError
from accord.fields.columns import Records
from accord.fields.load import load_records
from accord.protocols.intersection import Intersecting
from accord.protocols.registry import PROTOCOLS
from accord.protocols.routed import Routed
from accord.side import Side
from reproduction.audit.cases import Case, built_in, options, require_neighbours


def case() -> Case:
    return built_in(options("laplace", "1", "1e-3"))[3]


def records(points: list[tuple[int, int]]) -> Records:
    agreed = case().agreement
    table = pa.table(
        {
            "id": [f"r{i}" for i in range(len(points))],
            "x": [p[0] for p in points],
            "y": [p[1] for p in points],
        }
    )
    return load_records(table, agreed.fields, agreed.salt, ["x", "y"])


def test_built_in_cases_are_neighbours_whose_bins_differ() -> None:
    for name in (
        *("laplace", "all-pairs", "psi", "psi-expand", "blocking", "laplace-suppress", "local-dp"),
        "routed",
    ):
        found = built_in(options(name, "1", "1e-3"))
        names = ["alone", "matched", "crowd", *(["beside", "passes"] if name != "local-dp" else [])]
        assert [(each.name, each.side) for each in found] == [(n, side) for n in names for side in Side]
        for each in found:
            require_neighbours(each)
            counts = [
                each.agreement.plan.counts(each.side, t.columns, len(t)) for t in (each.table, each.neighbour)
            ]
            assert np.abs(counts[0] - counts[1]).any() == PROTOCOLS[name].blocked
            require_sound(each.agreement, simulated=True)


@pytest.mark.parametrize("name", ["psi", "psi-expand"])
def test_an_intersection_is_audited_from_both_ends(name: str) -> None:
    """On each side the record at stake is once with those who list their values, once with those who ask."""

    def lists(case: Case) -> bool:
        protocol = case.agreement.protocol
        assert isinstance(protocol, Intersecting)
        work = protocol.workload(case.agreement.task, case.side, len(case.table), len(case.partner))
        return work.lists

    found = {(each.side, lists(each)) for each in built_in(options(name, "", ""))}
    assert found == {(side, listing) for side in Side for listing in (True, False)}


def test_bins_are_as_many_as_the_window_and_the_spread_of_local_dp_need() -> None:
    wide = options("local-dp", "1", "") | {"window": 20, "spread": 10}
    assert {each.agreement.plan.bins for each in built_in(wide)} == {20}


def test_a_record_at_a_corner_of_the_grid_moves_from_three_cells_to_three_others() -> None:
    beside = next(c for c in reversed(built_in(options("laplace", "1", "1e-3"))) if c.name == "beside")
    counts = [
        beside.agreement.plan.counts(Side.B, t.columns, len(t)) for t in (beside.table, beside.neighbour)
    ]
    assert np.abs(counts[0] - counts[1]).sum() == 6
    assert beside.agreement.plan.per_record(Side.B) == 4


def test_a_record_moves_in_every_pass() -> None:
    last = built_in(options("laplace", "1", "1e-3"))[-1]
    counts = [last.agreement.plan.counts(Side.B, t.columns, len(t)) for t in (last.table, last.neighbour)]
    assert (counts[0] - counts[1]).tolist() == [1, -1, 0, 1, -1, 0]
    assert last.agreement.plan.per_record(Side.B) == 2


@pytest.mark.parametrize(
    ("points", "said"),
    [
        ([(0, 4)], "same number of records"),
        ([(0, 4), (2, 8), (2, 16), (2, 24), (2, 32), (2, 40)], "these differ in 0"),
        ([(1, 4), (1, 8), (2, 16), (2, 24), (2, 32), (2, 40)], "these differ in 2"),
        ([(2, 9), (2, 8), (2, 16), (2, 24), (2, 32), (2, 40)], r"row 1\) matches one"),
    ],
)
def test_other_tables_are_refused(points: list[tuple[int, int]], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        require_neighbours(replace(case(), neighbour=records(points)))


def test_a_change_of_what_is_disclosed_counts_too() -> None:
    good = case()
    shown = good.neighbour.disclosed.set_column(0, "x", pa.array(["9"] * len(good.neighbour)))
    with pytest.raises(UsageError, match="differ in 6"):
        require_neighbours(replace(good, neighbour=replace(good.neighbour, disclosed=shown)))


def test_over_a_cap_nothing_is_promised_so_nothing_is_judged() -> None:
    """Of few places cases with many records of a key are left out, and such tables of one's own refused."""
    few = built_in(options("routed", "", "") | {"cap": 2})
    assert {each.name for each in few} == {"alone", "beside", "passes"}
    crowded = next(c for c in built_in(options("routed", "", "")) if c.name == "crowd")
    tight = crowded.agreement.model_dump(mode="json") | {"protocol": {"name": "routed", "cap": 5}}
    with pytest.raises(UsageError, match="does not cover a record"):
        require_neighbours(replace(crowded, agreement=type(crowded.agreement).model_validate(tight)))


def test_keys_that_others_overfill_are_no_matter() -> None:
    """The theorem speaks of the keys of the record at stake."""
    alone = next(c for c in built_in(options("routed", "", "")) if c.name == "alone")
    more = [(2, 30 + i) for i in range(9)]
    require_neighbours(replace(alone, table=records([(0, 9), *more]), neighbour=records([(1, 9), *more])))


def test_routing_is_audited_from_both_ends() -> None:
    """On each side the record at stake is once with those who ask, once with those who list."""

    def asks(case: Case) -> bool:
        protocol, sizes = case.agreement.protocol, (len(case.table), len(case.partner))
        assert isinstance(protocol, Routed)
        both = sizes if case.side is Side.A else sizes[::-1]
        return protocol.lanes(case.agreement.task, both)[0].asker is case.side

    found = {(each.side, asks(each)) for each in built_in(options("routed", "", ""))}
    assert found == {(side, asking) for side in Side for asking in (True, False)}
