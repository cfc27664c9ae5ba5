"""One's own file: columns, id, encoding, from a TOML file and the command line."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from accord.errors import DataError, UnreadableError, UsageError
from accord.table.layout import Layout, Source, named_in, read_layout


def test_reading(tmp_path: Path) -> None:
    path = tmp_path / "columns.toml"
    path.write_text(
        'id = "key"\nencoding = "latin-1"\n[columns]\nname = "title"\n'
        'birth = { column = "dob", format = "%d.%m.%Y" }\n'
    )
    layout = read_layout(path).map_columns(["name=Title"])
    assert (layout.id, layout.encoding, layout.delimiter) == ("key", "latin-1", ",")
    assert layout.source("name") == Source(column="Title")
    assert layout.source("birth") == Source(column="dob", format="%d.%m.%Y")
    assert layout.source("other") == Source(column="other")


@pytest.mark.parametrize("pair", ["name", "=x", "x=", " = "])
def test_a_pair_that_is_none(pair: str) -> None:
    with pytest.raises(UsageError, match="field=column"):
        Layout().map_columns([pair])


def test_only_agreed_names_can_be_mapped() -> None:
    with pytest.raises(UsageError, match="Did you mean 'name'"):
        Layout().map_columns(["nmae=title"]).require_known(["name", "day"])
    Layout().map_columns(["name= title "]).require_known(["name"])
    assert Layout().map_columns(["name= title "]).source("name").column == " title "


def test_faults(tmp_path: Path) -> None:
    path = tmp_path / "columns.toml"
    with pytest.raises(UnreadableError):
        read_layout(path)
    path.write_text("id = \n")
    with pytest.raises(DataError, match="line 1"):
        read_layout(path)
    path.write_text('ids = "x"\n[columns]\nname = 3\n')
    with pytest.raises(DataError) as caught:
        read_layout(path)
    assert len(caught.value.faults) >= 2
    for deep in ("x = " + "[" * 5_000 + "]" * 5_000, "x = " + "{a=" * 2_000 + "1" + "}" * 2_000):
        path.write_text(deep)
        with pytest.raises(DataError, match="nested deeper than 8 levels"):
            read_layout(path)
    path.write_bytes(b"\xff")
    with pytest.raises(UnreadableError, match="not UTF-8"):
        read_layout(path)


def test_a_typing_error_gets_the_word_that_was_meant(tmp_path: Path) -> None:
    path = tmp_path / "columns.toml"
    path.write_text('delimeter = ";"\nzzz = 1\n[columns]\nbirth = { column = "b", formt = "%d" }\nname = 3\n')
    with pytest.raises(DataError) as caught:
        read_layout(path)
    said = {fault.place: f"{fault.problem} {fault.mend}" for fault in caught.value.faults}
    assert said["delimeter"] == "is not known here. Did you mean 'delimiter'?"
    assert said["zzz"].startswith("is not known here. Known are: id, encoding")
    assert said["columns.birth.formt"] == "is not known here. Did you mean 'format'?"
    assert "a column's name, or a table" in said["columns.name"]


def test_everything_that_a_layout_says_is_stored_and_written(tmp_path: Path) -> None:
    for layout in (
        Layout(),
        Layout(
            "key", "cp1252", "\t", {"day": Source(column="d", format="%d.%m.%Y")}, "who", "none", False, "S"
        ),
        Layout(make_ids=True, quote="'"),
    ):
        assert Layout.from_json(layout.to_json()) == layout
        (tmp_path / "layout.toml").write_text(layout.to_toml())
        assert read_layout(tmp_path / "layout.toml") == layout
    (tmp_path / "layout.toml").write_text(Layout(make_ids=True, quote="'").to_toml())
    assert named_in(tmp_path / "layout.toml") >= {"make_ids", "quote"}


def test_formats_of_dates_by_name() -> None:
    layout = Layout().map_dates(["day=%d.%m.%Y"]).map_columns(["day=d"])
    assert layout.source("day") == Source(column="d", format="%d.%m.%Y")
    for pair in ("day", "=%d", "day=dd.mm"):
        with pytest.raises(UsageError, match="field=format"):
            Layout().map_dates([pair])


def test_the_person_column_stays_with_the_layout(tmp_path: Path) -> None:
    path = tmp_path / "columns.toml"
    path.write_text('person = "patient"\n[columns]\nname = "title"\n')
    layout = read_layout(path)
    assert layout.person == "patient"
    assert Layout.from_json(layout.to_json()) == layout
    assert Layout.from_json("{}") == Layout()
    assert Layout().person is None


FULL = """\
[columns]
birth = { columns = ["y", "m", "d"], format = "%Y-%m-%d", missing = ["0"] }
sex = { column = "s", values = { w = "f", H = "m" } }
surname = { column = "n", part = "surname", order = "surname given" }
birth_year = { column = "age", as_of = 2024-06-30 }
price = { column = "p", decimal = "," }
phone = { absent = true }
street = { columns = ["no", "way"] }
city = "ort"
"""


def test_a_source_may_be_joined_split_mapped_or_absent(tmp_path: Path) -> None:
    path = tmp_path / "layout.toml"
    path.write_text(FULL)
    layout = read_layout(path)
    assert layout.own_columns(layout.columns) == ["y", "m", "d", "s", "n", "age", "p", "no", "way", "ort"]
    assert layout.place(["street"]) == "no + way"
    assert layout.place(["phone"]) == "phone"
    assert Layout.from_json(layout.to_json()) == layout
    path.write_text(layout.to_toml())
    assert read_layout(path) == layout
    assert layout.map_dates(["birth=%Y/%m/%d"]).source("birth").format == "%Y/%m/%d"
    assert layout.map_columns(["sex=S", "phone=tel"]).source("sex").values == {"w": "f", "H": "m"}
    assert layout.map_columns(["birth=dob", "phone=tel"]).source("phone") == Source(column="tel")
    with pytest.raises(UsageError, match="2 parts and there are 3 columns"):
        layout.map_dates(["birth=%m/%Y"])


@pytest.mark.parametrize("said", [86_400, 0, True, "86400", "1700000000"])
def test_a_day_is_no_number(said: object) -> None:
    with pytest.raises(UsageError, match="should be a day, such as 2024-06-30"):
        Layout(columns={"birth_year": {"column": "age", "as_of": said}})  # type: ignore[dict-item]
    source = Source.model_validate({"column": "age", "as_of": "2024-06-30"})
    assert source.as_of == date(2024, 6, 30)


@pytest.mark.parametrize(
    "said",
    [
        {"column": "s", "values": {"\ud800": "f"}},
        {"column": "s", "values": {"w": "\ud800"}},
        {"column": "s", "missing": ["\udfff"]},
        {"columns": ["\ud800", "t"]},
        {"column": "s", "format": "%Y\ud800"},
    ],
)
def test_half_of_a_character_is_refused(said: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="half of a character"):
        Layout(columns={"sex": said})  # type: ignore[dict-item]


def test_how_a_field_is_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "layout.toml").write_text(FULL)
    layout = read_layout(tmp_path / "layout.toml")
    assert {name: layout.source(name).tell() for name in (*layout.columns, "given")} == {
        "birth": "y + m + d, with 1 value read as empty",
        "sex": "s, with 2 values read as others",
        "surname": "n, of which the surname is read",
        "birth_year": "age, read as ages on 2024-06-30",
        "price": "p, read as numbers with ',' before decimals",
        "phone": "none (declared absent)",
        "street": "no + way",
        "city": "ort",
        "given": "given",
    }


def test_all_that_is_wrong_with_sources_is_told_at_once(tmp_path: Path) -> None:
    path = tmp_path / "layout.toml"
    path.write_text(
        '[columns]\na = { format = "%Y" }\nb = { column = "b", columns = ["c"] }\n'
        'c = { columns = ["x", "y"], format = "%Y", part = "year" }\nd = { column = "d", order = "x" }\n'
        'e = { column = "e", order = "given surname" }\nf = { absent = true, missing = ["-"] }\n'
        'g = { column = "g", part = "year", decimal = "." }\n'
    )
    with pytest.raises(DataError) as caught:
        read_layout(path)
    said = {fault.place: fault.problem for fault in caught.value.faults}
    assert [place[:9] for place in said] == [f"columns.{name}" for name in "abcdefg"]
    assert said["columns.a"].startswith("name one column, or columns")
    assert "part is for one column" in said["columns.c"]
    assert "1 parts" in said["columns.c"]
    assert said["columns.f"] == "a field that is absent has no missing."
    assert said["columns.g"] == "part and decimal do not go together."
