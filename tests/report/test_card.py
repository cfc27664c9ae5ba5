"""The card of a side: commands in their order, what is compared, and nothing of another's table."""

from __future__ import annotations

import re

import pytest

from accord.agreement.document import Agreement
from accord.datasets.starter import starter
from accord.report.card import OwnTable, describe_card, steps
from accord.side import Side
from accord.table.field_source import Source
from accord.table.layout import Layout
from tests.report.hostile import TAG
from tests.report.outline import Outline, require_quiet

_COST = "90,000 comparisons, 3.0 MB, 2 s"
_CANARY = "Zähler-Quokka"


@pytest.fixture(scope="module")
def agreed() -> Agreement:
    return starter("people")


def _own(agreed: Agreement, column: str = _CANARY) -> OwnTable:
    named = {agreed.names[0]: Source(column=column)}
    return OwnTable("my table.csv", Layout(id="Nr", columns=named))


def test_an_owner_reads_how_its_table_is_laid_out_and_a_partner_what_it_should_have(
    agreed: Agreement,
) -> None:
    own = describe_card(agreed, "agreement.toml", Side.A, _COST, _own(agreed))
    theirs = describe_card(agreed, "agreement.toml", Side.B, _COST)
    for page in (own, theirs):
        require_quiet(page)
        assert _COST in page
        assert "@page { size: A4" in page
    assert _CANARY in own
    assert "Your table" in Outline(own).headings
    assert all(name in theirs for name in agreed.names)
    assert "What your table should have" in Outline(theirs).headings


@pytest.mark.parametrize("side", Side)
def test_no_side_types_more_than_five_commands_and_the_last_one_links(agreed: Agreement, side: Side) -> None:
    for own in (None, _own(agreed)):
        typed = [one.command for one in steps(agreed, "agreement.toml", side, own)]
        assert len(typed) <= 5
        assert ("--for" in typed[0]) is (own is None)
        assert f"--partner {agreed.party(side.other)}" in typed[-1]
        assert ("--listen" in typed[-1]) is (side is Side.A)
        page = describe_card(agreed, "agreement.toml", side, _COST, own)
        shown = re.findall(r"<li><code>(accord .*?)</code>", page)
        assert len(shown) == len(typed)


def test_names_with_blanks_are_typed_as_one_word(agreed: Agreement) -> None:
    renamed = agreed.model_copy(
        update={"parties": agreed.parties.model_copy(update={"A": "North shop", "B": "South shop"})}
    )
    typed = [one.command for one in steps(renamed, "our agreement.toml", Side.A, _own(agreed))]
    assert "accord identity --name 'North shop'" in typed
    assert "accord partner add 'South shop' 'South shop.card'" in typed
    assert "'my table.csv' --agreement 'our agreement.toml'" in typed[-1]


def test_a_column_that_is_called_by_a_tag_breaks_nothing(agreed: Agreement) -> None:
    page = describe_card(agreed, "agreement.toml", Side.A, _COST, _own(agreed, TAG))
    require_quiet(page)
    assert TAG not in page


def test_a_side_that_learns_nothing_writes_no_pairs(agreed: Agreement) -> None:
    told = agreed.output.model_copy(update={"to": "A"})
    one_sided = agreed.model_copy(update={"output": told})
    linked = {side: steps(one_sided, "agreement.toml", side, None)[-1].command for side in Side}
    assert "--out" in linked[Side.A]
    assert "--out" not in linked[Side.B]


def test_a_partner_reads_which_fields_every_record_needs(agreed: Agreement) -> None:
    first = agreed.names[0]
    needed = agreed.fields[first].model_copy(update={"missing": "error"})
    strict = agreed.model_copy(update={"fields": {**agreed.fields, first: needed}})
    page = describe_card(strict, "$(id).toml", Side.B, _COST)
    assert f"but for {first}, which every record needs" in page
    assert "--for $(id)" not in page
