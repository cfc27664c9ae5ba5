"""Generated people: a world of households, errors at the promised rates, and a truth that tells them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.datasets.generated import Generated
from accord.datasets.people import generate_people
from accord.datasets.people_errors import EVENTS, FIELDS, Errors, Record, draw_errors
from accord.datasets.people_typos import SLIPS, letters, texts
from accord.datasets.people_world import FIRST_BIRTH, TODAY, WIDTH, People, census, draw_people, nicknames
from accord.errors import UsageError

NONE = Errors().scaled(0)

# -- two tables and their truth -----------------------------------------------------------------------------

KEYS = {f"missing_{name}" for name in ("given", "surname", "birth", "postcode", "phone")}


@pytest.fixture(scope="module")
def made() -> Generated:
    return generate_people(30_000, 1.0, 4)


def errors_of(made: Generated) -> list[set[str]]:
    return [set(kinds.split()) for kinds in made.truth["errors"].to_pylist()]


def side_by_side(made: Generated) -> tuple[pa.Table, pa.Table]:
    """The records of the true pairs, row by row, in one spelling."""
    tables = []
    for table, name in ((made.a, "id_a"), (made.b, "id_b")):
        rows = table.take(pc.index_in(made.truth[name], table["id"]))
        plain = {field: pc.utf8_lower(rows[field]) for field in FIELDS}
        plain["sex"] = pc.utf8_slice_codeunits(plain["sex"], 0, 1)
        digits = pc.replace_substring(plain["phone"], "-", "")
        plain["phone"] = pc.utf8_slice_codeunits(digits, 1) if name == "id_b" else digits
        tables.append(pa.table(plain))
    return tables[0], tables[1]


@pytest.mark.parametrize(("records", "overlap"), [(1, None), (7, 0.0), (200, 0.3), (200, 1.0), (200, None)])
def test_tables_have_the_shape_and_the_overlap_asked_for(records: int, overlap: float | None) -> None:
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


def test_records_are_as_faulty_as_promised(made: Generated) -> None:
    """By the independence of kinds the standard deviation of a pair's errors is below √1.5: the bounds are 14
    standard deviations of the mean away from 1.5, and those of the shares below 12 and more."""
    kinds = errors_of(made)
    counts = np.array([len(one) for one in kinds])
    assert abs(counts.mean() - 1.5) < 0.1
    assert (counts == 0).mean() < 0.25
    assert abs(np.mean([bool(one & KEYS) for one in kinds]) - 0.1) < 0.02
    assert {kind for one in kinds for kind in one} == set(Errors().rates)
    left, right = side_by_side(made)
    same = np.ones(len(left), np.bool_)
    for name in FIELDS:
        equal = pc.if_else(pc.is_null(left[name]), pc.is_null(right[name]), pc.equal(left[name], right[name]))
        same &= np.asarray(pc.fill_null(equal, False))
    assert same[counts == 0].all()
    assert not same[counts == 1].any()
    assert same[counts > 1].mean() < 0.001, "two slips hardly ever undo each other"


def test_records_of_one_table_alone_are_as_faulty() -> None:
    """0.022 of 10,000 records each: the difference is within seven standard deviations, 1e-11."""
    made = generate_people(20_000, 0.5, 3)
    paired, missing = pc.is_in(made.b["id"], made.truth["id_b"]), pc.is_null(made.b["phone"]).to_numpy()
    of_pairs, alone = (missing[np.asarray(paired) == there].mean() for there in (True, False))
    assert abs(of_pairs - alone) < 7 * np.sqrt(2 * 0.022 / 10_000)
    assert min(of_pairs, alone) > 0.01


def test_each_kind_alone() -> None:
    alone: dict[str, dict[str, Any]] = {kind: {kind: 1} for kind in ("moved", "maiden", "scanning")}
    for kind, rate in (alone | {"missing_phone": {"missing": {"phone": 1.0}}}).items():
        told = errors_of(generate_people(400, 1.0, 2, errors=replace(NONE, **rate)))
        assert set().union(*told) == {kind}
        assert kind != "missing_phone" or told == [{kind}] * 400
    assert not any(errors_of(generate_people(400, 1.0, 2, errors=NONE)))


def test_each_side_writes_in_its_own_way() -> None:
    made = generate_people(300, None, 1, errors=NONE)
    a, b = made.a.to_pylist(), made.b.to_pylist()
    assert {one["sex"] for one in a} == {"F", "M"}
    assert {one["sex"] for one in b} == {"female", "male"}
    assert all(one["given"].istitle() and one["street"].istitle() and one["phone"][3] == "-" for one in a)
    assert all(one["given"].isupper() and one["street"].isupper() and one["phone"].isdigit() for one in b)
    assert all(one["birth"][4] == "-" for one in a + b)
    assert all(one["birth"][2] == "." for one in generate_people(9, None, 1, dotted=True).b.to_pylist())


def test_relatives_are_strangers_on_the_other_side() -> None:
    """A twin must be in the other table, or a linkage could not mistake one for the other."""
    made = generate_people(20_000, 0.2, 3, errors=NONE)
    key = ["birth", "surname", "postcode"]
    left = pa.table({name: pc.utf8_upper(made.a[name]) for name in (*key, "given")})
    right = made.b.select([*key, "given"]).rename_columns([*key, "other"])
    joined = left.join(right, key)
    differ = pc.and_(pc.is_valid(joined["other"]), pc.not_equal(joined["given"], joined["other"]))
    assert pc.sum(differ).as_py() > 20


# -- errors: rates, and what each event touches -------------------------------------------------------------

TOUCHED = {
    **{name: {"given", "surname", "street", "city", "postcode", "phone", "email"} for name in SLIPS},
    "phonetic": {"given", "surname", "street", "city"},
    "nickname": {"given"},
    "maiden": {"surname"},
    "moved": {"street", "city", "postcode", "phone"},
    "new_phone": {"phone"},
    "new_email": {"email"},
    "misdated": {"birth"},
    "swapped_date": {"birth"},
    "swapped_names": {"given", "surname"},
    "format": {"given", "middle", "surname", "street"},
}


def befall(kind: str, there: bool, count: int = 3_000) -> tuple[People, Record]:
    """People, and the same after the event has befallen all of them."""
    rng = np.random.default_rng(7)
    people = draw_people(rng, count)
    filled = {name: np.full(count, there) for name in FIELDS}
    for name in FIELDS:
        column = getattr(people, name, None)
        if there and column is not None and column.dtype.kind == "S":
            filled[name] = column != b""
    record = Record(people.take(np.arange(count)), filled, np.zeros(count, np.bool_))
    EVENTS[kind](rng, record, np.arange(count))
    return people, record


@pytest.mark.parametrize("kind", list(EVENTS))
def test_an_event_touches_its_fields_where_they_are_filled(kind: str) -> None:
    assert set(TOUCHED) == set(EVENTS)
    before, record = befall(kind, there=True)
    differs = np.zeros(len(before), np.bool_)
    for name, column in vars(before).items():
        changed = column != getattr(record.people, name)
        assert name in TOUCHED[kind] or not changed.any(), name
        differs |= changed
    assert (differs == record.changed).all()
    assert record.changed.mean() > {"maiden": 0.1, "swapped_date": 0.3, "nickname": 0.3}.get(kind, 0.5)
    assert not befall(kind, there=False)[1].changed.any()
    EVENTS[kind](np.random.default_rng(1), record, np.zeros(0, np.int64))
    assert (differs == record.changed).all(), "it may befall none"


def test_events_keep_the_calendar_and_the_line() -> None:
    """Dates stay among those of the living, and a move leaves the line behind."""
    for kind, most in (("misdated", 10), ("swapped_date", 0)):
        before, record = befall(kind, there=True)
        assert record.people.birth.min() >= FIRST_BIRTH
        assert record.people.birth.max() <= TODAY or kind == "swapped_date"
        years = [people.birth.astype("datetime64[Y]").astype(np.int64) for people in (before, record.people)]
        assert np.abs(years[0] - years[1]).max() <= most
    EVENTS["swapped_date"](np.random.default_rng(1), record, np.flatnonzero(record.changed))
    assert (record.people.birth == before.birth).all(), "a second swap swaps them back"
    before, record = befall("moved", there=True)
    assert ((before.phone == record.people.phone) == before.mobile).all()


def test_rates_are_scaled_and_have_names_and_wrong_ones_are_named() -> None:
    assert not any(NONE.rates.values())
    assert Errors().scaled(1) == Errors()
    assert max(Errors().scaled(100).rates.values()) == 1
    assert Errors().scaled(2).keyboard == 2 * Errors().keyboard
    assert replace(Errors(), missing={"phone": 0.5}).scaled(0.5).missing == {"phone": 0.25}
    assert "missing" not in Errors().rates
    assert {f"missing_{name}" for name in FIELDS} < set(Errors().rates)
    rates = replace(NONE, missing={"birth": 0.1}).rates
    assert "missing_birth" in rates
    assert "missing_phone" not in rates
    for wrong, names in (
        ({"keyboard": 1.5, "missing": {"phone": -1}}, ["keyboard", "missing_phone"]),
        ({"missing": {"fax": 0.1}}, ["fax", "given"]),
    ):
        with pytest.raises(UsageError) as raised:
            Errors(**wrong)
        assert all(name in str(raised.value) for name in names)


def test_an_error_is_in_one_of_the_two_records() -> None:
    """Six standard deviations: a false alarm in one of 10^7 runs, over all 50 of these."""
    errors, count = Errors(), 40_000
    first, second = draw_errors(np.random.default_rng(2), count, errors)
    assert set(first) == set(second) == set(errors.rates)
    for kind, rate in errors.rates.items():
        assert not (first[kind] & second[kind]).any()
        for drawn in (first[kind], second[kind]):
            assert abs(drawn.mean() - rate / 2) < 6 * np.sqrt(rate / 2 / count) + 1e-9


WORDS = st.lists(
    st.text("abcdefghijklmnopqrstuvwxyz0123456789 .@", min_size=0, max_size=9).map(str.strip), min_size=1
)
LONGER = {"keyboard": (0,), "transposed": (0,), "inserted": (0, 1), "deleted": (-1, 0)}


@given(words=WORDS, seed=st.integers(0, 1000))
def test_one_slip_a_text(words: list[str], seed: int) -> None:
    """Also in a column that is empty, and where a text fills its column."""
    before = np.array([word.encode() for word in (*words, "mmmmmmmmmmmm", "fmffmmffmffm")], "S12")
    assert (texts(letters(before)) == before).all()
    for name, slip in SLIPS.items():
        assert len(slip(np.random.default_rng(seed), before[:0])) == 0
        after = slip(np.random.default_rng(seed), before)
        assert (after.dtype, after.shape) == (before.dtype, before.shape)
        for old, new in zip(before.tolist(), after.tolist(), strict=True):
            assert bool(new) == bool(old), "a text that is there stays there"
            if name == "keyboard":
                assert sum(x != y for x, y in zip(old, new, strict=True)) <= 1
            if name == "transposed":
                assert sorted(old) == sorted(new)
            assert len(new) - len(old) in LONGER.get(name, (-1, 0, 1)) or len(old) == 12


@pytest.mark.parametrize(
    ("name", "text", "possible"),
    [
        ("keyboard", "a1", {"q1", "s1", "z1", "a2"}),
        ("transposed", "anna", {"nana", "anan"}),
        ("inserted", "p", {"pp", "po"}),
        ("deleted", "ab c", {"b c", "a c", "ab "}),
        ("phonetic", "phu", {"fu"}),
        ("scanning", "rnt", {"mt", "rrit"}),
        # No slip where none can happen.
        *(("keyboard", ". ", {". "}), ("transposed", "aaa", {"aaa"}), ("deleted", "a", {"a"})),
        *(("phonetic", "brr", {"brr"}), ("scanning", "kk", {"kk"})),
    ],
)
def test_what_may_become_of_a_text(name: str, text: str, possible: set[str]) -> None:
    """Of four equally likely results one stays away from 500 texts with probability 4·0.75^500 < 1e-60."""
    found = SLIPS[name](np.random.default_rng(3), np.array([text.encode()] * 500, "S9"))
    assert {one.decode() for one in found.tolist()} == possible


# -- the world: households, places that belong together, names that exist -----------------------------------


def test_names_are_as_frequent_as_in_the_census_and_so_are_draws() -> None:
    lists = census()
    sizes = {kind: len(names.texts) for kind, names in lists.items()}
    assert sizes == {"female": 4275, "male": 1219, "surname": 18839}
    most = {kind: (names.texts[0].decode(), round(names.shares[0], 5)) for kind, names in lists.items()}
    assert most == {"female": ("mary", 0.02629), "male": ("james", 0.03318), "surname": ("smith", 0.01006)}
    # Five standard deviations of a share of 1 % in 200,000 draws: a false alarm in two million runs.
    drawn, first = lists["surname"].draw(np.random.default_rng(1), 200_000), lists["surname"].shares[0]
    assert abs((drawn == 0).mean() - first) < 5 * np.sqrt(first / 200_000)
    assert drawn.max() < sizes["surname"]
    for names in lists.values():
        assert names.shares.sum() == pytest.approx(1)
        assert (np.diff(names.shares[: len(names.shares) // 2]) <= 0).all()
        assert names.shares[-1] < 3e-4
        assert len(set(names.texts.tolist())) == len(names.texts)
        assert all(text.isalpha() and text.islower() for text in names.texts.tolist())
        assert max(map(len, names.texts.tolist())) <= WIDTH - 8, "there is room for a title and slips"


def test_nicknames_are_of_names_in_the_census() -> None:
    full, short = nicknames()
    given = {*census()["female"].texts.tolist(), *census()["male"].texts.tolist()}
    assert set(full.tolist()) <= given
    assert (full[1:] > full[:-1]).all(), "a name is found by its place in the order"
    assert (short != full[:, None]).all()
    called = {name: set(row) for name, row in zip(full.tolist(), short.tolist(), strict=True)}
    assert called[b"william"] == {b"bill", b"will", b"billy"}
    assert called[b"peter"] == {b"pete"}


@pytest.fixture(scope="module")
def people() -> People:
    return draw_people(np.random.default_rng(5), 50_000)


def test_households_share_an_address_and_twins_all_but_given_names(people: People) -> None:
    together = np.flatnonzero(people.household[1:] == people.household[:-1])
    assert 0.4 < len(together) / len(people) < 0.7
    for name in ("street", "city", "postcode"):
        column = getattr(people, name)
        assert (column[together] == column[together + 1]).all()
    assert (people.surname[together] == people.surname[together + 1]).mean() > 0.85
    lines = together[~people.mobile[together] & ~people.mobile[together + 1]]
    assert (people.phone[lines] == people.phone[lines + 1]).all()
    strangers = np.flatnonzero(people.household[1:] != people.household[:-1])
    assert (people.surname[strangers] == people.surname[strangers + 1]).mean() < 0.01
    second = np.flatnonzero(people.twin)
    assert 0.002 < len(second) / len(people) < 0.03
    for name in ("household", "birth", "surname", "street", "phone"):
        assert (getattr(people, name)[second] == getattr(people, name)[second - 1]).all()
    assert (people.given[second] != people.given[second - 1]).all()


def test_ages_are_those_of_the_living_and_postcodes_belong_to_a_city(people: People) -> None:
    assert people.birth.min() >= FIRST_BIRTH
    assert people.birth.max() <= TODAY
    ages = (TODAY - people.birth).astype(np.int64) / 365.25
    shares, _ = np.histogram(ages, [0, 18, 40, 65, 110])
    assert (shares / len(people) > [0.1, 0.2, 0.2, 0.05]).all()
    assert 0.45 < people.female.mean() < 0.55
    assert (people.email[ages < 11] == b"").all()
    assert 0.5 < (people.email != b"").mean() < 0.8
    had = people.maiden != b""
    assert people.female[had].all()
    assert 0.1 < had.mean() < 0.3
    assert (people.maiden[had] != people.surname[had]).all()
    pairs = np.char.add(people.city, people.postcode)
    assert len(set(pairs.tolist())) == len(set(people.postcode.tolist()))
    assert len(set(people.city.tolist())) > 300
    assert all(len(code) == 5 and code.isdigit() for code in people.postcode.tolist())
