"""Tables of the right shape, made up where the real ones are missing, and the source says which."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from accord.errors import UnreadableError
from reproduction.lab import FULL, Lab
from reproduction.mapping import MAPPING
from reproduction.sweep import Point, carry_out, stored, unfinished
from tests.reproduction.worlds import lab


@pytest.mark.parametrize(("data", "bins"), [("ab", 32), ("taxi", 12288), ("products", 32), ("places", 12288)])
def test_generated_tables_fit_the_agreement_of_the_paper(data: str, bins: int) -> None:
    here = lab()
    setup = here.setup(data, 2, 200)
    assert here.source(data) == "generated"
    assert (len(setup.made.a), len(setup.made.b)) == (400, 400)
    assert setup.agreement.plan.bins == bins
    assert len(set(setup.made.a["id"].to_pylist())) == 400
    days = np.asarray(setup.made.a["day"]).astype("datetime64[D]")
    assert len(np.unique(days)) == 2
    assert setup.counter.all_matches > 0
    known = set(setup.made.truth["id_a"].to_pylist())
    assert known <= set(setup.made.a["id"].to_pylist())


def test_the_last_setup_is_kept_and_no_other() -> None:
    here = lab()
    first = here.setup("ab", 1, 100)
    assert here.setup("ab", 1, 100) is first
    here.setup("ab", 1, 120)
    assert here.setup("ab", 1, 100) is not first


def shops(folder: Path, name: str) -> Path:
    """A shop of one product each, as files."""
    (folder / "abt_buy").mkdir(parents=True, exist_ok=True)
    (folder / "abt_buy" / "Abt.csv").write_text(f"id,name,description,price\n1,{name},x,1\n")
    (folder / "abt_buy" / "Buy.csv").write_text(f"id,name,description,manufacturer,price\n2,{name},x,,1\n")
    (folder / "abt_buy" / "abt_buy_perfectMapping.csv").write_text("idAbt,idBuy\n1,2\n")
    return folder


def test_rows_of_other_files_are_not_taken_for_those_of_these(tmp_path: Path) -> None:
    points: list[Point] = [{"data": "ab", "days": 1, "per_day": 3, "method": "psi"}]
    part = replace(MAPPING, points=lambda size: points)
    first = Lab(FULL, shops(tmp_path / "data", "radio"), 0)
    carry_out(part, first, tmp_path, lambda *_: None)
    assert unfinished(part, Lab(FULL, tmp_path / "data", 0), tmp_path) == []
    second = Lab(FULL, shops(tmp_path / "data", "television"), 0)
    assert second.source("ab") != first.source("ab")
    assert unfinished(part, second, tmp_path) == points
    carry_out(part, second, tmp_path, lambda *_: None)
    # The page shows the last, and needs no data to do so.
    (shown,) = stored(part, Lab(FULL, None, 0), tmp_path)
    assert shown["source"] == second.source("ab")


def test_a_set_that_lacks_a_file_is_named(tmp_path: Path) -> None:
    (shops(tmp_path, "radio") / "abt_buy" / "Buy.csv").unlink()
    with pytest.raises(UnreadableError, match=r"Buy\.csv"):
        Lab(FULL, tmp_path, 0).source("ab")


def test_the_same_seed_gives_the_same_tables() -> None:
    tables = [lab(seed).tables("taxi", 2, 50)[0].a for seed in (3, 3, 4)]
    assert tables[0].equals(tables[1])
    assert not tables[0].equals(tables[2])


def test_real_data_is_used_where_it_is(real_data: Path) -> None:
    here = Lab(FULL, real_data, 0)
    found = [here.source(name) for name in ("ab", "taxi", "places")]
    assert [source.split()[0] for source in found] == ["real", "real", "generated"]
    made, _ = here.tables("ab", 1, 10)
    assert len(made.a) == 10
