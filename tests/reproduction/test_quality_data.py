"""Cells are tidied up alike on both sides, and every set has an agreement that reads its columns."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from accord.errors import UsageError
from reproduction import quality_data
from reproduction.quality_data import DATASETS, PEERS, _person, _product, _write, prepare, read_tables

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "data"


def test_people_are_written_in_one_way() -> None:
    row = {"id": "A1", "given": "Dr Mary Ann", "middle": None, "surname": "SMITH Jr", "sex": "Female"}
    row |= {"birth": "1980-03-02", "street": "1 High St", "city": "", "postcode": "00501"}
    made = _person(row | {"phone": "1-117-402-9921", "email": None})
    assert made["given"] == "mary ann"
    assert made["surname"] == "smith"
    assert (made["sex"], made["birth"], made["phone"]) == ("f", "19800302", "1174029921")
    assert made["middle"] == made["email"] == made["city"] == ""


def test_the_model_of_a_product_is_its_longest_word_with_digits() -> None:
    row = {
        "id": "1",
        "name": "Sony Turntable - PSLX-350H 33/45",
        "description": "A (fine) one",
        "price": "$1,399.00",
    }
    made = _product(row)
    assert (made["model"], made["brand"], made["price"]) == ("pslx350h", "sony", "1399.00")
    assert made["description"] == "a fine one"
    assert _product(row | {"name": "Sony Radio"})["model"] == ""
    assert _product(row | {"manufacturer": "BOSE Corp"})["brand"] == "bose"


def test_what_is_written_is_read_again_with_empty_cells_missing(tmp_path: Path) -> None:
    _write(
        tmp_path, [{"id": "1", "x": "null"}, {"id": "2", "x": ""}], [{"id": "7", "x": "a, b"}], [("1", "7")]
    )
    found = read_tables(tmp_path)
    assert found.b["x"].to_pylist() == ["a, b"]
    assert found.a["x"].to_pylist()[1] is None
    left, right = found.rows(found.truth)
    assert (left.tolist(), right.tolist()) == ([0], [0])


def test_names_are_told_apart_and_files_are_there() -> None:
    assert len({one.name for one in DATASETS}) == len(DATASETS)
    assert all(one.path.is_file() for one in DATASETS)
    used = {one.path.name for one in DATASETS}
    assert {path.name for path in quality_data.AGREEMENTS.glob("*.toml")} == used | {"places.toml"}
    assert all(name in one.kinds for one in DATASETS for block in one.blocks for name in block)


def test_without_the_peers_the_way_on_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quality_data, "PEERS", tmp_path / "no-python")
    with pytest.raises(UsageError, match="make quality"):
        prepare(tmp_path, None)


def test_a_peer_that_fails_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quality_data, "PEERS", Path(sys.executable))
    with pytest.raises(RuntimeError, match="no_such_script"):
        quality_data.run_peer("no_such_script")


@pytest.mark.slow
@pytest.mark.skipif(
    not (ROOT / PEERS).exists(), reason="the peers live in .venv-peers: `make quality` makes it"
)
@pytest.mark.skipif(not DATA.is_dir(), reason="real data is not in ../shared/data")
def test_every_set_has_the_columns_that_it_names(tmp_path: Path) -> None:
    script = f"from reproduction.quality_data import *; prepare(Path({str(tmp_path)!r}), Path({str(DATA)!r}))"
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True)
    for dataset in DATASETS:
        found = read_tables(tmp_path / dataset.name)
        assert len(found.truth) > 0
        for _, table in found.sides:
            assert set(dataset.kinds) <= set(table.column_names)
            assert len(set(table["id"].to_pylist())) == len(table)
