"""`accord.plan`: from counts, from one's own table, with the ledger's word; nothing is spent."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest

import accord
from accord.agreement.document import Agreement
from accord.datasets.people import generate_people
from accord.datasets.starter import starter
from accord.errors import AccountError, DataError, UsageError
from accord.state.database import Database
from accord.state.ledger import Ledger
from accord.table.sinks.files import write_table
from tests.protocols.worlds import agreement
from tests.run.worlds import A_ROWS, table


def test_counts_are_enough(tmp_path: Path) -> None:
    found = accord.plan(agreement(), records=(100, 80), network="lan", state=tmp_path)
    assert isinstance(found, accord.Plan)
    assert (found.sizes, found.network, found.from_data) == ((100, 80), "1000/0.5", False)
    assert not list(tmp_path.iterdir()), "nothing is kept but a speed"


def test_sizes_come_from_the_agreement_where_it_has_them(tmp_path: Path) -> None:
    plain = agreement().model_dump(mode="json") | {"expected": {"A": 7, "B": 9}}
    agreed = Agreement.model_validate(plain)
    assert accord.plan(agreed, state=tmp_path).sizes == (7, 9)
    assert accord.plan(agreed, table(A_ROWS, "b"), party="B", state=tmp_path).sizes == (7, 4)
    with pytest.raises(UsageError, match="Say how many records A and B have"):
        accord.plan(agreement(), state=tmp_path)


def test_the_own_number_is_that_of_the_table(tmp_path: Path) -> None:
    own = table(A_ROWS, "a")
    assert accord.plan(agreement(), own, party="alice", state=tmp_path).sizes == (4, 4)
    assert accord.plan(agreement(), own, party="A", records=(99, 50), state=tmp_path).sizes == (4, 50)
    with pytest.raises(UsageError, match="whose data it is"):
        accord.plan(agreement(), own, state=tmp_path)
    with pytest.raises(UsageError, match="'carol' is not a party"):
        accord.plan(agreement(), own, party="carol", state=tmp_path)


def test_a_table_that_does_not_fit_is_refused_with_all_its_faults(tmp_path: Path) -> None:
    bad = pa.table({"id": ["a", "b"], "x": pa.array([99, 1]), "y": pa.array([1, 99])})
    with pytest.raises(DataError) as caught:
        accord.plan(agreement(), bad, party="A", state=tmp_path)
    assert len(caught.value.faults) == 2
    with pytest.raises(DataError, match="no records"):
        accord.plan(agreement(), bad.slice(0, 0), party="A", state=tmp_path)


@pytest.mark.parametrize(
    "wish",
    [
        *({"recall": 1.5}, {"max_time": 0}, {"max_bytes": -1}, {"overlap": 2.0}, {"network": "fast"}),
        *({"max_epsilon": -1}, {"max_epsilon": float("nan")}),
    ],
)
def test_a_wish_that_means_nothing_is_refused(wish: dict[str, float], tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        accord.plan(agreement(), records=(5, 5), state=tmp_path, **wish)  # type: ignore[arg-type]


def test_recall_is_seen_on_errors_of_the_own_records(tmp_path: Path) -> None:
    agreed = starter("people")
    found = accord.plan(agreed, generate_people(250, None, 0).a, party="A", recall=0.5, state=tmp_path)
    assert found.from_data
    assert found.agreed.estimated
    assert found.agreed.recall is not None
    assert 0.8 < found.agreed.recall <= 1
    fewer = [one.recall for one in found.options if one.bins and one.blocking.count(";") == 1]
    assert fewer
    assert min(filter(None, fewer)) < found.agreed.recall, "fewer passes miss more"


def test_a_table_whose_ids_are_made_is_planned_like_any(tmp_path: Path) -> None:
    agreed, own = starter("people"), generate_people(250, None, 0).a
    write_table(own.drop_columns(["id"]), tmp_path / "a.parquet")
    made = accord.Layout(make_ids=True)
    found = accord.plan(agreed, tmp_path / "a.parquet", party="A", layout=made, state=tmp_path)
    other = accord.plan(agreed, own, party="A", state=tmp_path)
    assert (found.agreed.comparisons, found.agreed.recall, found.agreed.usual) == (
        other.agreed.comparisons, other.agreed.recall, other.agreed.usual
    )  # fmt: skip


def test_the_ledger_is_asked_and_nothing_is_charged(tmp_path: Path) -> None:
    own = table(A_ROWS, "a")
    accord.set_budget("small", epsilon=Fraction(1, 2), delta="2^-30", state=tmp_path)
    before = Ledger(Database(tmp_path)).runs()
    told = accord.plan(agreement(), own, party="A", state=tmp_path).warnings
    assert told[0].code == "ledger-refuses"
    assert "ε = 0.5" in told[0].text
    accord.set_budget("small", epsilon=9, delta="0.5", state=tmp_path)
    again = accord.plan(agreement(), own, party="A", dataset="small", state=tmp_path)
    assert "ledger-refuses" not in [one.code for one in again.warnings]
    assert Ledger(Database(tmp_path)).runs() == before == ()
    with pytest.raises(AccountError):
        accord.plan(agreement(), own, party="A", dataset="other", state=tmp_path)


def test_counts_alone_ask_no_ledger(tmp_path: Path) -> None:
    accord.set_budget("none", epsilon=0, delta=0, state=tmp_path)
    codes = [one.code for one in accord.plan(agreement(), records=(5, 5), state=tmp_path).warnings]
    assert "ledger-refuses" not in codes
