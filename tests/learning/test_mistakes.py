"""Made-up errors: as many as said, of the kinds said, and none that a field would refuse."""

from __future__ import annotations

from datetime import date

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import TypeAdapter

from accord.fields.load import load_records
from accord.fields.schema import FieldSpec
from accord.learning.mistakes import Rates, relax, with_errors
from accord.rules.words import dice, same
from accord.table.layout import Layout

BLOOM = {"kind": "bloom", "bits": 64, "hashes": 1, "grams": 2}
FIELDS: dict[str, FieldSpec] = TypeAdapter(dict[str, FieldSpec]).validate_python(
    {
        "given": {"type": "text", "encoder": BLOOM, "hash_key": "name", "missing": "differs"},
        "last": {"type": "text", "encoder": BLOOM, "hash_key": "name"},
        "sex": {"type": "category", "values": ["f", "m"], "missing": "differs"},
        "shoe": {"type": "number", "min": 20, "max": 60, "step": 1},
        "birth": {"type": "date", "min": "1950-01-01", "max": "1999-12-31", "missing": "differs"},
        "year": {"type": "number", "from": "birth", "derive": "year", "min": 1950, "max": 1999, "step": 1,
                 "missing": "differs"},
    }
)  # fmt: skip
RULE = (dice("given", "last") >= 1) & same("sex") & same("shoe") & same("birth")
NONE = Rates(0, 0, 0, 0, 0, 0)
ROWS = 4000


def table() -> pa.Table:
    rng = np.random.default_rng(3)
    days = rng.integers(0, 365 * 49, ROWS).astype("datetime64[D]") + np.timedelta64(-7305 + 1, "D")
    return pa.table(
        {
            "id": [f"r{i}" for i in range(ROWS)],
            "given": [f"Élodie {i:04d}" for i in range(ROWS)],
            "last": [f"O'Neil{i:04d}" for i in range(ROWS)],
            "sex": rng.choice(["f", "m"], ROWS),
            "shoe": rng.integers(20, 61, ROWS).astype(str),
            "born": [day.strftime("%d.%m.%Y") for day in days.astype(date)],
        }
    )


LAYOUT = Layout(columns={"birth": "born"}).read_dates({"birth": "%d.%m.%Y"})


def made(**rates: float) -> pa.Table:
    return with_errors(
        table(), RULE, FIELDS, LAYOUT, Rates(**{**vars(NONE), **rates}), np.random.default_rng(1)
    )


def changed(found: pa.Table, column: str) -> float:
    """The share of rows in which the copy is not the same, whatever its letter case; of dates, their days."""
    before = table()[column]
    if column == "born":
        before = pc.strptime(before, "%d.%m.%Y", "s").cast(pa.date32())
    else:
        before = pc.utf8_lower(before)
    after = found[column] if column == "born" else pc.utf8_lower(found[column])
    return 1 - pc.sum(pc.fill_null(pc.equal(before, after), False)).as_py() / ROWS


def test_without_errors_the_copy_is_the_table() -> None:
    found = made()
    assert [changed(found, name) for name in ("given", "last", "sex", "shoe", "born")] == [0] * 5


def test_each_kind_happens_where_it_can_and_as_often_as_said() -> None:
    """Shares of 4,000 rows are within six standard deviations: a false alarm in 5e8 draws."""

    def near(share: float, rate: float) -> bool:
        return abs(share - rate) < 6 * (rate * (1 - rate) / ROWS) ** 0.5 + 1e-12

    slips = made(slip=0.5)
    assert changed(slips, "born") == changed(slips, "shoe") == changed(slips, "sex") == 0
    # Some slips change nothing: no spelling fits, or two letters are alike.
    assert 0.4 < changed(slips, "given") < 0.53
    empty = made(missing=0.3)
    assert near(empty["given"].null_count / ROWS, 0.3)
    assert near(empty["born"].null_count / ROWS, 0.3)
    assert empty["last"].null_count == empty["shoe"].null_count == 0, "where a record may not lack it"
    assert near(changed(made(exchanged=0.2), "given"), 0.2)
    assert near(changed(made(changed=0.2), "last"), 0.2)
    assert near(changed(made(misdated=0.2), "born"), 0.2)
    swapped = changed(made(swapped_date=1.0), "born")
    assert 0.3 < swapped < 0.45, "eleven of the first twelve days of a month"


def test_a_copy_with_every_error_still_loads_and_encodes_alike() -> None:
    found = made(**vars(Rates().scaled(4)))
    copy = load_records(found, relax(FIELDS), "00", (), LAYOUT)
    own = load_records(table(), FIELDS, "00", (), LAYOUT)
    assert len(copy) > 0.9 * ROWS
    same_rows = load_records(made(), relax(FIELDS), "00", (), LAYOUT)
    for name in FIELDS:
        mine, theirs = (vars(records.columns[name]) for records in (own, same_rows))
        assert all(np.array_equal(mine[key], theirs[key]) for key in mine)


def test_rates_scale_up_to_always() -> None:
    assert Rates().scaled(0) == NONE
    assert Rates().scaled(1) == Rates()
    assert Rates().scaled(100) == Rates(1, 1, 1, 1, 1, 1)
