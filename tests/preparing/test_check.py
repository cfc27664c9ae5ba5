"""`check`: all faults at once, shown and not raised; how a table fits; who learns what."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import accord
from accord.errors import AgreementError, DataError, UnreadableError, UsageError
from tests.preparing.worlds import drafted, shop
from tests.protocols.worlds import agreement
from tests.run.worlds import A_ROWS, table

LAYOUT = accord.Layout(
    id="sku",
    columns={"brand": "maker", "price": {"column": "price", "decimal": ".", "missing": ["unknown"]}},  # type: ignore[dict-item]
)


def test_a_table_that_fits() -> None:
    check = accord.check(drafted().agreement, shop(), party="north", layout=LAYOUT)
    check.require_clean()
    assert check.faults == ()
    assert check.layout == LAYOUT
    assert check.learned_about[accord.Side.A] == tuple(
        accord.learned_about(drafted().agreement, accord.Side.A)
    )
    assert repr(check).startswith("<Check: clean; 3 records fit")
    assert "the table fits: 3 records" in str(check)
    assert "What south will learn about the table of north" in check._repr_html_()


def test_all_faults_are_shown_and_none_is_raised() -> None:
    rows = pa.table({"id": ["a", "a", None], "x": [1, 99, 3], "y": ["1", "two", None]})
    check = accord.check(agreement(), rows, party="A")
    assert not check.clean
    assert check.layout is None
    assert len(check.faults) >= 3
    said = str(check) + repr(check) + check._repr_html_()
    assert "column 'id'" in said
    assert "two" not in said, "rows and columns are named, values are not"
    assert "What bob (B) will learn" in said, "what is agreed holds whatever the table is"
    with pytest.raises(DataError):
        check.require_clean()


def test_an_agreement_alone() -> None:
    check = accord.check(agreement())
    assert check.clean
    assert (check.records, check.layout) == (None, None)
    assert str(check).startswith("The agreement is sound.")


def test_what_is_found_out_is_in_the_layout_of_the_check(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id;x;y\n1;1;1\n2;9;9\n")
    check = accord.check(agreement(), path)
    assert check.layout is not None
    assert check.layout.delimiter == ";"
    assert any("give `layout=`" in line for line in check.advice)
    assert any("`party=` to check" in line for line in check.advice)


def test_dates_that_can_be_read_in_two_ways_are_a_fault_until_somebody_says() -> None:
    draft = accord.draft(
        accord.propose(
            pa.table({"id": ["1", "2"], "surname": ["Ann", "Bo"], "birth": ["1980-01-31"] * 2})
        ).confirm(records=(100, 100))
    )
    rows = pa.table({"id": ["1", "2"], "surname": ["Ann", "Bo"], "birth": ["01/02/1980", "03/04/1981"]})
    check = accord.check(draft.agreement, rows)
    assert "`dates=` birth='%d/%m/%Y'" in check.faults[0].mend
    said = accord.check(draft.agreement, rows, dates={"birth": "%d/%m/%Y"})
    assert said.clean
    assert said.layout is not None
    assert said.layout.source("birth").format == "%d/%m/%Y"


def test_what_is_no_fault_of_the_data_is_raised(tmp_path: Path) -> None:
    rows = table(A_ROWS, "a")
    with pytest.raises(UsageError, match="not a party to this agreement"):
        accord.check(agreement(), rows, party="carol")
    with pytest.raises(UsageError, match="no field or column 'z'"):
        accord.check(agreement(), rows, layout=accord.Layout(columns={"z": "x"}))
    with pytest.raises(UnreadableError):
        accord.check(agreement(), tmp_path / "nothing.csv")
    with pytest.raises(AgreementError):
        accord.check(accord.adjust(agreement(), protocol="psi"), rows)
