"""Classes of frequencies, exact and the same for all who have the list; lists that ship and one's own."""

from __future__ import annotations

import hashlib
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from accord.errors import DataError, UnreadableError, UsageError
from accord.fields import frequencies
from accord.fields.frequencies import (
    EVERYBODY,
    SHIPPED,
    Frequencies,
    census_names,
    classes_of,
    count_values,
    find_classes,
    find_list,
    list_table,
    read_frequencies,
)
from accord.fields.schema import FrequencyField

NO_DIGEST = f"sha256:{'0' * 64}"
LIST = "value,count\nSmith,30\nJONES ,20\nd'Arc,1\n,49\n"
SHIPS = {
    "us-surnames-1990": "sha256:c62966ef1ff8af7afacdf6ce71aa66892c25acd9743612018347025d472dcaad",
    "us-given-names-1990": "sha256:aa1ea26cb801904ab655719a16e7ce4f7c08d0b695faa104629e58a57e55dbe2",
}


def listed(counts: dict[str, int], rest: int = 0) -> Frequencies:
    return Frequencies(pa.array(counts, pa.large_string()), np.array(list(counts.values()), np.int64), rest)


def field(*shares: object, **options: object) -> FrequencyField:
    said = {"type": "frequency", "list": "ours", "digest": NO_DIGEST, "shares": list(shares)}
    return FrequencyField.model_validate(said | options)


def found(spec: FrequencyField, of: Frequencies, *texts: str | None) -> list[int | None]:
    return classes_of(spec, of).of(pa.array(texts, pa.large_string())).to_pylist()


def test_a_class_is_the_number_of_shares_that_a_value_is_below() -> None:
    of = listed({"smith": 100, "jones": 99, "snow": 10, "quill": 9}, rest=782)
    spec = field("1/10", "1/100")
    assert found(spec, of, "smith", "jones", "snow", "quill", "nobody", None) == [0, 1, 1, 2, 2, None]
    assert classes_of(spec, of).sizes() == [1, 2, 1]
    assert classes_of(spec, of).listed(pa.array(["snow", "snow", "x", None], pa.large_string())) == 2


@given(
    st.dictionaries(st.text("abc", min_size=1, max_size=3), st.integers(1, 10**12 - 1), min_size=1),
    st.integers(0, 10**12),
    st.lists(st.fractions(0, 1).filter(bool), min_size=1, max_size=5, unique=True),
)
def test_shares_are_compared_exactly(counts: dict[str, int], rest: int, shares: list[Fraction]) -> None:
    shares = sorted(
        {*shares, Fraction(next(iter(counts.values())), sum(counts.values()) + rest)}, reverse=True
    )
    spec = field("1").model_copy(update={"shares": tuple(shares)})
    total = sum(counts.values()) + rest
    told = found(spec, listed(counts, rest), *counts, "not listed")
    assert told == [*(sum(Fraction(n, total) < s for s in shares) for n in counts.values()), len(shares)]


def test_the_list_is_cleaned_as_cells_are_and_counts_of_one_value_add_up() -> None:
    of = listed({"o'brien": 40, "obrien": 40, "o brien": 5, "josé": 15, "...": 900})
    plain, cleaned = field("1/15"), field("1/15", clean=["accents", "punctuation"])
    assert found(plain, of, "obrien", "o'brien", "jose") == [1, 1, 1]
    assert found(cleaned, of, "obrien", "o brien", "jose") == [0, 1, 1], "what is nothing counts all the same"


def test_the_digest_is_that_of_the_content_in_any_order() -> None:
    of = listed({"smith": 3, "ängström": 2, "jones": 1}, rest=7)
    body = "accord frequencies 1\n\t7\njones\t1\nsmith\t3\nängström\t2\n"
    assert of.digest == f"sha256:{hashlib.sha256(body.encode()).hexdigest()}"
    assert of.digest == listed({"jones": 1, "smith": 3, "ängström": 2}, rest=7).digest
    others = [
        listed({"smith": 3, "ängström": 2, "jones": 1}),
        listed({"smith": 2, "ängström": 3, "jones": 1}, 7),
    ]
    assert len({of.digest, *(one.digest for one in others)}) == 3


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"shares": []}, "at least 1"),
        ({"shares": ["1/100", "1/10"]}, "must fall from one to the next"),
        ({"shares": ["1/10", 0.1]}, "must fall from one to the next"),
        ({"shares": [0]}, "above 0 and at most 1"),
        ({"shares": ["3/2"]}, "above 0 and at most 1"),
        ({"shares": [f"1/{n}" for n in range(2, 19)]}, "at most 16"),
        ({"digest": "md5:00"}, "pattern"),
        ({"list": "../names"}, "pattern"),
        ({"derive": "soundex"}, "a frequency cannot be derived by 'soundex'; remove derive"),
    ],
)
def test_faults_of_the_field(options: dict[str, object], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        field("1/10", **options)


def test_names_of_every_kind_the_most_frequent_first() -> None:
    for kind, count, first in (
        ("female", 4275, "mary"),
        ("male", 1219, "james"),
        ("surname", 18839, "smith"),
    ):
        found = census_names(kind)
        assert (len(found), next(iter(found))) == (count, first)
        assert list(found.values()) == sorted(found.values(), reverse=True)
        assert 0 < EVERYBODY - sum(found.values()) < EVERYBODY // 4, "some have other names"


def field_of(listed: str, digest: str) -> FrequencyField:
    return FrequencyField(type="frequency", list=listed, digest=digest, shares=("1/4", "1/100"))  # type: ignore[arg-type]


def write(folder: Path, content: str | bytes, name: str = "list.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_what_ships_never_changes() -> None:
    """Agreements name these digests: another content needs another name."""
    assert {name: find_list(name).digest for name in SHIPPED} == SHIPS
    given, surnames = find_list("us-given-names-1990"), find_list("us-surnames-1990")
    assert (given.total, surnames.total) == (200_000, 100_000)
    counts = dict(zip(given.values.to_pylist(), given.counts.tolist(), strict=True))
    assert counts["mary"] == 2629 + 9
    assert min(given.counts.min(), surnames.counts.min()) >= 1


def test_a_list_is_read_from_any_kind_of_file(tmp_path: Path) -> None:
    of = read_frequencies(write(tmp_path, LIST))
    assert dict(zip(of.values.to_pylist(), of.counts.tolist(), strict=True)) == {
        "smith": 30,
        "jones": 20,
        "d'arc": 1,
    }
    assert (of.rest, of.total) == (49, 100)
    other = 'count;x;value\n49;;\n 20 ;;jones\n030;;"SMITH"\n1;;D\'arc\n'
    assert read_frequencies(write(tmp_path, other.encode("utf-16"), "other.csv")).digest == of.digest
    table = pa.table({"value": ["smith", "jones", "d'arc", None], "count": [30, 20, 1, 49]})
    pyarrow.parquet.write_table(table, tmp_path / "list.parquet")
    assert read_frequencies(tmp_path / "list.parquet").digest == of.digest


def test_values_are_counted_as_cells_are_folded_and_rare_ones_without_a_name(tmp_path: Path) -> None:
    names = ["Smith ", "SMITH", "d'Arc", None, "Smith", "ﬁsh", "fish", "x" * 300, "x" * 300]
    found = count_values(pa.table({"name": names}), "name", least=2)
    assert dict(zip(found.values.to_pylist(), found.counts.tolist(), strict=True)) == {"smith": 3, "fish": 2}
    assert found.rest == 3, "d'Arc is too rare and another too long; a row without a value is of nobody"
    pyarrow.csv.write_csv(list_table(found), tmp_path / "list.csv")
    again = read_frequencies(tmp_path / "list.csv")
    assert (again.digest, again.rest) == (found.digest, 3)
    same = count_values(tmp_path / "list.csv", "value", "count", 1)
    assert same.digest == found.digest, "of counts, a row without a value is of others"
    assert list_table(found)["value"].to_pylist() == ["smith", "fish", None]


@given(st.lists(st.tuples(st.sampled_from("abcdeÄ"), st.integers(1, 9)), min_size=1), st.integers(1, 20))
def test_no_list_names_what_comes_to_less(rows: list[tuple[str, int]], least: int) -> None:
    table = pa.table({"name": [name for name, _ in rows], "n": [n for _, n in rows]})
    sums = {name.lower(): sum(n for other, n in rows if other == name) for name, _ in rows}
    kept = {name: total for name, total in sums.items() if total >= least}
    if kept:
        found = count_values(table, "name", "n", least)
        assert dict(zip(found.values.to_pylist(), found.counts.tolist(), strict=True)) == kept
        assert found.total == sum(sums.values())
    else:
        with pytest.raises(UsageError, match="0 values of the table occur at least"):
            count_values(table, "name", "n", least)


def test_what_is_no_count_is_a_fault_by_row() -> None:
    with pytest.raises(DataError, match="rows 2, 3, column 'n': is not a whole number"):
        count_values(pa.table({"name": list("abc"), "n": ["7", "many", None]}), "name", "n")


def test_all_faults_at_once_and_no_value(tmp_path: Path) -> None:
    rows = [
        "Smith,3",
        "x,",
        "y,-1",
        "z,1.5",
        "smith ,4",
        ",5",
        " ,6",
        "w,1e3",
        "v,0",
        f"{'l' * 257},1",
        "u,1,2",
    ]
    rows += [f"t,{10**12}"]
    path = write(tmp_path, "\n".join(["value,count", *rows, "SECRET,none"]))
    with pytest.raises(DataError) as caught:
        read_frequencies(path)
    told = str(caught.value)
    assert "rows 1, 5, 6, 7, column 'value': repeats that of another row" in told
    assert (
        "rows 2, 3, 4, 8, 9 and 2 more, column 'count': is not a whole number from 1 to 999,999,999,999"
        in told
    )
    assert "row 10, column 'value': is longer than 256 letters." in told
    assert "row 11: has 3 cells, the header 2." in told
    assert "SECRET" not in told
    table = pa.table({"value": ["a", "n\0"], "count": [1, 2]})
    pyarrow.parquet.write_table(table, tmp_path / "list.parquet")
    with pytest.raises(DataError, match="row 2, column 'value': holds a NUL character"):
        read_frequencies(tmp_path / "list.parquet")


def test_files_that_are_no_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match="column 'count': was not found"):
        read_frequencies(write(tmp_path, "value,number\na,1\n"))
    with pytest.raises(DataError, match="There are no values below the header"):
        read_frequencies(write(tmp_path, "value,count\n"))
    with pytest.raises(UnreadableError, match="empty"):
        read_frequencies(write(tmp_path, ""))
    with pytest.raises(UnreadableError):
        read_frequencies(tmp_path / "none.csv")
    monkeypatch.setattr(frequencies, "MOST_VALUES", 3)
    with pytest.raises(UnreadableError, match="more than 3 rows"):
        read_frequencies(write(tmp_path, LIST))


def test_another_list_than_the_agreed_is_refused_with_both_digests(tmp_path: Path) -> None:
    path = str(write(tmp_path, LIST))
    digest = read_frequencies(Path(path)).digest
    fields = {"surname_rarity": field_of("ours", digest)}
    assert find_classes(fields, {"ours": path})["surname_rarity"].sizes() == [1, 2, 0]
    write(tmp_path, LIST.replace("30", "31"))
    with pytest.raises(DataError) as caught:
        find_classes(fields, {"ours": path})
    [fault] = caught.value.faults
    assert fault.place == "list 'ours' of field 'surname_rarity'"
    assert f"in {path} has the digest {read_frequencies(Path(path)).digest}" in fault.problem
    assert f"the agreement names {digest}" in fault.problem
    assert "[fields.surname_rarity]" in fault.mend
    with pytest.raises(DataError, match="the list that ships with Accord has the digest"):
        find_classes({"f": field_of("us-surnames-1990", digest)}, {})


def test_faults_of_all_lists_are_told_together(tmp_path: Path) -> None:
    bad, short = write(tmp_path, "value,count\na,b\n"), write(tmp_path, LIST, "short.csv")
    zero = f"sha256:{'0' * 64}"
    fields = {name: field_of(name, zero) for name in ("bad", "short", "nowhere", "gone", "us-surnames-1990")}
    lists = {"bad": str(bad), "short": str(short), "gone": str(tmp_path / "gone.csv")}
    with pytest.raises(DataError) as caught:
        find_classes(fields, lists)
    places = [fault.place for fault in caught.value.faults]
    assert places == [
        f"{bad}, row 1, column 'count'",
        "list 'nowhere'",
        "list 'gone'",
        "list 'short' of field 'short'",
        "list 'us-surnames-1990' of field 'us-surnames-1990'",
    ]
    assert "does not ship with Accord, which has us-surnames-1990" in str(caught.value)
    assert str(caught.value).count("Row 1 is the first one below the header") == 1


def test_one_list_may_serve_several_fields_and_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(write(tmp_path, LIST))
    digest = read_frequencies(Path(path)).digest
    read: list[Path] = []

    def noted(path: Path) -> Frequencies:
        read.append(path)
        return read_frequencies(path)

    monkeypatch.setattr(frequencies, "read_frequencies", noted)
    assert set(
        find_classes({"f": field_of("ours", digest), "g": field_of("ours", digest)}, {"ours": path})
    ) == {
        "f",
        "g",
    }
    assert read == [Path(path)]
    assert find_classes({}, {}) == {}
