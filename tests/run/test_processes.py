"""Real processes over TLS, cut and killed −9 at many moments, and resumed: same output, one charge."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from accord.side import Side
from tests.run import faults, processes
from tests.run.processes import Fault, Meeting, kill_at, meet
from tests.run.test_resume import EXPECTED

PAIRS = EXPECTED["greedy"]


def require_ended(meeting: Meeting) -> None:
    """Every process ended by itself with a documented code, or was killed; none hung or crashed."""
    for code, said in meeting.ends.values():
        assert code in (0, 8, 10, -signal.SIGKILL), said
        assert "unexpected" not in said
        if code in (8, 10):
            assert "accord resume" in said or "charged" in said or "secured" in said, said


def check(folder: Path, fault: Fault | None = None, kill: tuple[Side, str] | None = None) -> None:
    """Disturb a run, let both go on (the other one listens now), and compare."""
    both = faults.offices(folder)
    first = meet(both, None, fault=fault, kill=kill)
    require_ended(first)
    assert first.proxy.fired or kill, "nothing happened"
    for office in both.values():
        faults.require_one_charge(office, least=0)
    name = faults.common_run(both)
    slots = {side: faults.stored(o, name)[0] for side, o in both.items()} if name else {}
    second = meet(both, name, listener=Side.B)
    assert [end[0] for end in second.ends.values()] == [0, 0], second.ends
    for side, office in both.items():
        assert office.out.read_bytes() == PAIRS
        faults.require_one_charge(office)
        if name:
            assert faults.stored(office, name)[0] == slots[side]
    assert name is None or not processes.leftovers(folder)


@pytest.mark.slow
def test_an_undisturbed_run_and_its_size(tmp_path: Path) -> None:
    """The moments below lie before the end of a run: the set-up alone nearly has that many bytes."""
    both = faults.offices(tmp_path)
    whole = meet(both, None)
    assert [end[0] for end in whole.ends.values()] == [0, 0], whole.ends
    assert [office.out.read_bytes() for office in both.values()] == [PAIRS, PAIRS]
    # All moments below come to pass; how much more there is depends on the noise.
    assert whole.proxy.passed[True] > 18_000
    assert whole.proxy.passed[False] > 9_000
    # Nothing is charged again, and nothing changes, if it is run once more.
    again = meet(both, None)
    done = again.processes[Side.A].events[-1]
    assert (done["event"], done["charged_epsilon"], done["epsilon"]) == ("done", 0.0, 4.0)
    for office in both.values():
        faults.require_one_charge(office, least=2)


@pytest.mark.slow
def test_cut_in_the_middle(tmp_path: Path) -> None:
    check(tmp_path, Fault(17_000, True))


@pytest.mark.slow
def test_killed_when_charged(tmp_path: Path) -> None:
    check(tmp_path, kill=(Side.B, "charged"))


MOMENTS = [
    *(Fault(after, True) for after in (1, 900, 2_400, 2_700, 9_000, 15_000, 17_500)),
    *(Fault(after, False) for after in (1, 900, 2_400, 2_700, 6_000, 8_000, 9_000)),
    *(kill_at(side, after, True) for side in Side for after in (1_000, 12_000, 18_000)),
    *(kill_at(side, after, False) for side in Side for after in (2_600, 7_000, 9_000)),
]


def named(fault: Fault) -> str:
    return f"{'kill' if fault.act else 'cut'}-{fault.after}-{'in' if fault.to_listener else 'out'}"


@pytest.mark.slow
@pytest.mark.parametrize("fault", MOMENTS, ids=named)
def test_disturbed_at_any_moment(fault: Fault, tmp_path: Path) -> None:
    check(tmp_path, fault)


@pytest.mark.slow
@pytest.mark.parametrize("side", Side)
@pytest.mark.parametrize("event", ["connected", "charged", "progress", "done"])
def test_killed_at_an_event(side: Side, event: str, tmp_path: Path) -> None:
    check(tmp_path, kill=(side, event))


@pytest.mark.slow
def test_a_slow_network_that_loses_packets(tmp_path: Path) -> None:
    """50 ms each way, packets of 1,400 bytes, one in a hundred lost: the same messages, to the byte.

    The second run has the first one's noise, and without greedy its messages depend on nothing else. Pings
    come after a quarter of the timeout, so here there are none.
    """
    both = faults.offices(tmp_path, "plain")
    facts = []
    for slow in (False, True):
        network: dict[str, Any] = {"delay": 0.05, "pieces": 1400, "lost_in": 100} if slow else {}
        done = meet(both, None, timeout=60, **network)
        assert [end[0] for end in done.ends.values()] == [0, 0], done.ends
        facts.append([done.processes[side].events[-1] for side in Side])
        assert [office.out.read_bytes() for office in both.values()] == [EXPECTED["plain"]] * 2
    for one, other in zip(*facts, strict=True):
        assert one["bytes"] < 1_000_000
        assert (one["bytes"], one["comparisons"]) == (other["bytes"], other["comparisons"])
