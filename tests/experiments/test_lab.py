"""Tables of the right shape, made up where the real ones are missing, and the source says which."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from accord.experiments.lab import FULL, Lab
from tests.experiments.worlds import lab


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


def test_the_same_seed_gives_the_same_tables() -> None:
    tables = [lab(seed).tables("taxi", 2, 50)[0].a for seed in (3, 3, 4)]
    assert tables[0].equals(tables[1])
    assert not tables[0].equals(tables[2])


def test_real_data_is_used_where_it_is(real_data: Path) -> None:
    here = Lab(FULL, real_data, 0)
    assert [here.source(name) for name in ("ab", "taxi", "places")] == ["real", "real", "generated"]
    made, _ = here.tables("ab", 1, 10)
    assert len(made.a) == 10
