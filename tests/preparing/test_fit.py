"""Where agreed fields are found in a table, under one's own draft and a partner's, and `check` of both."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest

import accord
from accord.errors import AgreementError, DataError, OutputError, UnreadableError, UsageError
from accord.preparing.draft import Draft
from tests import prepared
from tests.planning.worlds import birth_key
from tests.prepared import shape
from tests.protocols.worlds import agreement
from tests.run.worlds import A_ROWS, table

SHOP = prepared.table("shop")
PARTNER = pa.table(
    {
        "Artikelnummer": [7, 8],
        "Bezeichnung": ["Sony PSLX 350", "Bose"],
        "Marke": ["SONY", "Bose"],
        "Preis": ["1,5", "2"],
    }
)


def agreed() -> accord.Agreement:
    return shape("shop").agreement


def test_the_partner_fits_its_own_columns() -> None:
    fit = accord.propose(PARTNER).fit(agreed())
    columns = {name: fit.layout.source(name).column for name in ("title", "brand", "price")}
    assert (fit.layout.id, columns) == (
        "Artikelnummer",
        {"title": "Bezeichnung", "brand": "Marke", "price": "Preis"},
    )
    assert fit.layout.source("price").decimal == ","
    assert "Marke" in fit._repr_html_()
    assert accord.check(agreed(), PARTNER, party="B", layout=fit.layout).clean
    renamed = PARTNER.rename_columns(["Artikelnummer", "words", "firm", "Preis"])
    fit = accord.propose(renamed).fit(agreed(), types={"words": "text:title", "firm": "category:brand"})
    assert fit.layout.source("brand").column == "firm"


def test_fields_without_a_column_are_faults_with_their_candidates() -> None:
    words = {"Angabe": ["some words", "of a kind"], "Lager": ["here and there", "more words"]}
    for columns, near in (({"mail": ["a@b.example", "c@d.example"]}, []), (words, ["'Angabe'", "'Lager'"])):
        with pytest.raises(DataError) as raised:
            accord.propose(pa.table({"id": ["7", "8"], **columns})).fit(agreed())
        faults = {fault.place: fault for fault in raised.value.faults}
        assert [*faults] == ["field 'brand'", "field 'title'", "field 'price'"]
        assert "COLUMN=category:brand" in faults["field 'brand'"].mend
        assert all(name in faults["field 'brand'"].problem for name in near)
        assert not any(name in faults["field 'price'"].problem for name in near)


def test_a_field_is_absent_by_its_owners_word() -> None:
    """Another coding of the same is no value of the field, though a column is called so."""
    proposal = accord.propose(PARTNER)
    fit = proposal.fit(agreed(), absent=["brand"])
    assert fit.layout.source("brand").absent
    assert "'Marke'" in str(fit)
    few = proposal.fit(agreed(), absent=["brand", "title"])
    assert few.layout.source("price").column == "Preis"
    with pytest.raises(UsageError):
        proposal.fit(agreed(), absent=["colour"])


def test_a_layout_is_written_beside_its_file_or_into_a_folder(tmp_path: Path) -> None:
    pa.csv.write_csv(SHOP, tmp_path / "shop.csv")
    fit = accord.propose(tmp_path / "shop.csv").fit(shape("shop").draft)
    path = fit.write()
    assert path == tmp_path / "shop.csv.layout.toml"
    assert accord.read_layout(str(path)) == fit.layout
    with pytest.raises(OutputError):
        fit.write()
    assert fit.write(force=True) == path
    no_file = accord.propose(SHOP).fit(shape("shop").draft)
    with pytest.raises(UsageError):
        no_file.write()
    (tmp_path / "other").mkdir()
    assert accord.read_layout(no_file.write(tmp_path / "other")).source("brand").column == "maker"


def test_unreadable_cells_are_faults_or_count_as_empty(tmp_path: Path) -> None:
    broken = SHOP.set_column(3, "price", pa.array(["1e", "two", "x"]))
    with pytest.raises(DataError) as raised:
        accord.propose(broken).fit(shape("shop").draft)
    assert {fault.place.partition(",")[0] for fault in raised.value.faults} == {"column 'price'"}
    assert "`missing_values=`" in raised.value.__notes__[-1]
    fit = accord.propose(broken, layout=accord.Layout(unreadable="empty")).fit(shape("shop").draft)
    assert all(number in str(fit) for number in ("'price'", "2 of 3"))
    assert accord.check(agreed(), broken, layout=fit.layout).clean
    (tmp_path / "l.toml").write_text(fit.layout.to_toml())
    assert accord.read_layout(tmp_path / "l.toml").unreadable == "empty"
    assert "unreadable" not in accord.Layout().to_toml()


def test_passes_that_an_absent_field_or_a_crowd_makes_useless_are_told() -> None:
    made = prepared.people(600).a
    fit = accord.propose(made).fit(birth_key(), absent=["birth"])
    assert any("1 pass of 1" in line and "birth" in line for line in fit.told)
    key = {"kind": "key", "field": "birth", "buckets": 10}
    changes = {"expected": {"A": 600, "B": 600}, "blocking": [key]}
    agreed = accord.Agreement.model_validate(birth_key().model_dump(mode="json") | changes)
    of_people = replace(shape("people").draft.made, agreement=agreed)
    crowd = made.set_column(made.column_names.index("birth"), "birth", pa.array(["1950-01-31"] * 600))
    for rows, crowded in ((made, False), (crowd, True)):
        proposal = accord.propose(rows)
        fit = proposal.fit(Draft(of_people, proposal.confirm(records=(600, 600))))
        assert any("`ranges=`" in line for line in fit.told) == crowded


# -- check --------------------------------------------------------------------------------------------------


def test_a_clean_check_has_its_layout_and_says_who_learns_what() -> None:
    price = {"column": "price", "decimal": ".", "missing": ["unknown"]}
    layout = accord.Layout(id="sku", columns={"brand": "maker", "price": price})  # type: ignore[dict-item]
    check = accord.check(agreed(), SHOP, party="north", layout=layout)
    check.require_clean()
    assert (check.faults, check.layout, check.records) == ((), layout, 3)
    assert check.learned_about[accord.Side.A] == tuple(accord.learned_about(agreed(), accord.Side.A))
    assert all("3 records" in shown for shown in (repr(check), str(check)))
    assert all(line in str(check) for line in check.learned_about[accord.Side.A])
    assert "north" in check._repr_html_()


def test_all_faults_are_shown_and_none_is_raised() -> None:
    """Rows and columns are named, values are not. Who learns what does not depend on the table."""
    rows = pa.table({"id": ["a", "a", None], "x": [1, 99, 3], "y": ["1", "two", None]})
    check = accord.check(agreement(), rows, party="A")
    assert (check.clean, check.layout) == (False, None)
    places = [fault.place for fault in check.faults]
    assert all(any(f"'{name}'" in place for place in places) for name in ("id", "x", "y"))
    shown = str(check) + repr(check) + check._repr_html_()
    assert [word in shown for word in ("'id'", "two", "bob")] == [True, False, True]
    with pytest.raises(DataError) as raised:
        check.require_clean()
    assert raised.value.faults == check.faults


def test_a_check_finds_out_how_a_file_is_written(tmp_path: Path) -> None:
    assert (accord.check(agreement()).records, accord.check(agreement()).clean) == (None, True)
    path = tmp_path / "a.csv"
    path.write_text("id;x;y\n1;1;1\n2;9;9\n")
    check = accord.check(agreement(), path)
    assert check.layout is not None
    assert check.layout.delimiter == ";"
    for argument in ("`layout=`", "`party=`"):
        assert any(argument in line for line in check.advice)


def test_dates_of_two_readings_are_a_fault_until_named() -> None:
    people, days = prepared.people(2).a, pa.array(["01/02/1980", "03/04/1981"])
    rows = people.set_column(people.column_names.index("birth"), "birth", days)
    check = accord.check(birth_key(), rows)
    assert "birth='%d/%m/%Y'" in check.faults[0].mend
    named = accord.check(birth_key(), rows, dates={"birth": "%d/%m/%Y"})
    assert named.layout is not None
    assert named.layout.source("birth").format == "%d/%m/%Y"


def test_errors_that_are_no_faults_of_the_data_are_raised(tmp_path: Path) -> None:
    rows, intersection = table(A_ROWS, "a"), accord.adjust(agreement(), protocol="psi")
    for error, agreed, data, given in (
        (UsageError, agreement(), rows, {"party": "carol"}),
        (UsageError, agreement(), rows, {"layout": accord.Layout(columns={"z": "x"})}),
        (UnreadableError, agreement(), tmp_path / "nothing.csv", {}),
        (AgreementError, intersection, rows, {}),
    ):
        with pytest.raises(error):
            accord.check(agreed, data, **given)  # type: ignore[arg-type]
