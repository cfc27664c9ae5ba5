"""Whole sessions over TLS between real processes look the same for neighbouring tables [MATHS §1.3, §2.1].

With coupled noise all that a partner, or who is on the line, sees of two sessions has the same shape: sizes,
numbers and order of TLS records and of frames, what is printed, the pairs, the receipt. `sessions.py` says
what is compared. The controls show that a party which departs from the protocol is noticed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from accord.agreement.document import Agreement
from accord.side import Side
from tests.run import faults
from tests.run.sessions import Rows, Session, World

A: Rows = [(f"A{i}", x, y) for i, (x, y) in enumerate(faults.A_ROWS)]
B: Rows = [(f"B{i}", x, y) for i, (x, y) in enumerate(faults.B_ROWS)]
TABLES = {Side.A: A, Side.B: B}
MATCHED = ["A0", "A1", "A2", "A4", "A6", "B0", "B1", "B2", "B3", "B5", "B7"]
"""Under a rule of one step of distance; of equal points A6 and B5 alone are left."""
STRANGERS = {Side.A: ["A3"], Side.B: ["B4"]}
"""Who is replaced, and matches nothing."""
INSTEAD: dict[str, dict[Side, Rows]] = {
    "in other bins": {
        Side.A: [("a much longer id than any other", 3, 11)],
        # In all four cells, where the other was in one.
        Side.B: [("b", 8, 8)],
    },
    "left out": {Side.A: [("A3", None, 2)], Side.B: [("B4", None, 9)]},
}
LINKED = dict.fromkeys(Side, "Linked")
COUNTS = {Side.A: [9] * 4, Side.B: [12] * 4}


def agreement(kind: str = "plain", **changes: Any) -> Agreement:
    """That of runs which are cut, where a point without x is left out."""
    plain = faults.agreement(kind).model_dump(mode="json")
    plain["fields"]["x"]["missing"] = "skip"
    return Agreement.model_validate(plain | changes)


def with_options(kind: str, **options: Any) -> Agreement:
    plain = agreement(kind).model_dump(mode="json")
    return agreement(kind, protocol=plain["protocol"] | options)


def answering(kind: str = "routed", **output: Any) -> Agreement:
    return agreement(kind, output=output, disclose={"A": [], "B": []})


def some(names: Iterable[str], fast: str) -> list[Any]:
    """All of them; those that are not named are slow."""
    return [name if name == fast else pytest.param(name, marks=pytest.mark.slow) for name in names]


def replaced(side: Side, instead: Rows, strangers: list[str] | None = None) -> Rows:
    """A table with others in the places of some."""
    gone, new = strangers or STRANGERS[side], iter(instead)
    return [next(new) if row[0] in gone else row for row in TABLES[side]]


def session(
    agreed: Agreement, side: Side = Side.B, instead: Rows | None = None, cheat: str = "", **options: Any
) -> Session:
    """Both tables, that of a side with others in the place of a stranger."""
    rows = TABLES | ({} if instead is None else {side: replaced(side, instead)})
    first = MATCHED if getattr(agreed.protocol, "greedy", False) else []
    return Session(agreed, rows, COUNTS, first, side, cheat, options)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with pytest.MonkeyPatch.context() as patch:
        faults.quicken(patch)
        yield World(tmp_path_factory.mktemp("sessions"))


KINDS = {
    "plain": agreement("plain"),
    "greedy": agreement("greedy"),
    "one-to-one": agreement("one-to-one"),
    "all-pairs": with_options("all-pairs", greedy=False),
    "all-pairs greedy": agreement("all-pairs"),
    "routed": agreement("routed"),
    "cascade": agreement("cascade"),
    "psi": agreement("psi"),
    "a count": answering(answer="count", epsilon="1"),
    "an exact sum": answering(
        answer="sum", exact=True, of={"side": "B", "column": "y", "low": 0, "high": 20}
    ),
    "an exact count of all pairs": answering("all-pairs", answer="count", exact=True),
    "pairs for A": agreement("routed", output={"to": "A"}),
    "dual": agreement("plain", engine="dual"),
}


@pytest.mark.parametrize("side", [pytest.param(Side.A, marks=pytest.mark.slow), Side.B])
@pytest.mark.parametrize("kind", some(KINDS, "plain"))
def test_a_neighbour_looks_the_same(kind: str, side: Side, world: World) -> None:
    """A stranger in other bins, with another id; and a row that is left out in its place."""
    seen = world.hold(session(KINDS[kind], side))
    assert seen.ends == LINKED
    assert min(len(seen.line[0][1]), len(seen.order)) > 10
    for name, instead in INSTEAD.items():
        other = world.hold(session(KINDS[kind], side, instead[side]))
        assert seen.differs(other) == [], name


CROWD: dict[Side, Rows] = {side: [(f"c{n}", 5, y) for n, y in enumerate((9, 11, 12))] for side in Side}
"""Three strangers with one key, more than the cap."""


@pytest.mark.parametrize("side", [pytest.param(Side.A, marks=pytest.mark.slow), Side.B])
def test_how_many_records_are_uncovered_is_not_seen(side: Side, world: World) -> None:
    """Nor what their owner allows."""
    strangers = {Side.A: ["A3", "A5", "A7"], Side.B: ["B4", "B6", "B8"]}[side]
    tables = TABLES[side], replaced(side, CROWD[side], strangers)
    plain = session(with_options("routed", cap=2), side)
    options: list[dict[str, Any]] = [{}, {"uncovered": "100%"}]
    seen, other = (
        world.hold(replace(plain, rows=TABLES | {side: rows}, options=allowed))
        for rows, allowed in zip(tables, options, strict=True)
    )
    assert seen.ends == other.ends == LINKED
    assert seen.differs(other) == []


PERSON: Rows = [("P/1", 0, 9), ("P/2", 14, 3)]
OTHER_PERSON: Rows = [("Q/1", 8, 8), ("Q/2", None, 3)]


@pytest.mark.slow
def test_all_records_of_a_person_may_be_others(world: World) -> None:
    privacy = {"epsilon": "4", "delta": "1e-3", "noise": "geometric", "records_per_person": 2}
    agreed = with_options("plain", A=privacy, B=privacy)
    seen = []
    for person in (PERSON, OTHER_PERSON):
        one = session(agreed)
        one.rows[Side.B] = replaced(Side.B, person, ["B4", "B6"])
        seen.append(world.hold(one))
    assert seen[0].differs(seen[1]) == []


@pytest.mark.slow
@pytest.mark.parametrize("agreed", [agreement("plain"), agreement("greedy")])
def test_workers_see_the_same(agreed: Agreement, world: World) -> None:
    """Two of each side, whose connections are compared like that of the coordinators."""
    seen = [
        world.hold(session(agreed, instead=instead, workers=2))
        for instead in (None, *(one[Side.B] for one in INSTEAD.values()))
    ]
    assert len(seen[0].line) == 3
    assert [seen[0].differs(other) for other in seen[1:]] == [[], []]


@pytest.mark.slow
@pytest.mark.parametrize("cut", [4, 13, 16])
@pytest.mark.parametrize("agreed", [agreement("greedy"), agreement("plain")])
def test_a_run_that_is_cut_and_resumed_looks_the_same(agreed: Agreement, cut: int, world: World) -> None:
    """Both attempts. What the partner still sends into a line that is cut is a matter of the clock: of the
    first the line is left out."""
    seen = []
    for instead in (None, *(one[Side.B] for one in INSTEAD.values())):
        one = session(agreed, instead=instead)
        both = world.offices(one)
        first = world.meet(both, one, cut=cut)
        assert set(first.ends.values()) == {"ConnectionLostError"}
        first.line = []
        second = world.meet(both, one, faults.the_run(both))
        assert second.ends == LINKED
        seen.append((first, second))
    for first, second in seen[1:]:
        assert (seen[0][0].differs(first), seen[0][1].differs(second)) == ([], [])


CONTROLS = {
    "true counts": ("plain", "in other bins"),
    "bins without records are not filled": ("plain", "left out"),
    "rows left out are not counted": ("all-pairs", "left out"),
}


@pytest.mark.parametrize("cheat", some(CONTROLS, "true counts"))
def test_who_departs_from_the_protocol_is_noticed(cheat: str, world: World) -> None:
    """By the line alone, and by the order; the pairs are the same all the time."""
    kind, what = CONTROLS[cheat]
    seen = []
    for instead in (None, INSTEAD[what][Side.B]):
        one = session(KINDS[kind], instead=instead, cheat=cheat)
        # Who is in all bins would leave none without a record.
        one.rows[Side.B] = [row for row in one.rows[Side.B] if row[0] != "B1"]
        seen.append(world.hold(one))
    assert {"line", "order"} <= set(seen[0].differs(seen[1]))
    assert seen[0].pairs == seen[1].pairs
