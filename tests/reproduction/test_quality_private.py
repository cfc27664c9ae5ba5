"""Two processes over TLS write the pairs of a simulation, and what it took is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from accord import parse_agreement, simulate
from reproduction.quality_private import link_privately

AGREEMENT = """
version = 2
salt = "00112233"
rule = "same(x) and dice(name) >= 0.5"
engine = "ot"
parties = { A = "one", B = "other" }
protocol = { name = "all-pairs", greedy = false }
[fields]
x = { type = "text", encoder = "hash", missing = "differs" }
name = { type = "text", encoder = { kind = "bloom", bits = 64, hashes = 1, grams = 2 } }
"""


@pytest.mark.slow
def test_two_parties_write_the_pairs_of_a_simulation(tmp_path: Path) -> None:
    agreed = parse_agreement(AGREEMENT, "here")
    a, b = tmp_path / "a.csv", tmp_path / "b.csv"
    a.write_text("id,x,name\n1,u,anna\n2,v,berta\n3,,clara\n4,u,dora\n")
    b.write_text("id,x,name\n7,u,anne\n8,v,berta\n9,,clara\n")
    found = link_privately(a, b, agreed, tmp_path / "run")
    expected = simulate(a, b, agreed, seed=1)
    pairs = zip(expected.pairs["id_a"].to_pylist(), expected.pairs["id_b"].to_pylist(), strict=True)
    assert found.pairs == frozenset(pairs) == {("1", "7"), ("2", "8")}
    assert found.comparisons == 12
    assert found.bytes > 12
    assert found.seconds > 0


@pytest.mark.slow
def test_a_party_that_cannot_read_its_table_says_so(tmp_path: Path) -> None:
    agreed = parse_agreement(AGREEMENT, "here")
    a, b = tmp_path / "a.csv", tmp_path / "b.csv"
    for path in (a, b):
        path.write_text("id,y\n1,u\n")
    with pytest.raises(RuntimeError, match="x"):
        link_privately(a, b, agreed, tmp_path / "run")
