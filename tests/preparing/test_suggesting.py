"""What a table suggests for its owner's answers, and which answers it refutes."""

from __future__ import annotations

from datetime import date

import pyarrow as pa
import pytest

import accord
from accord.drafting.proposing import Suggestion
from accord.preparing.draft import tell_draft
from accord.preparing.suggesting import suggest_answers
from accord.table.layout import Layout

TODAY = date(2026, 11, 19)
PEOPLE = 400


def people(copies: int = 1, shops: int = 7) -> pa.Table:
    """Persons with a low-cardinality column and an amount."""
    rows = [
        {
            "id": f"p{number}-{copy}",
            "surname": "".join(
                "bcdfgklmnprst"[number // place % 13] + "ae"[place % 2] for place in (1, 13, 169)
            ),
            "birth": f"{1874 + number % 130}-0{1 + number % 9}-1{number % 10}",
            "category": f"shop {number % shops}",
            "price": str(-250 + 5 * number),
        }
        for number in range(PEOPLE // copies)
        for copy in range(copies)
    ]
    return pa.Table.from_pylist(rows)


TYPES = {"surname": "surname", "birth": "birth", "category": "category", "price": "skip"}
ANSWERS = {"parties": ("north", "south"), "records": (400, 400)}


def suggested(table: pa.Table) -> Suggestion:
    return suggest_answers(
        accord.propose(table).typed([f"{name}={kind}" for name, kind in TYPES.items()], False), None, TODAY
    )


def test_classes_and_limits_are_coarse() -> None:
    suggestion = suggested(people())
    assert suggestion.cardinality == {"surname": "unique", "birth": "unique", "category": "few"}
    assert suggestion.ranges == {"birth": ("1800-01-01", "2026-12-31")}
    assert suggested(people(shops=90)).cardinality["category"] == "hundreds"
    assert suggestion.often_empty == ()
    births = pa.array([None if row % 3 else birth for row, birth in enumerate(people()["birth"].to_pylist())])
    sparse = people().set_column(2, "birth", births)
    assert suggested(sparse).often_empty == ("birth",)


@pytest.mark.parametrize("copies", [1, 2, 4])
def test_copies_are_records_of_one_person(copies: int) -> None:
    assert suggested(people(copies)).copies == copies


def test_an_answer_that_the_table_refutes_is_a_fault() -> None:
    proposal = accord.propose(people())
    made = accord.draft(proposal.confirm(types=TYPES, **ANSWERS, copies=(1, 1)))  # type: ignore[arg-type]
    fit = accord.propose(people()).fit(made)
    assert accord.check(made.agreement, people(), party="A", layout=fit.layout).clean
    unlike = people(shops=390)
    [fault] = accord.check(made.agreement, unlike, party="B", layout=Layout()).faults
    assert fault.place == "field 'category'"
    assert "category.cardinality=unique" in fault.mend


def test_more_copies_than_agreed_are_a_fault() -> None:
    made = accord.draft(
        accord.propose(people()).confirm(types=TYPES, parties=("north", "south"), records=(4_000, 4_000))
    )
    if not made.agreement.passes:
        pytest.fail("the draft compares all pairs, where copies do not matter")
    [fault] = accord.check(made.agreement, people(4), party="B", layout=Layout()).faults
    assert "copies" in fault.mend


def test_fields_of_few_values_promise_no_good_matches() -> None:
    cells = {"id": [f"r{i}" for i in range(200)], "kind": ["x", "y"] * 100, "group": ["u", "v"] * 100}
    types = {"id": "id", "kind": "category:kind", "group": "category:group"}
    proposal = accord.propose(pa.table(cells))
    draft = accord.draft(proposal.confirm(parties=("north", "south"), records=(400, 400), types=types))
    assert any("would be wrong" in line for line in tell_draft(draft))
