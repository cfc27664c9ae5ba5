"""Twelve runs of a series at one ε are acquitted; series that leave out what the proof needs are convicted.

False alarms: each audit here accuses the innocent with probability 0.001, whatever it learnt.
"""

from __future__ import annotations

from typing import Any

import pytest

from accord.auditing.cases import options
from accord.auditing.protocol import ask
from accord.auditing.series_histories import RUNS, Broken, SeriesHistory, series_histories
from accord.entropy import Seeded
from accord.errors import PeerError
from accord.protocols import series_greedy
from accord.side import Side

QUIET = options("laplace", "0.3", "1e-3")
LOUD = options("laplace", "2.2", "1e-3")
"""Loud enough that twelve draws tell far more than one may, and quiet enough that few trials show it."""
FEW = 4
"""Runs that are enough to see a fault that shows in the second."""
NAMES = ("replaced", "moved", "nothing", "gone", "returned", "disclosed")


def history(
    name: str,
    broken: Broken = "",
    side: Side = Side.A,
    protocol: dict[str, Any] = QUIET,
    runs: int = RUNS,
) -> SeriesHistory:
    found = series_histories(protocol, broken, runs)
    (one,) = [one for one in found if one.name == name and one.side is side]
    return one


def judge(question: SeriesHistory, trials: int) -> Any:
    found = ask([question], trials=trials)
    assert found.worst.finding.epsilon_most > found.worst.finding.epsilon_claimed + 0.2, "it could not fail"
    return found


def test_the_promise_is_that_of_one_release_for_twelve_runs() -> None:
    question = history("replaced")
    assert [float(part) for part in question.promise] == [0.3, 1e-3]
    assert [len(world) for world in question.worlds] == [RUNS, RUNS] == [12, 12]


@pytest.mark.slow
def test_a_short_series_as_it_is_is_acquitted() -> None:
    assert not judge(history("nothing", runs=FEW), 40).leaky


@pytest.mark.slow
@pytest.mark.parametrize("side", Side)
@pytest.mark.parametrize("name", NAMES)
def test_twelve_runs_as_they_are_are_acquitted(name: str, side: Side) -> None:
    assert not judge(history(name, side=side), 100).leaky


@pytest.mark.slow
@pytest.mark.parametrize("side", list(Side))
def test_a_series_that_announces_true_sizes_is_convicted(side: Side) -> None:
    assert judge(history("nothing", "true sizes", side, runs=FEW), 40).leaky


@pytest.mark.slow
@pytest.mark.parametrize("side", Side)
def test_a_series_that_draws_again_is_convicted(side: Side) -> None:
    assert judge(history("replaced", "redrawn", side, LOUD), 300).leaky


@pytest.mark.slow
@pytest.mark.parametrize("side", Side)
def test_a_series_that_drops_what_is_gone_is_convicted(side: Side) -> None:
    """Counts of the first batch change in the second run, or stay: seen by comparing runs alone."""
    found = judge(history("gone", "dropped", side, runs=FEW), 40)
    assert found.leaky
    assert "not as in the run before" in found.worst.looked_at[0]


@pytest.mark.slow
@pytest.mark.parametrize("side", Side)
def test_a_series_that_goes_on_matching_what_is_gone_is_convicted(side: Side) -> None:
    """Unnamed, the gone record is matched by the one new record and not by the other."""
    assert judge(history("disclosed", "unnamed", side), 40).leaky


def test_a_sound_series_is_never_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what is broken so may end in a refusal; elsewhere one would hide what came after it."""
    real = series_greedy._exchange_gone
    monkeypatch.setattr(series_greedy, "_exchange_gone", lambda places, known: real(places[:0], known))
    with pytest.raises(PeerError):
        history("disclosed").view(0, Seeded("owner"), Seeded("partner"))
