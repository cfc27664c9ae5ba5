"""A threshold with a large denominator is priced against its neighbours."""

from __future__ import annotations

import re

import pytest

from accord.agreement import cheaper
from accord.agreement.cheaper import cheaper_thresholds
from accord.agreement.file import parse_agreement
from accord.datasets.starter import starter_text

TEXT = starter_text("products", "00000000")


def notes(predicate: str, engine: str = "ot") -> list[str]:
    text = TEXT.replace("hamming(name) <= 5", predicate).replace('engine = "ot"', f'engine = "{engine}"')
    if engine == "dual":
        text = text.replace("greedy = true", "greedy = false")
    return cheaper_thresholds(parse_agreement(text))


@pytest.mark.parametrize("engine", ["ot", "dual"])
def test_a_costly_threshold_is_told_with_the_cheap_one_beside_it(engine: str) -> None:
    (note,) = notes("dice(name) >= 0.7418", engine)
    assert "'dice(name) >= 0.7418' makes a comparison cost" in note
    assert "'dice(name) >= 0.75'" in note
    times = re.search(r"([\d.]+) times", note)
    assert times is not None
    assert float(times[1]) >= 1.2


def test_each_costly_threshold_is_told_once_wherever_it_stands() -> None:
    rule = "(not dice(name) >= 0.7418 or jaccard(name) >= 0.6667 or dice(name) >= 0.7418)"
    assert len(notes(rule)) <= 2
    assert len(notes("(dice(name) >= 0.7418 or hamming(name) <= 2)")) == 1


@pytest.mark.parametrize(
    "predicate", ["dice(name) >= 0.75", "dice(name) >= 0.8", "cosine(name) >= 0.7418", "hamming(name) <= 7"]
)
def test_cheap_thresholds_are_not_told(predicate: str) -> None:
    assert notes(predicate) == []


def test_of_very_many_costly_thresholds_some_are_priced(monkeypatch: pytest.MonkeyPatch) -> None:
    """A partner may have written the rule, and pricing takes longer than its square."""
    priced: list[object] = []

    def count(_: object, rule: object) -> float:
        priced.append(rule)
        return 1.0

    monkeypatch.setattr(cheaper, "_bytes", count)
    assert notes("(" + " or ".join(f"dice(name) >= 0.{n}" for n in range(7001, 7601, 2)) + ")") == []
    assert 0 < len(priced) <= 1 + 16 * 21
