"""Where agreed fields are found in a table: under one's own draft and under a partner's agreement."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import accord
from accord.errors import DataError, OutputError, UsageError
from tests.preparing.worlds import FORMS, drafted, shop

PARTNER = pa.table(
    {
        "Artikelnummer": [7, 8],
        "Bezeichnung": ["Sony PSLX 350", "Bose"],
        "Marke": ["SONY", "Bose"],
        "Preis": ["1,5", "2"],
    }
)


def test_the_partner_fits_its_own_columns() -> None:
    fit = accord.propose(PARTNER).fit(drafted().agreement)
    assert fit.layout.id == "Artikelnummer"
    assert {name: fit.layout.source(name).column for name in fit.layout.columns} == {
        "title": "Bezeichnung",
        "brand": "Marke",
        "price": "Preis",
    }
    assert "decimals behind ','" in str(fit)
    assert "Marke" in fit._repr_html_()
    assert accord.check(drafted().agreement, PARTNER, party="B", layout=fit.layout).clean


def test_a_field_without_a_column_is_a_fault_that_names_what_to_say() -> None:
    with pytest.raises(DataError) as caught:
        accord.propose(pa.table({"id": ["1"], "mail": ["a@b.example"]})).fit(drafted().agreement)
    assert "field 'title': has no column. Say which: `types=` COLUMN=text:title." in str(caught.value)


def test_columns_without_a_field_are_named_where_they_may_be_one() -> None:
    words = {"Angabe": ["some words", "of a kind"], "Lager": ["here and there", "more words"]}
    with pytest.raises(DataError) as caught:
        accord.propose(pa.table({"id": ["7", "8"], **words})).fit(drafted().agreement)
    told = str(caught.value)
    may = "It may be 'Angabe' or 'Lager'. Say which: `types=` COLUMN=category:brand."
    assert f"field 'brand': has no column. {may}" in told
    assert "field 'price': has no column. Say which" in told
    assert "is it the right table?" not in told


def test_a_field_is_absent_by_its_owners_word_though_a_column_is_called_so() -> None:
    """Another coding of the same is no value of the field."""
    proposal = accord.propose(PARTNER)
    fit = proposal.fit(drafted().agreement, absent=["brand"])
    assert fit.layout.source("brand").absent
    assert "'Marke'" in str(fit)
    few = proposal.fit(drafted().agreement, absent=["brand", "title"])
    assert few.layout.source("price").column == "Preis"
    with pytest.raises(UsageError, match="is no agreed field"):
        proposal.fit(drafted().agreement, absent=["colour"])


def test_what_was_said_of_columns_goes_with_an_agreement() -> None:
    renamed = PARTNER.rename_columns(["Artikelnummer", "words", "firm", "Preis"])
    fit = accord.propose(renamed).fit(
        drafted().agreement, types={"words": "text:title", "firm": "category:brand"}
    )
    assert fit.layout.source("brand").column == "firm"


def test_a_layout_is_written_beside_its_file_and_read_again(tmp_path: Path) -> None:
    proposal = accord.propose(FORMS["file"](tmp_path))
    fit = proposal.fit(drafted())
    path = fit.write()
    assert path == tmp_path / "shop.csv.layout.toml"
    assert accord.read_layout(str(path)) == fit.layout
    with pytest.raises(OutputError, match="`force=True` replaces it"):
        fit.write()
    assert fit.write(force=True) == path


def test_a_table_that_is_no_file_needs_a_folder(tmp_path: Path) -> None:
    fit = accord.propose(shop()).fit(drafted())
    with pytest.raises(UsageError, match="name a `folder=`"):
        fit.write()
    path = fit.write(tmp_path)
    assert accord.read_layout(path).source("brand").column == "maker"


def test_cells_that_cannot_be_read_are_faults_with_a_way_out() -> None:
    broken = shop().set_column(3, "price", pa.array(["1e", "two", "x"]))
    with pytest.raises(DataError) as caught:
        accord.propose(broken).fit(drafted())
    assert "column 'price'" in str(caught.value)
    assert "`missing_values=` says what counts as empty" in caught.value.__notes__[-1]


def test_the_owner_may_count_all_unreadable_cells_as_empty(tmp_path: Path) -> None:
    broken = shop().set_column(3, "price", pa.array(["1e", "two", "x"]))
    fit = accord.propose(broken, layout=accord.Layout(unreadable="empty")).fit(drafted())
    assert "'price': 2 of 3 cells count as empty" in str(fit)
    assert accord.check(drafted().agreement, broken, layout=fit.layout).clean
    (tmp_path / "l.toml").write_text(fit.layout.to_toml())
    assert accord.read_layout(tmp_path / "l.toml").unreadable == "empty"
    assert "unreadable" not in accord.Layout().to_toml()


def test_passes_that_need_an_absent_field_are_told(tmp_path: Path) -> None:
    rows = [
        {"id": str(n), "surname": f"Smith{'abcdefg'[n % 7]}", "birth": f"19{50 + n}-01-02"} for n in range(40)
    ]
    people = pa.Table.from_pylist(rows)
    given: dict[str, Any] = {"parties": ("north", "south"), "records": (30_000, 30_000), "copies": (1, 1)}
    made = accord.draft(accord.propose(people).confirm(**given, cardinality={"surname": "unique"}))
    assert made.agreement.passes
    fit = accord.propose(people.drop_columns(["birth"])).fit(made.agreement, absent=["birth"])
    assert "can compare none of your records without birth" in str(fit)


def test_two_family_names_in_one_cell_are_read_apart() -> None:
    columns = {"id": ["1", "2", "3"], "given": ["Ana", "Eva", "Luz"], "birth": ["1950-01-02"] * 3}
    apart = {"surname": ["Muñoz", "de la Cruz", "Pardo"], "surname_2": ["Gómez", "Ruiz", "Díaz"]}
    given: dict[str, Any] = {"parties": ("north", "south"), "records": (30, 30)}
    made = accord.draft(accord.propose(pa.table(columns | apart)).confirm(**given))
    both = [" ".join(one) for one in zip(*apart.values(), strict=True)]
    table = pa.table(columns | {"Apellidos": both})
    fit = accord.propose(table).fit(made.agreement)
    assert "surname is the first family name of 'Apellidos'." in str(fit)
    assert accord.check(made.agreement, table, layout=fit.layout).clean
