"""The agreement of the benchmark on FEBRL 4 says what the benchmark promises; the data is the peers'."""

from __future__ import annotations

from accord.agreement.file import read_agreement
from benchmarks.febrl import AGREEMENT, COLUMNS


def test_its_agreement() -> None:
    agreed = read_agreement(AGREEMENT)
    assert len(agreed.passes) == 3
    assert agreed.to_toml().count("1.6") == 2
    assert agreed.to_toml().count("2^-40") == 2
    assert {name for spec in agreed.fields.values() for name in spec.sources} <= set(COLUMNS)
