"""Generated people: repeatable, shaped as promised, as faulty as promised, and with a truth that says how."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from accord.datasets.generated import Generated
from accord.datasets.people import generate_people
from accord.datasets.people_errors import FIELDS, Errors

KEYS = {f"missing_{name}" for name in ("given", "surname", "birth", "postcode", "phone")}
PAIRS = 30_000


@pytest.fixture(scope="module")
def made() -> Generated:
    return generate_people(PAIRS, 1.0, 4)


def errors_of(made: Generated) -> list[set[str]]:
    return [set(kinds.split()) for kinds in made.truth["errors"].to_pylist()]


def side_by_side(made: Generated) -> tuple[pa.Table, pa.Table]:
    """The records of the true pairs, row by row, as one would write them."""
    tables = []
    for table, name in ((made.a, "id_a"), (made.b, "id_b")):
        rows = table.take(pc.index_in(made.truth[name], table["id"]))
        plain = {field: pc.utf8_lower(rows[field]) for field in FIELDS}
        plain["sex"] = pc.utf8_slice_codeunits(plain["sex"], 0, 1)
        digits = pc.replace_substring(plain["phone"], "-", "")
        plain["phone"] = pc.utf8_slice_codeunits(digits, 1) if name == "id_b" else digits
        tables.append(pa.table(plain))
    return tables[0], tables[1]


@pytest.mark.parametrize("records", [1, 7, 400])
@pytest.mark.parametrize("overlap", [None, 0.0, 0.3, 1.0])
def test_shape(records: int, overlap: float | None) -> None:
    made, again = generate_people(records, overlap, 5), generate_people(records, overlap, 5)
    for name in ("a", "b", "truth"):
        assert getattr(made, name).equals(getattr(again, name))
    assert not generate_people(records, overlap, 6).a.equals(made.a)
    assert made.a.num_rows == made.b.num_rows == records
    assert made.a.column_names == made.b.column_names == ["id", *FIELDS]
    assert made.truth.column_names == ["id_a", "id_b", "errors"]
    assert made.truth.num_rows == round((0.5 if overlap is None else overlap) * records)
    for name, table in (("id_a", made.a), ("id_b", made.b)):
        assert set(made.truth[name].to_pylist()) <= set(table["id"].to_pylist())
    assert generate_people(records, None, 5, sparse=True).truth.num_rows == round(0.02 * records)


def test_as_faulty_as_promised(made: Generated) -> None:
    kinds = errors_of(made)
    counts = np.array([len(one) for one in kinds])
    # By the independence of kinds the standard deviation of a pair's errors is below √1.5: the bounds are 14
    # standard deviations of the mean away from 1.5, and those of the shares below 12 and more.
    assert abs(counts.mean() - 1.5) < 0.1
    assert (counts == 0).mean() < 0.25
    assert abs(np.mean([bool(one & KEYS) for one in kinds]) - 0.1) < 0.02
    assert {kind for one in kinds for kind in one} == set(Errors().rates)


def test_records_without_errors_agree_and_those_with_errors_do_not(made: Generated) -> None:
    left, right = side_by_side(made)
    same = np.ones(len(left), np.bool_)
    for name in FIELDS:
        equal = pc.if_else(pc.is_null(left[name]), pc.is_null(right[name]), pc.equal(left[name], right[name]))
        same &= np.asarray(pc.fill_null(equal, False))
    counts = np.array([len(kinds) for kinds in errors_of(made)])
    assert same[counts == 0].all()
    assert not same[counts == 1].any()
    assert same[counts > 1].mean() < 0.001, "two slips hardly ever undo each other"


def test_each_kind_alone() -> None:
    none = Errors().scaled(0)
    rates = {
        "moved": replace(none, moved=1),
        "maiden": replace(none, maiden=1),
        "scanning": replace(none, scanning=1),
    }
    for kind, errors in rates.items():
        found = errors_of(generate_people(400, 1.0, 2, errors=errors))
        assert {name for one in found for name in one} == {kind}
    found = errors_of(generate_people(400, 1.0, 2, errors=replace(none, missing={"phone": 1.0})))
    assert found == [{"missing_phone"}] * 400
    assert not any(errors_of(generate_people(400, 1.0, 2, errors=none)))


def test_each_side_writes_in_its_own_way() -> None:
    made = generate_people(300, None, 1, errors=Errors().scaled(0))
    a, b = made.a.to_pylist(), made.b.to_pylist()
    assert {one["sex"] for one in a} == {"F", "M"}
    assert {one["sex"] for one in b} == {"female", "male"}
    assert all(one["given"].istitle() and one["street"].istitle() and one["phone"][3] == "-" for one in a)
    assert all(one["given"].isupper() and one["street"].isupper() and one["phone"].isdigit() for one in b)
    assert all(one["birth"][4] == "-" for one in a + b)
    assert all(one["birth"][2] == "." for one in generate_people(9, None, 1, dotted=True).b.to_pylist())


def test_records_of_one_table_alone_are_as_faulty() -> None:
    made = generate_people(20_000, 0.5, 3)
    paired = pc.is_in(made.b["id"], made.truth["id_b"])
    lacks = [
        pc.is_null(made.b.filter(rows)["phone"]).to_numpy().mean() for rows in (paired, pc.invert(paired))
    ]
    # 0.022 of 10,000 records each: the difference is within seven standard deviations, 1e-11.
    assert abs(lacks[0] - lacks[1]) < 7 * np.sqrt(2 * 0.022 / 10_000)
    assert min(lacks) > 0.01


def test_relatives_are_strangers_on_the_other_side() -> None:
    """Somebody's twin must be in the other table, or a linkage could not mistake one for the other."""
    made = generate_people(20_000, 0.2, 3, errors=Errors().scaled(0))
    key = ["birth", "surname", "postcode"]
    left = pa.table({name: pc.utf8_upper(made.a[name]) for name in (*key, "given")})
    right = made.b.select([*key, "given"]).rename_columns([*key, "other"])
    joined = left.join(right, key)
    differ = pc.and_(pc.is_valid(joined["other"]), pc.not_equal(joined["given"], joined["other"]))
    assert pc.sum(differ).as_py() > 20
