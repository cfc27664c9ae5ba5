"""`check`: is an agreement sound, does one's own table fit it, and what will the partner learn?

All faults of a table are listed at once, by row and column and never by value. A fault of the data is an
answer to the question and is shown; an agreement that is not sound, an argument that makes no sense and a
table that cannot be opened are errors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from accord.agreement.document import Agreement
from accord.agreement.file import require_sound
from accord.arguments import require, require_text_or_none
from accord.drawing import draw
from accord.errors import DataError, Fault, UsageError
from accord.preparing.facts import (
    facts_ahead,
    facts_of,
    facts_of_table,
    tell_unchecked,
    warnings_of,
)
from accord.preparing.own_table import Reading, TableCheck, check_table
from accord.preparing.words import describe, describe_learned
from accord.rules.breakdown import tell_shortly
from accord.side import Side
from accord.table.layout import Layout
from accord.table.sources.opening import TableLike, keep_readable, name_of, require_table
from accord.wording import counted

_FOUND = "Read with what was found out about it: give `layout=`, the layout of this check, from here on."


@dataclass(frozen=True, repr=False)
class Check:
    """What `check` found: all faults of a table, or how it fits; and what each side learns. No value of a
    record is in it."""

    agreement: Agreement
    side: Side | None
    """Whose table it is, where that was said."""
    table: str
    """What the table is called; empty without one."""
    faults: tuple[Fault, ...]
    """All that is wrong with the table, each once with how many cells have it."""
    mend: str
    """What to do about them all; empty where there is nothing to say."""
    layout: Layout | None
    """How the table is read, with what was found out: to be given to `link`. None if there are faults."""
    facts: Mapping[str, Any] = field(repr=False)
    """What `accord check --json` prints."""

    @property
    def clean(self) -> bool:
        """Whether nothing is wrong."""
        return not self.faults

    @property
    def records(self) -> int | None:
        """How many records the table has; None without one that fits."""
        return self.facts["data"]["records"] if "data" in self.facts else None

    @property
    def advice(self) -> tuple[str, ...]:
        """What is worth knowing."""
        return tuple(self.facts["advice"])

    @property
    def learned_about(self) -> dict[Side, tuple[str, ...]]:
        """By side, what the other side will learn about its table."""
        return {Side(side): tuple(lines) for side, lines in self.facts["learned_about"].items()}

    def require_clean(self) -> None:
        """Raise all faults, if there are any: for scripts."""
        if self.faults:
            raise DataError(self.table, self.faults, self.mend)

    def brief(self) -> str:
        """In a few words."""
        if self.faults:
            total = sum(fault.count for fault in self.faults)
            return f"{counted(total, 'fault')} of {counted(len(self.faults), 'kind')}"
        fits = "the agreement is sound" if self.records is None else f"{counted(self.records, 'record')} fit"
        return f"clean; {fits}"

    def __repr__(self) -> str:
        return f"<Check: {self.brief()}>"

    def __str__(self) -> str:
        """All of it, as `accord check` says it."""
        if self.faults:
            faulty = str(DataError(self.table, self.faults, self.mend))
            return "\n".join([faulty, *describe_learned(dict(self.facts))])
        match = [f"Match      {tell_shortly(self.agreement.rule)}"]
        return describe("The agreement", self.table, match, dict(self.facts))

    def _repr_html_(self) -> str:
        """For notebooks: the faults or how the table fits, what a run takes, and who learns what."""
        return draw("show_check", self)


def check(
    agreement: Agreement,
    table: TableLike | None = None,
    *,
    party: str | None = None,
    layout: Layout | None = None,
    dates: Mapping[str, str] | None = None,
) -> Check:
    """Check an agreement and your own table: all faults, how it fits, and what the partner will learn.

    Faults of the table are listed in `faults`, by row and column; nothing is raised for them (`require_clean`
    does, in scripts). An agreement that is not sound, a table that cannot be opened and a layout for other
    fields are raised. `party` says whose table it is, "A", "B" or a party's name, so that what you disclose
    is checked, too. What the `layout` does not say is found out, formats of dates among it, of which you name
    some with `dates`; the check's own `layout` has it all, and is the one to link with.
    """
    require("agreement", agreement, "an Agreement, such as accord.read_agreement(PATH) gives", Agreement)
    require_text_or_none("party", party, "A")
    if table is not None:
        require_table("table", table)
    if layout is not None:
        require("layout", layout, "a Layout", Layout)
    if dates is not None:
        require("dates", dates, "a dictionary of fields with formats, such as {'birth': '%d.%m.%Y'}", Mapping)
    require_sound(agreement)
    side = find_side(agreement, party) if party is not None else None
    known = (layout or Layout()).map_dates(f"{name}={how}" for name, how in (dates or {}).items())
    known.require_known(agreement.names)
    if table is None:
        return Check(agreement, side, "", (), "", None, judge(agreement, side, None))
    table = keep_readable(table)
    try:
        found = check_table(agreement, table, side, Reading(known, known.said))
        facts = judge(agreement, side, found)
    except DataError as error:
        return Check(agreement, side, name_of(table), error.faults, error.mend, None, facts_of(agreement))
    facts["advice"] += [_FOUND] * (found.layout != (layout or Layout()))
    if side is None and (unchecked := tell_unchecked(agreement, known.person)):
        facts["advice"].append(f"Name your side with `party=` to check {unchecked}, too.")
    return Check(agreement, side, name_of(table), (), "", found.layout, facts)


def find_side(agreement: Agreement, party: str) -> Side:
    """The side that A, B or a party's name means."""
    for side in Side:
        if party in (side.value, side.value.lower(), agreement.party(side)):
            return side
    names = f"A ({agreement.parties.A}) and B ({agreement.parties.B})"
    raise UsageError(problem=f"'{party}' is not a party to this agreement; the parties are {names}.")


def judge(agreement: Agreement, side: Side | None, found: TableCheck | None) -> dict[str, Any]:
    """The facts about an agreement, and about a table that fits it."""
    facts = facts_of(agreement)
    parts = [] if found is None else [facts_of_table(agreement, side, found)]
    # A warning of the sizes comes before all other advice of a run.
    parts.append({"advice": warnings_of(agreement, side, found.records if found is not None else None)})
    parts.append(facts_ahead(agreement, side, found))
    for part in parts:
        facts |= part | {"advice": [*facts["advice"], *part["advice"]]}
    return facts
