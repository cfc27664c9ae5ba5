"""Neighbouring tables: what an audit tries to tell apart.

Neighbours in the sense of the guarantee [HMFS17, definition of f-neighbours; MATHS §1.3]: tables of one size
that differ in one record, or in those of one person, which match nothing in the partner's table either way;
of an answer in which nobody is shown [MATHS §10.5], in any record. So what comes out is the same, or hides
what differs, and sizes are public. `require_neighbours` holds every case to that, the built-in ones and those
of a user.

The built-in cases put the record where past protocols failed, once in A's table and once in B's, since a
program may fail on one side alone:

    alone     in a bin of its own, or in another bin of its own: bins that occur tell that it exists
    matched   alone, or in a bin full of matching records: what happens to it must not touch the matches
    crowd     beside many records that equal it, or away from them: a count of many hides no better than one
    beside    in a cell that touches the partner's record, on a grid where B's records fall into several cells
    passes    in a bin of its own in each of two passes, or in two other bins: one noise must hide both
    person    where a side's promise is to people: as many records at once, in one bin or in another

In `crowd` the partner has the larger table and in the others the smaller one or one as large, so that both
sides of an intersection are looked at: the one that lists its values and the one that asks for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from accord.agreement.document import Agreement
from accord.agreement.file import require_sound
from accord.errors import UsageError
from accord.fields.columns import Bits, Records, rows_of
from accord.fields.load import load_records
from accord.privacy.noise import AUTO
from accord.protocols.registry import protocol_named
from accord.rules.evaluate import Tables
from accord.rules.join import full_join
from accord.side import Side

Points = list[tuple[int, int]]


@dataclass(frozen=True)
class Case:
    """Two neighbouring tables of one side, and the partner's."""

    name: str
    why: str
    agreement: Agreement
    side: Side
    """Whose record is at stake; the other side is the one that looks."""
    table: Records
    neighbour: Records
    partner: Records


def require_neighbours(case: Case) -> None:
    """Raise unless the guarantee speaks of these two tables."""
    if case.table.size != case.neighbour.size:
        raise UsageError(
            problem=f"Neighbours have the same number of records, since sizes are public; these have "
            f"{case.table.size:,} and {case.neighbour.size:,}. Replace a record instead of adding one."
        )
    tables, changed = (case.table, case.neighbour), _changed(case)
    most = case.agreement.protocol.records_per_person(case.agreement.task, case.side) or 1
    differing = max(map(len, changed))
    if not 1 <= differing <= most:
        words = "one record" if most == 1 else f"the records of one person, at most {most}"
        raise UsageError(problem=f"Neighbours differ in {words}; these differ in {differing:,}.")
    # Of an answer any record may differ, since nobody is shown.
    for table, rows in zip(tables, changed, strict=True) if not case.agreement.output.answers else ():
        matching = rows[np.isin(rows, _matching(case, table))]
        if len(matching):
            raise UsageError(
                problem=f"The record in which the tables differ (row {matching[0] + 1:,}) matches one of the "
                f"partner, so it is disclosed. The guarantee is for records that match nothing."
            )
    if problem := _uncovered(case):
        raise UsageError(problem=problem)


def _changed(case: Case) -> list[NDArray[np.int64]]:
    """In which rows each of the two tables differs from the other."""
    tables = case.table, case.neighbour
    return [_differing_rows(*pair) for pair in (tables, tables[::-1])]


def _uncovered(case: Case) -> str:
    """Why the guarantee does not speak of these two tables; empty where it does."""
    protocol, task, tables = case.agreement.protocol, case.agreement.task, (case.table, case.neighbour)
    for table, rows in zip(tables, _changed(case), strict=True):
        if protocol.coverage(task, case.side, table).uncovered[rows].any():
            unless = case.agreement.leakage(case.side).unless
            return (
                f"The promise does not cover a record in which the tables differ. It holds unless {unless}."
            )
    return ""


def _matching(case: Case, table: Records) -> NDArray[np.int64]:
    """The rows of this side's table that match something."""
    sides = (table, case.partner) if case.side is Side.A else (case.partner, table)
    tables = Tables(case.agreement.fields, sides[0].columns, sides[1].columns)
    pairs = full_join(case.agreement.rule, tables, (len(sides[0]), len(sides[1])))
    return np.unique(pairs[0 if case.side is Side.A else 1])


def _differing_rows(table: Records, other: Records) -> NDArray[np.int64]:
    """The rows of a table that are not the same in the other: in anything that a match would disclose or a
    rule read. A row that one of the tables leaves out is in the other alone."""
    place = pc.index_in(table.ids, value_set=other.ids)
    known = np.asarray(pc.is_valid(place)).astype(np.bool_)
    mine, theirs = np.flatnonzero(known), np.asarray(pc.fill_null(place, 0)).astype(np.int64)[known]
    changed = ~known
    for name in table.columns:
        here, there = rows_of(table.columns[name], mine), rows_of(other.columns[name], theirs)
        changed[mine] |= here.present != there.present
        if isinstance(here, Bits) and isinstance(there, Bits):
            changed[mine] |= (here.words != there.words).any(axis=1)
        elif not isinstance(here, Bits) and not isinstance(there, Bits):
            changed[mine] |= here.values != there.values
    for name in table.disclosed.column_names:
        columns = _fill(table, name).take(pa.array(mine)), _fill(other, name).take(pa.array(theirs))
        changed[mine] |= ~np.asarray(pc.equal(*columns)).astype(np.bool_)
    return np.flatnonzero(changed)


def _fill(table: Records, name: str) -> pa.Array:
    return pc.fill_null(table.disclosed[name].combine_chunks(), "")


# -- what is built in --------------------------------------------------------------------------------------

MATCHED = 5
"""Matching records in the full bin: n₁ of [MATHS §6]."""


def options(name: str, epsilon: str, delta: str) -> dict[str, object]:
    """A protocol with its defaults, as an agreement writes it, with this promise to both sides."""
    kind = protocol_named(name)
    made = kind.draft(epsilon, delta, {})
    # A window of one bin would leave an audit nothing of windows to look at, and over a cap nothing is
    # promised.
    chosen = {"window": 2, "cap": MATCHED + 1}
    return made | {option: value for option, value in chosen.items() if option in kind.options}


def built_in(protocol: Mapping[str, object]) -> tuple[Case, ...]:
    """The built-in cases under a protocol and its options, as an agreement writes them: those of which the
    guarantee speaks."""
    keys = agree_by_key(protocol)
    column = [(2, 8 * i) for i in range(1, MATCHED + 1)]
    strangers = [(2, 7 * i) for i in range(1, MATCHED + 4)]
    found = [
        *_both_sides("alone", keys, (0, 9), (1, 9), [(2, 8)], [(2, 8)]),
        *_both_sides("matched", keys, (0, 4), (2, 4), column, column),
        *_both_sides("crowd", keys, (0, 9), (1, 30), [(0, 9)] * MATCHED, strangers),
    ]
    for side in Side:
        most = keys.protocol.records_per_person(keys.task, side) or 1
        if most > 1:
            found += _both_sides("person", keys, (0, 9), (1, 9), [(2, 8)], [(2, 8)], most, (side,))
    if protocol["name"] != "local-dp":
        found += _both_sides("beside", _on_grid(protocol), (3, 3), (11, 3), [(0, 0)], [(0, 0), (4, 4)])
        found += _both_sides("passes", _in_passes(protocol), (0, 0), (1, 1), [(2, 2)], [(2, 2)])
    return tuple(case for case in found if not _uncovered(case))


WHY = {
    "alone": "a record in a bin of its own, or in another bin of its own",
    "matched": f"a record in a bin of its own, or in one with {MATCHED} records that match",
    "crowd": f"a record together with {MATCHED} identical ones, or away from them",
    "person": "all records of one person in a bin of their own, or in another",
    "beside": "a record in a cell that touches the partner's record, or in another",
    "passes": "a record in a bin of its own in each of two passes, or in two others",
}


def _both_sides(
    name: str, agreed: Agreement, here: tuple[int, int], there: tuple[int, int],
    others: Points, partner: Points, records: int = 1, sides: Iterable[Side] = Side,
) -> list[Case]:  # fmt: skip
    """What is at stake stands first, so that an order that is kept would show it."""
    table, neighbour = (_records([*[point] * records, *others], agreed) for point in (here, there))
    return [
        Case(name, WHY[name], agreed, side, table, neighbour, _records(partner, agreed)) for side in sides
    ]


def _records(points: Points, agreed: Agreement) -> Records:
    numbered = {
        "id": [f"r{i}" for i in range(len(points))],
        "x": pa.array([x for x, _ in points], pa.int64()),
        "y": pa.array([y for _, y in points], pa.int64()),
    }
    return load_records(pa.table(numbered), agreed.fields, agreed.salt, ["x", "y"])


def agree_by_key(protocol: Mapping[str, object], missing: str = "error") -> Agreement:
    """Three bins by x, or as many as local DP needs; a match has the same x and nearly the same y."""
    needed = [int(str(protocol.get(name) or 0)) for name in ("window", "spread")]
    fields = {"x": _number(max(3, *needed) - 1), "y": _number(63) | {"missing": missing}}
    blocking: list[dict[str, object]] = [{"kind": "key", "field": "x"}]
    return _agreement(fields, "same(x) and within(y, 1)", blocking, _with_noise(protocol))


def _on_grid(protocol: Mapping[str, object]) -> Agreement:
    """Eight cells; B's records fall into up to four of them."""
    fields = {"x": _number(15), "y": _number(7)}
    grid: dict[str, object] = {"kind": "grid", "fields": ["x", "y"], "cell": 4, "style": "replicate"}
    return _agreement(fields, "euclidean(x, y) <= 1", [grid | {"reach": 1}], _with_noise(protocol))


def _in_passes(protocol: Mapping[str, object]) -> Agreement:
    """Two passes of three bins, by x and by y; a match has the same of both."""
    fields = {"x": _number(2), "y": _number(2)}
    passes = [{"parts": [{"kind": "key", "field": name}]} for name in fields]
    return _agreement(fields, "same(x) and same(y)", {"pass": passes}, _with_noise(protocol))


def _with_noise(protocol: Mapping[str, object]) -> dict[str, object]:
    """The protocol with the least noise, where none is named."""
    found = dict(protocol)
    for side in ("A", "B"):
        given = found.get(side)
        if isinstance(given, Mapping) and "delta" in given:
            found[side] = {"noise": AUTO, **given}
    return found


def _number(most: int) -> dict[str, object]:
    return {"type": "number", "min": 0, "max": most, "step": 1}


def _agreement(
    fields: dict[str, dict[str, object]],
    rule: str,
    blocking: list[dict[str, object]] | dict[str, object],
    protocol: Mapping[str, object],
) -> Agreement:
    agreed = Agreement.model_validate(
        {
            "version": 2,
            "salt": "00000000",
            "parties": {"A": "alice", "B": "bob"},
            "fields": fields,
            "rule": rule,
            "blocking": blocking if protocol_named(str(protocol["name"])).blocked else [],
            "protocol": protocol,
            "disclose": {"A": ["x", "y"], "B": ["x", "y"]},
            "engine": "ot",
        }
    )
    require_sound(agreed, simulated=True)
    return agreed
