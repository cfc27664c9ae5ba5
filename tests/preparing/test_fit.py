"""Where agreed fields are found in a table, under one's own draft and a partner's, and `check` of both."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest

import accord
from accord.errors import AgreementError, DataError, OutputError, UnreadableError, UsageError
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
    assert fit.layout.id == "Artikelnummer"
    assert {name: fit.layout.source(name).column for name in fit.layout.columns} == {
        "title": "Bezeichnung",
        "brand": "Marke",
        "price": "Preis",
    }
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


def test_passes_that_need_an_absent_field_are_told() -> None:
    fit = accord.propose(prepared.people(40).a).fit(birth_key(), absent=["birth"])
    assert any("1 pass of 1" in line and "birth" in line for line in fit.told)


# -- check --------------------------------------------------------------------------------------------------


def test_a_clean_check_has_its_layout_and_says_who_learns_what() -> None:
    layout = accord.Layout(
        id="sku",
        columns={"brand": "maker", "price": {"column": "price", "decimal": ".", "missing": ["unknown"]}},  # type: ignore[dict-item]
    )
    check = accord.check(agreed(), SHOP, party="north", layout=layout)
    check.require_clean()
    assert (check.faults, check.layout, check.records) == ((), layout, 3)
    assert check.learned_about[accord.Side.A] == tuple(accord.learned_about(agreed(), accord.Side.A))
    for shown in (repr(check), str(check)):
        assert "3 records" in shown
    assert all(line in str(check) for line in check.learned_about[accord.Side.A])
    assert "north" in check._repr_html_()


def test_all_faults_are_shown_and_none_is_raised() -> None:
    rows = pa.table({"id": ["a", "a", None], "x": [1, 99, 3], "y": ["1", "two", None]})
    check = accord.check(agreement(), rows, party="A")
    assert not check.clean
    assert check.layout is None
    assert {word for fault in check.faults for word in ("'id'", "'x'", "'y'") if word in fault.place} == {
        "'id'",
        "'x'",
        "'y'",
    }
    shown = str(check) + repr(check) + check._repr_html_()
    assert "column 'id'" in shown
    assert "two" not in shown, "rows and columns are named, values are not"
    assert "bob" in shown, "who learns what does not depend on the table"
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
    people = prepared.people(2).a
    rows = people.set_column(
        people.column_names.index("birth"), "birth", pa.array(["01/02/1980", "03/04/1981"])
    )
    check = accord.check(birth_key(), rows)
    assert "birth='%d/%m/%Y'" in check.faults[0].mend
    named = accord.check(birth_key(), rows, dates={"birth": "%d/%m/%Y"})
    assert named.clean
    assert named.layout is not None
    assert named.layout.source("birth").format == "%d/%m/%Y"


def test_errors_that_are_no_faults_of_the_data_are_raised(tmp_path: Path) -> None:
    rows = table(A_ROWS, "a")
    with pytest.raises(UsageError):
        accord.check(agreement(), rows, party="carol")
    with pytest.raises(UsageError):
        accord.check(agreement(), rows, layout=accord.Layout(columns={"z": "x"}))
    with pytest.raises(UnreadableError):
        accord.check(agreement(), tmp_path / "nothing.csv")
    with pytest.raises(AgreementError):
        accord.check(accord.adjust(agreement(), protocol="psi"), rows)
