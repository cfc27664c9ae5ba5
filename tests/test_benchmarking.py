"""The measurement itself: two real processes, right answers, the fields that were promised."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from accord.benchmarking import RULES, Measurement, measure
from accord.cli import app
from accord.errors import UsageError
from accord.secure.engines import NAMES
from accord.secure.ideal import match
from accord.side import Side

FIELDS = {
    "engine",
    "rule",
    "pairs",
    "microseconds_per_pair",
    "bytes_per_pair",
    "rounds",
    "setup_seconds",
    "peak_mib",
}


def test_json_is_a_list_of_measurements() -> None:
    result = CliRunner().invoke(app, ["bench", "compare", "--rows", "40", "--json"])
    assert result.exit_code == 0, result.output
    (measured,) = json.loads(result.stdout)
    assert set(measured) >= FIELDS
    assert (measured["engine"], measured["rule"], measured["pairs"]) == ("ot", "hamming50", 1600)
    assert measured["checked"]
    assert measured["bytes_per_pair"] > 70
    assert measured["rounds"] == 4


@pytest.mark.slow
def test_all_engines_side_by_side() -> None:
    check_engines(["all"], list(NAMES), [400, 400, 4, 4])


def test_slow_engines_take_a_sample() -> None:
    names = ["garbled", "paillier-packed"]
    check_engines(names, names, [400, 4])


def check_engines(asked: list[str], names: list[str], pairs: list[int]) -> None:
    chosen = [word for name in asked for word in ("--engine", name)]
    options = [*chosen, "--rows", "20", "--sample", "2", "--repeat", "2", "--json"]
    result = CliRunner().invoke(app, ["bench", "compare", *options])
    assert result.exit_code == 0, result.output
    measured = json.loads(result.stdout)
    assert [line["engine"] for line in measured] == names
    assert [line["pairs"] for line in measured] == pairs
    assert all(line["checked"] for line in measured)


def test_every_rule_has_matches_and_others() -> None:
    from accord.benchmarking import made_up_table
    from accord.secure.blocks import Blocks

    for rule in RULES.values():
        a, b = (made_up_table(rule, side, 100) for side in Side)
        bits = match(rule, Blocks.whole(100, 100), a, b)
        assert 0 < bits.sum() < 5000


def test_an_unknown_rule_or_engine_is_named() -> None:
    with pytest.raises(UsageError, match="no rule 'x'"):
        measure(Measurement("ot", "x", 10))
    result = CliRunner().invoke(app, ["bench", "compare", "--engine", "x"])
    assert isinstance(result.exception, UsageError)
