"""Real processes over TLS, cut and killed −9 at many moments, and resumed: same output, one charge."""

from __future__ import annotations

import os
import random
import signal
import threading
from pathlib import Path

import pytest

from accord.side import Side
from accord.state.runs import list_runs
from tests.run import faults, processes
from tests.run.faults import EXPECTED, Office
from tests.run.processes import Fault, kill_at, meet

PAIRS = [EXPECTED["greedy"]] * 2


def outputs(both: dict[Side, Office]) -> list[bytes]:
    return [office.out.read_bytes() for office in both.values()]


def check(folder: Path, fault: Fault | None = None, kill: tuple[Side, str] | None = None) -> None:
    """Disturb a run, let both go on (the other one listens now), and compare."""
    both = faults.offices(folder)
    first = meet(both, None, fault=fault, kill=kill)
    for code, said in first.ends.values():
        assert code in (0, 8, 10, -signal.SIGKILL), said
        assert "unexpected" not in said
    assert first.proxy.fired or kill, "nothing happened"
    for office in both.values():
        faults.require_one_charge(office, least=0)
    name = faults.common_run(both)
    slots = {side: faults.stored(o, name)[0] for side, o in both.items()} if name else {}
    second = meet(both, name, listener=Side.B)
    assert [end[0] for end in second.ends.values()] == [0, 0], second.ends
    assert outputs(both) == PAIRS
    for side, office in both.items():
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
    assert outputs(both) == PAIRS
    # All moments below come to pass; how much more there is depends on the noise.
    assert whole.proxy.passed[True] > 18_000
    assert whole.proxy.passed[False] > 9_000
    # Nothing is charged again, and nothing changes, if it is run once more.
    done = meet(both, None).processes[Side.A].events[-1]
    assert (done["event"], done["charged_epsilon"], done["epsilon"]) == ("done", 0.0, 4.0)
    for office in both.values():
        faults.require_one_charge(office, least=2)


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
def test_an_interrupt_while_it_waits_for_the_partner(tmp_path: Path) -> None:
    office = faults.offices(tmp_path)[Side.A]
    with processes.ended() as ended:
        waiting = ended(office, *processes.link_arguments(office), "--listen", "127.0.0.1:0")
        waiting.event("listening")
        waiting.popen.send_signal(signal.SIGINT)
        assert waiting.end()[0] == 130
    assert not office.ledger.runs()
    assert list_runs(office.state) == ([], [])


@pytest.mark.slow
def test_a_ledger_without_room_charges_nothing(tmp_path: Path) -> None:
    """The snapshot is declared before anybody is called."""
    both = faults.offices(tmp_path)
    office = both[Side.A]
    # Its pages lie beyond the limit, so that none can be written.
    assert office.state.database.path.stat().st_size > 1 << 13
    words = [*processes.link_arguments(office), "--listen", "127.0.0.1:0"]
    with processes.ended() as ended:
        limited = ended(office, *words, most_bytes=1 << 13)
        assert limited.end()[0] == 6
        assert "listening" not in {event["event"] for event in limited.events}
    assert not office.ledger.runs()
    faults.require_done(faults.link(both), both, EXPECTED["greedy"])


def handles() -> int:
    return len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").is_dir() else 0


@pytest.mark.slow
def test_random_faults_in_turn(tmp_path: Path) -> None:
    """Either side listens, until both are done; no thread and no file is left open."""
    before = threading.active_count(), handles()
    for number in range(6):
        dice = random.Random(number)
        both = faults.offices(tmp_path / str(number))
        for last in (False, False, True):
            after, way = dice.randrange(13_000), dice.random() < 0.5
            fault = dice.choice((Fault(after, way), *(kill_at(side, after, way) for side in Side)))
            listener = dice.choice(list(Side))
            done = meet(both, faults.common_run(both), listener, None if last else fault)
            for office in both.values():
                faults.require_one_charge(office, least=0)
            if all(code == 0 for code, _ in done.ends.values()):
                break
        assert outputs(both) == PAIRS, done.ends
        assert faults.common_run(both) is None or not processes.leftovers(tmp_path / str(number))
    assert (threading.active_count(), handles()) == before
