"""Ctrl-C at any moment leaves either nothing, or a run that can be resumed; and says which."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from accord.errors import InterruptedEarlyError, InterruptedRunError, StoppedError
from accord.peer.channel import TlsChannel
from accord.peer.connection import _name_partner
from accord.peer.frames import Reason
from accord.run.interrupts import hold_interrupts
from accord.side import Side
from accord.state.ledger import Ledger
from accord.state.runs import list_runs
from tests.run import faults, processes
from tests.run.test_resume import EXPECTED

pytestmark = pytest.mark.usefixtures("quick", "heard")


@pytest.fixture
def heard() -> Iterator[None]:
    """Interrupts are heard, also where the tests were started in the background, which ignores them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_waits_for_the_end_of_the_block() -> None:
    done: list[bool] = []

    def work() -> None:
        with hold_interrupts():
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            done.append(True)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_an_error_in_the_block_goes_before_an_interrupt() -> None:
    handler = signal.getsignal(signal.SIGINT)

    def work() -> None:
        with hold_interrupts():
            signal.raise_signal(signal.SIGINT)
            raise ValueError("its own")

    with pytest.raises(ValueError, match="its own"):
        work()
    assert signal.getsignal(signal.SIGINT) is handler


def test_other_threads_have_nothing_to_hold_back() -> None:
    entered = []

    def work() -> None:
        with hold_interrupts():
            entered.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert entered


def test_between_charge_and_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run is charged before the interrupt is obeyed, and both sides can go on with it."""
    both = faults.offices(tmp_path)
    stopped: list[bool] = []
    charge = Ledger.charge

    def interrupted(*given: Any) -> Any:
        if not stopped:
            stopped.append(True)
            signal.raise_signal(signal.SIGINT)
        return charge(*given)

    monkeypatch.setattr(Ledger, "charge", interrupted)
    ending = faults.link(both)
    assert KeyboardInterrupt in {type(end) for end in ending.values()}
    name = faults.common_run(both)
    assert name
    faults.require_done(faults.resume(both, name), both, EXPECTED["greedy"])


def test_what_is_said_of_it() -> None:
    kept = _name_partner(KeyboardInterrupt(), "bob", "r1")
    assert isinstance(kept, InterruptedRunError)
    assert "`accord resume r1`" in str(kept)
    early = _name_partner(KeyboardInterrupt(), "bob", "")
    assert isinstance(early, InterruptedEarlyError)
    assert str(early) == "Stopped. Nothing was charged."


def test_a_partner_that_said_nothing_may_not_have_the_run() -> None:
    channel = TlsChannel.__new__(TlsChannel)
    channel._partner = "alice"
    channel.started("r1")
    with pytest.raises(StoppedError, match="If alice has no such run, both link again"):
        channel._raise_stopped(Reason.INTERRUPTED)
    channel._heard = True
    with pytest.raises(StoppedError, match=r"`accord resume r1` on both sides\.$"):
        channel._raise_stopped(Reason.INTERRUPTED)


@pytest.mark.slow
def test_while_it_waits_for_the_partner(tmp_path: Path) -> None:
    office = faults.offices(tmp_path)[Side.A]
    with processes.ended() as ended:
        waiting = ended(office, *processes.link_arguments(office), "--listen", "127.0.0.1:0")
        waiting.event("listening")
        waiting.popen.send_signal(signal.SIGINT)
        code, said = waiting.end()
    assert code == 130
    assert said.splitlines()[-1] == "accord: Stopped. Nothing was charged."
    assert not office.ledger.runs()
    assert list_runs(office.state) == ([], [])
