"""Lists of frequencies: those that ship, one's own, and everything that can be wrong with one."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from accord.errors import DataError, UnreadableError
from accord.fields import frequency_lists
from accord.fields.frequencies import Frequencies
from accord.fields.frequency_lists import SHIPPED, find_classes, find_list, read_frequencies
from accord.fields.schema import FrequencyField

LIST = "value,count\nSmith,30\nJONES ,20\nd'Arc,1\n,49\n"
SHIPS = {
    "us-surnames-1990": "sha256:c62966ef1ff8af7afacdf6ce71aa66892c25acd9743612018347025d472dcaad",
    "us-given-names-1990": "sha256:aa1ea26cb801904ab655719a16e7ce4f7c08d0b695faa104629e58a57e55dbe2",
}


def field(listed: str, digest: str) -> FrequencyField:
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
    monkeypatch.setattr(frequency_lists, "MOST_VALUES", 3)
    with pytest.raises(UnreadableError, match="more than 3 rows"):
        read_frequencies(write(tmp_path, LIST))


def test_another_list_than_the_agreed_is_refused_with_both_digests(tmp_path: Path) -> None:
    path = str(write(tmp_path, LIST))
    digest = read_frequencies(Path(path)).digest
    fields = {"surname_rarity": field("ours", digest)}
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
        find_classes({"f": field("us-surnames-1990", digest)}, {})


def test_faults_of_all_lists_are_told_together(tmp_path: Path) -> None:
    bad, short = write(tmp_path, "value,count\na,b\n"), write(tmp_path, LIST, "short.csv")
    zero = f"sha256:{'0' * 64}"
    fields = {name: field(name, zero) for name in ("bad", "short", "nowhere", "gone", "us-surnames-1990")}
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

    monkeypatch.setattr(frequency_lists, "read_frequencies", noted)
    assert set(find_classes({"f": field("ours", digest), "g": field("ours", digest)}, {"ours": path})) == {
        "f",
        "g",
    }
    assert read == [Path(path)]
    assert find_classes({}, {}) == {}
