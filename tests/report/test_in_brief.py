"""A run in three sentences: their numbers are those of the run, for whatever comes out of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from accord.agreement.document import Agreement
from accord.privacy.events import NO_COST, Cost
from accord.privacy.number import show
from accord.protocols.parts.answers import decode_answer
from accord.report.in_brief import tell_in_brief
from accord.run.remembered import Remembered, remember
from accord.side import Side
from accord.wording import lasting, sized
from tests.run import faults

COUNT = {"answer": "count", "epsilon": "1"}
TABLE = {"answer": "table", "epsilon": "2", "by": {"A": {"column": "x", "values": ["1", "9"]}}}
SUM = {"answer": "sum", "exact": True, "of": {"side": "B", "column": "y", "low": 0, "high": 20}}
NOBODY: dict[str, list[str]] = {"A": [], "B": []}


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Remembered:
    """A run that is done, between alice and bob, as alice remembers it."""
    both = faults.offices(tmp_path_factory.mktemp("done"))
    faults.link(both)
    office = both[Side.A]
    assert office.run is not None
    found = remember(office.state, office.run.manifest.run)
    assert isinstance(found, Remembered)
    return replace(found, bytes=1_234_567)


def _agreed(kind: str = "routed", **changes: Any) -> Agreement:
    return Agreement.model_validate(faults.agreement(kind).model_dump(mode="json") | changes)


def _answered(done: Remembered, output: dict[str, Any], values: list[tuple[int, int]]) -> Remembered:
    agreed = _agreed(output=output, disclose=NOBODY)
    return replace(done, agreement=agreed, matches=None, answer=decode_answer(agreed.output, values))


def test_numbers_are_those_of_the_run(done: Remembered) -> None:
    found, shown, cost = tell_in_brief(done)
    assert done.receipt is not None
    assert done.charged is not None
    assert done.phases is not None
    for number in (
        done.receipt.facts["matches"],
        done.records,
        done.receipt.facts["parties"]["B"]["records"],
    ):
        assert f" {number:,} " in found
    assert f"({done.records:,})" in shown
    assert "its id, x, y" in shown
    assert "if it followed the protocol" in shown
    assert f"ε = {show(done.charged.epsilon)}" in cost
    assert f"δ = {show(done.charged.delta)}" in cost
    assert lasting(sum(done.phases.values())) in cost
    assert sized(1_234_567) in cost


@pytest.mark.parametrize("kind", [*faults.KINDS, *faults.INTERSECTIONS])
def test_bins_are_spoken_of_where_there_are_some(done: Remembered, kind: str) -> None:
    agreed = _agreed(kind)
    shown = tell_in_brief(replace(done, agreement=agreed))[1]
    bins = agreed.leakage(Side.A).bins
    assert (f"your {bins} bins" in shown) == (agreed.leakage(Side.A).guarantee.told == "noisy counts")


@pytest.mark.parametrize(
    ("output", "values"),
    [
        (COUNT, [(1_200, 49)]),
        (TABLE, [(4, 6), (3, 6), (17, 6)]),
        (SUM, [(140, 0), (9, 0)]),
    ],
)
def test_an_answer_is_told_with_how_near_it_is(
    done: Remembered, output: dict[str, Any], values: list[tuple[int, int]]
) -> None:
    run = _answered(done, output, values)
    found, shown, cost = tell_in_brief(run)
    for value, within in values:
        assert f"{value:,} ± {within}" in found if within else f"{value:,}" in found
    assert ("95 of 100 runs" in found) == any(within for _, within in values)
    assert "the same answer" in shown
    assert "its id" not in shown
    if output.get("exact"):
        assert "promises nothing" in tell_in_brief(replace(run, charged=None))[2]
        assert "ε" not in tell_in_brief(replace(run, charged=None))[2]
    assert done.charged is not None
    assert show(done.charged.epsilon) in cost


def test_one_side_alone_is_told_the_pairs(done: Remembered) -> None:
    agreed = _agreed(output={"to": "A"}, disclose={"A": [], "B": ["x"]})
    mine = replace(done, agreement=agreed, matches=6)
    found, shown, _ = tell_in_brief(mine)
    assert " 6 pairs" in found
    assert "only you were told" in found
    assert "records that match" not in shown
    theirs = replace(mine, side=Side.B, matches=None)
    found, shown, _ = tell_in_brief(theirs)
    assert "only alice was told" in found
    assert "6" not in found
    assert "records that match its id, x" in shown
    assert "not opened" in tell_in_brief(replace(mine, matches=None))[0]


def test_pseudonyms_are_no_ids(done: Remembered) -> None:
    agreed = _agreed(output={"ids": "pseudonyms"}, disclose=NOBODY)
    shown = tell_in_brief(replace(done, agreement=agreed))[1]
    assert "a name of this run alone" in shown
    assert "its id" not in shown


@pytest.mark.parametrize("ended", ["waits", "closed", "most_matches", "no_table", "unequal"])
def test_what_did_not_come_to_its_end_is_not_told_as_if_it_had(done: Remembered, ended: Any) -> None:
    run = replace(done, ended=ended, receipt=None, phases=None, bytes=None, matches=None)
    found, shown, cost = tell_in_brief(run)
    assert "nothing" in found
    assert "pair" not in found
    assert "at most" in shown
    assert ("is known at its end" in cost) == (ended == "waits")
    unpaid = tell_in_brief(replace(run, charged=None, account=None))
    assert "its id" not in unpaid[1]
    assert "not in the ledger" in unpaid[2]


def test_what_had_been_paid_for_is_not_told_as_free(done: Remembered) -> None:
    assert "paid for before" in tell_in_brief(replace(done, charged=NO_COST))[2]
    free = replace(done, charged=NO_COST, agreement=_agreed("all-pairs"))
    assert "paid for" not in tell_in_brief(free)[2]
    assert "ε = 2," in tell_in_brief(replace(done, charged=Cost(NO_COST.epsilon + 2, NO_COST.delta)))[2]
