"""Series whose promise is to people: of a person no more is ever released than the noise hides."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from accord.agreement.document import Agreement
from accord.errors import DataError, UsageError
from accord.notices import tell_nobody
from accord.privacy.events import Cost, NoisyCounts
from accord.protocols.parts.batches import Known
from accord.run.link import get_ready
from accord.run.receipt import read_receipt
from accord.run.stages import Linked, Ready
from accord.side import Side
from accord.table.layout import Layout
from tests.run import faults
from tests.run.faults import Wire
from tests.run.test_series_cuts import SeriesOffice, go_on, offices, pairs

pytestmark = pytest.mark.usefixtures("quick")

Owned = dict[str, tuple[str, int, int]]
"""A record by its id: whose it is, and where."""


@dataclass
class PeopleOffice(SeriesOffice):
    """One organisation whose table says whose its records are."""

    layout: Layout = field(default_factory=lambda: Layout(person="who"))

    def ready(self) -> Ready:
        asked = self.request(snapshot=None, series=self.part, layout=self.layout)
        return get_ready(asked, self.state, tell_nobody)

    def own(self, table: Owned) -> None:
        rows = "".join(f"{name},{who},{x},{y}\n" for name, (who, x, y) in table.items())
        self.data.write_text(f"id,who,x,y\n{rows}")


def people(folder: Path) -> dict[Side, PeopleOffice]:
    """Up to two records of a person, of which each may change once."""
    found = {}
    for side, office in offices(folder).items():
        plain = office.agreement.model_dump(mode="json")
        for name in "AB":
            plain["protocol"][name]["records_per_person"] = 2
        plain["series"]["versions"] = 2
        agreed = Agreement.model_validate(plain)
        found[side] = PeopleOffice(side, agreed, office.state, office.data, office.out)
    return found


ANN: Owned = {"p": ("ann", 1, 1), "q": ("ann", 9, 9)}
OTHER: Owned = {"u": ("tom", 1, 2), "v": ("tom", 12, 12), "w": ("sue", 4, 9)}


def link(both: dict[Side, PeopleOffice], a: Owned, b: Owned, wire: Wire | None = None) -> faults.Ending:
    both[Side.A].own(a)
    both[Side.B].own(b)
    return go_on(dict[Side, SeriesOffice](both), wire or Wire(), resuming=True)


def test_what_a_person_has_beyond_its_records_takes_no_part(tmp_path: Path) -> None:
    both = people(tmp_path)
    assert pairs(link(both, ANN, OTHER)) == {("p", "u")}
    # Both of ann's were released: neither the one that changed nor another takes part; bea's does.
    changed = ANN | {"q": ("ann", 12, 11), "n": ("bea", 4, 8)}
    cut = link(both, changed, OTHER, Wire(frames=9))
    assert not all(isinstance(result, Linked) for result in cut.values())
    ending = link(both, changed, OTHER)
    assert pairs(ending) == {("n", "w")}, "q is near v now, and would have been the third of ann"
    book = both[Side.A].ledger.series("table", "monthly")
    assert book is not None
    whose = Known.of(book.looks).members.people
    assert whose is not None
    assert sorted(np.unique(whose, return_counts=True)[1].tolist()) == [1, 2]
    rows = both[Side.A].ledger.runs()
    assert [row.paid for row in rows] == [True, False]
    event = rows[0].event
    assert isinstance(event, NoisyCounts)
    assert (event.records_per_person, event.versions) == (2, 1)
    assert event.cost == Cost(Fraction(4), Fraction(1, 1000)), "two versions cost no more than one"
    own = ending[Side.A]
    assert isinstance(own, Linked)
    facts = read_receipt(own.receipt).facts
    assert facts["parties"]["A"]["records_per_person"] == 2
    assert facts["parties"]["A"]["epsilon"] == "4"


def test_people_are_named_and_nobody_has_too_many(tmp_path: Path) -> None:
    office = people(tmp_path)[Side.A]
    office.own(ANN | {"r": ("Ann", 3, 3)})
    with pytest.raises(DataError, match="more than 2 records"):
        office.ready()
    office.own(ANN)
    office.layout = Layout()
    with pytest.raises(UsageError, match="Name that column with `person=`"):
        office.ready()
    assert office.looks == []
