"""Real processes over TLS, cut and killed −9 at many moments, and resumed: same output, one charge."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from accord.side import Side
from accord.state.runs import list_runs
from tests.run import faults, processes
from tests.run.faults import EXPECTED, Office
from tests.run.processes import Fault, Meeting, meet


def require_done(meeting: Meeting, both: dict[Side, Office]) -> None:
    assert [code for code, _ in meeting.ends.values()] == [0, 0], meeting.ends
    for office in both.values():
        assert office.out.read_bytes() == EXPECTED["greedy"]
        faults.require_one_charge(office)


@pytest.mark.slow
def test_an_undisturbed_run_and_its_size(tmp_path: Path) -> None:
    """The moments below lie before the end of a run: the set-up alone nearly has that many bytes."""
    both = faults.offices(tmp_path)
    whole = meet(both, None)
    require_done(whole, both)
    # All moments below come to pass; how much more there is depends on the noise.
    assert whole.proxy.passed[True] > 18_000
    assert whole.proxy.passed[False] > 9_000
    # Nothing is charged again, and nothing changes, if it is run once more.
    done = meet(both, None).processes[Side.A].events[-1]
    assert (done["event"], done["charged_epsilon"], done["epsilon"]) == ("done", 0.0, 4.0)
    for office in both.values():
        faults.require_one_charge(office, least=2)


MOMENTS: list[Fault | tuple[Side, str]] = [
    *(Fault(after, True) for after in (1, 900, 2_400, 2_700, 9_000, 15_000, 17_500)),
    *(Fault(after, False) for after in (1, 900, 2_400, 2_700, 6_000, 8_000, 9_000)),
    *((side, event) for side in Side for event in ("connected", "charged", "progress", "done")),
]
"""A cut after so many bytes of a way, or a kill at an event."""


def named(moment: Fault | tuple[Side, str]) -> str:
    if isinstance(moment, tuple):
        return f"kill-{moment[0].value}-{moment[1]}"
    return f"cut-{moment.after}-{'in' if moment.to_listener else 'out'}"


@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS, ids=named)
def test_disturbed_at_any_moment(moment: Fault | tuple[Side, str], tmp_path: Path) -> None:
    """Both go on (the other one listens now), and have the same."""
    both = faults.offices(tmp_path)
    if isinstance(moment, tuple):
        first = meet(both, None, kill=moment)
    else:
        first = meet(both, None, fault=moment)
        assert first.proxy.fired, "nothing happened"
    for code, said in first.ends.values():
        assert code in (0, 8, 10, -signal.SIGKILL), said
        assert "unexpected" not in said
    for office in both.values():
        faults.require_one_charge(office, least=0)
    name = faults.common_run(both)
    slots = {side: faults.stored(o, name)[0] for side, o in both.items()} if name else {}
    require_done(meet(both, name, listener=Side.B), both)
    assert not name or {side: faults.stored(o, name)[0] for side, o in both.items()} == slots
    assert not name or not [path for path in tmp_path.rglob(".*") if path.is_file()]


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
