"""What experiments rest on is told in full: whole checksums, and how to get it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from accord.errors import UnreadableError
from accord.side import Side
from reproduction.lab import FULL, Lab
from reproduction.paper_data import taxi_agreement
from reproduction.sources import KNOWN, find_files, sources_of

ROOT = Path(__file__).parents[2]


def set_of(folder: Path, content: str) -> str:
    (folder / "taxi").mkdir(parents=True, exist_ok=True)
    (folder / "taxi" / "pickups.csv").write_text(content)
    return hashlib.sha256(content.encode()).hexdigest()


def test_files_at_hand_are_named_with_their_whole_checksum(tmp_path: Path) -> None:
    digest = set_of(tmp_path, "a,b\n")
    rows: dict[str, list[dict[str, object]]] = {
        "size": [{"data": "taxi", "source": f"real {digest[:8]}"}, {"data": "ab", "source": "generated"}],
        "tradeoff": [{"data": "taxi", "source": f"real {digest[:8]}"}] * 2,
        "noise": [{"epsilon": 1}],
    }
    taxi, ab = sources_of(rows, 7, tmp_path)
    assert (taxi.experiments, ab.experiments) == (("size", "tradeoff"), ("size",))
    assert taxi.checksums == {"pickups.csv": digest}
    assert "reproduction.taxi_files" in taxi.how
    assert ab.checksums == {}
    assert "generate_products`, day d with the seed 7000 + d" in ab.how
    # Elsewhere nobody knows them.
    assert sources_of(rows, 7)[0].checksums == {}


def test_what_was_published_is_known_without_its_files() -> None:
    rows: dict[str, list[dict[str, object]]] = {
        "size": [{"data": data, "source": files.source} for data, files in KNOWN.items()]
    }
    ab, taxi = sources_of(rows, 0)
    assert sorted(ab.checksums) == ["Abt.csv", "Buy.csv", "abt_buy_perfectMapping.csv"]
    assert "Leipzig" in ab.how
    assert "not made again byte for byte" in taxi.how
    assert all(len(one) == 64 for source in (ab, taxi) for one in source.checksums.values())


def test_the_published_results_rest_on_what_is_known() -> None:
    text = "".join(path.read_text() for path in (ROOT / "docs" / "results").glob("*.csv"))
    for files in KNOWN.values():
        assert f",{files.source}," in text


def test_known_checksums_are_those_of_the_files(real_data: Path) -> None:
    assert {data: find_files(real_data, data) for data in KNOWN} == KNOWN


def test_a_set_that_lacks_its_file_is_named(tmp_path: Path) -> None:
    assert find_files(tmp_path, "taxi") is None
    assert find_files(tmp_path, "places") is None
    (tmp_path / "taxi").mkdir()
    with pytest.raises(UnreadableError, match=r"pickups\.csv"):
        Lab(FULL, tmp_path, 0).source("taxi")


def test_the_papers_taxi_grid() -> None:
    """16 × 16 cells and 24 hours: 6,144 bins and 24·46² ordered pairs (MATHS §14.3)."""
    plan = taxi_agreement().plan
    assert plan.bins == 6144
    assert len(plan.pairs()[0]) == 24 * 46**2
    assert plan.per_record(Side.A) == plan.per_record(Side.B) == 1
    replicated = taxi_agreement(cell=0.02, style="replicate").plan
    assert (replicated.per_record(Side.A), replicated.per_record(Side.B)) == (1, 4)
    assert len(replicated.pairs()[0]) == replicated.bins == 24 * 16
