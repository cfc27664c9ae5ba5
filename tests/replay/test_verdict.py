"""Verdicts: who departed from the protocol is convicted by what it signed, and by nothing else is anybody."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from accord.accountable.seed import decode_seed
from accord.accountable.stored import attempts
from accord.accountable.transcript import Chain, Meeting, Seal, Transcript, signed_bytes
from accord.errors import DepartedError, StateError, UnequalError
from accord.protocols import disclose
from accord.protocols.parts import bound
from accord.replay.both_sides import replay_both
from accord.replay.one_side import make_evidence
from accord.replay.pledged import open_pledged_side
from accord.secure.dual import batch as dual_batch
from accord.secure.dual import engine as dual_engine
from accord.secure.transfer.base import COUNT
from accord.secure.transfer.base_kem import ANSWER
from accord.side import Side
from accord.state.runs import open_run
from tests.replay.replays import (
    CHEATS,
    SHOWN,
    accountable,
    done,
    offices,
    received,
    replayed,
    require_convicted,
    require_honest,
    rewrite_received,
    the_run,
    unsuspected,
)
from tests.run import cheats, faults
from tests.run.faults import Wire

pytestmark = pytest.mark.usefixtures("quick")


@pytest.mark.parametrize("cheat", CHEATS)
def test_a_cheat_is_convicted(cheat: str, tmp_path: Path) -> None:
    made, options = CHEATS[cheat]
    both = accountable(cheats.offices(tmp_path, cheats.agreement(**options)))
    with made():
        done(faults.link(both))
    require_convicted(both)


def frame_of_loot(wire: Wire, records: bool) -> int:
    """The number of the frame in which A gives away what B is after: its records, or its largest tables."""
    mine = {n: content for n, (sender, content) in enumerate(wire.passed) if sender is Side.A}
    if records:
        return next(n for n, content in mine.items() if content.startswith(b"accord disclosed"))
    set_up = next(n for n, content in mine.items() if len(content) == COUNT * ANSWER)
    return max(mine, key=lambda n: len(mine[n]) if n > set_up else 0)


@pytest.mark.parametrize("cheat", CHEATS)
def test_a_cheat_that_hangs_up_is_convicted(cheat: str, tmp_path: Path) -> None:
    """B goes as soon as it has what it wants; by then it has signed what it did for it."""
    made, options = CHEATS[cheat]
    agreed, wire = cheats.agreement(**options), Wire()
    with made():
        done(faults.link(accountable(cheats.offices(tmp_path / "whole", agreed)), wire))
    both = accountable(cheats.offices(tmp_path / "cut", agreed))
    with made():
        at = frame_of_loot(wire, records=made is cheats.claim_all) + 1
        faults.link(both, Wire(frames=at, told=True))
    require_convicted(both)


def test_who_fails_the_test_of_dual_is_convicted(tmp_path: Path) -> None:
    """The test says that the two sides differ, and a replay which of them departed."""
    agreed = cheats.agreement("dual", name="all-pairs")
    both = accountable(cheats.offices(tmp_path, agreed))
    with cheats.garble_wrongly(dual_engine, dual_batch):
        assert isinstance(faults.link(both)[Side.A], UnequalError)
    require_convicted(both)


def test_a_record_that_was_changed_does_not_help(tmp_path: Path) -> None:
    """B puts what an honest B would have sent into its record, and takes its signatures away."""
    both = accountable(cheats.offices(tmp_path, cheats.agreement()))
    with cheats.read_filters():
        done(faults.link(both))
    name = the_run(both)
    (attempt,) = (one.folder for one in attempts(open_run(both[Side.B].state, name)))
    (attempt / "0.sent").write_bytes(b"accord sent 1\n")
    (attempt / "0.seals").write_bytes(b"accord seals 1\n")
    with pytest.raises(StateError, match="did not get as far as a signature"):
        replayed(both, Side.B, name, evidence=False)
    with pytest.raises(DepartedError, match=SHOWN):
        replayed(both, Side.B, name)
    for left in ("0.sent", "0.seals"):
        (attempt / left).write_bytes(b"nothing of this kind")
        with pytest.raises(DepartedError, match=SHOWN):
            replayed(both, Side.B, name)
    (attempt / "0.sent").unlink()
    with pytest.raises(DepartedError, match=SHOWN):
        replayed(both, Side.B, name)


def test_what_was_received_last_cannot_be_made_up_for_the_next_attempt(tmp_path: Path) -> None:
    """B claims that everything matches, as the last thing before it would sign again, and is cut. Both keep
    that and go on with it. Then B makes its record such that A's tables had said so."""
    agreed, wire = cheats.agreement(name="all-pairs", disclose=()), Wire()
    with cheats.claim_all():
        done(faults.link(accountable(cheats.offices(tmp_path / "whole", agreed)), wire))
        at = next(n for n, (_, body) in enumerate(wire.passed) if len(body) == 16)
        both = accountable(cheats.offices(tmp_path / "cut", agreed))
        faults.link(both, Wire(frames=at, told=True))
        name = the_run(both)
        done(faults.resume(both, name))
    with pytest.raises(DepartedError, match="in attempt 2 is not the one"):
        replayed(both, Side.B, name)
    first, _ = open_pledged_side(both[Side.B].state, name, None).attempts
    *messages, last = received(first, Side.B)
    rewrite_received(first, Side.B, [*messages, bytes(byte ^ 255 for byte in last)])
    # What it had signed and A never got.
    (first.stored.folder / "0.seals").write_bytes(b"accord seals 1\n")
    assert replayed(both, Side.B, name, evidence=False).attempts == 2, "B's own record is as it should be"
    with pytest.raises(StateError, match="in attempt 1 are not all there, or not those"):
        replayed(both, Side.B, name)
    with pytest.raises(DepartedError, match="bob departed"):
        replay_both({side: open_pledged_side(office.state, name, None) for side, office in both.items()})


def test_an_attempt_that_nobody_else_knows_is_not_replayed(tmp_path: Path) -> None:
    both = offices(tmp_path, "greedy")
    faults.link(both, Wire(frames=40, told=True))
    name = the_run(both)
    state = both[Side.B].state
    run, case = open_run(state, name), open_pledged_side(state, name, None)
    (first,) = case.attempts
    opening = bytearray(run.read("opening-1"))
    opening[70] ^= 1
    run.keep({"opening-2": bytes(opening)})
    shutil.copytree(first.stored.folder, first.stored.folder.with_name("0002"))
    _, made_up = open_pledged_side(state, name, None).attempts
    rewrite_received(made_up, Side.B, received(first, Side.B))
    (made_up.stored.folder / "0.seals").write_bytes(b"accord seals 1\n")
    done(faults.resume(both, name))
    assert replayed(both, Side.B, name).attempts == 2
    with pytest.raises(StateError, match="in attempt 3 are not all there"):
        # By itself it counts, and here it leaves the next attempt without the answers that this had.
        replayed(both, Side.B, name, evidence=False)


def test_a_side_that_goes_on_where_the_protocol_ends_is_convicted(tmp_path: Path) -> None:
    """B does not stop at its own bound."""
    both, true = offices(tmp_path, "plain", most_matches={"B": 2}), bound.require_within
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(disclose, "require_within", lambda b, s, *a: None if s is Side.B else true(b, s, *a))
        done(faults.link(both))
    require_convicted(both, "where the protocol ends after")


def test_who_signs_for_less_than_it_received_is_convicted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It could invent afterwards what it had not signed for."""
    true_sign = Transcript.sign

    def sign(self: Any) -> bytes:
        if self._side is Side.A:
            return true_sign(self)
        chain = Chain(MEETINGS[self._name], 0, Side.A)
        made = Seal(self._sent.count, self._sent.last, 0, chain.last, b"")
        signature = self._keys.sign(signed_bytes(self._about, self._name, 0, Side.B, made))
        self._store.gave(replace(made, signature=signature))
        return bytes(8) + signature

    MEETINGS: dict[bytes, Meeting] = {}
    true_init = Transcript.__init__

    def init(self: Transcript, meeting: Meeting, *rest: Any) -> None:
        MEETINGS[meeting.name] = meeting
        true_init(self, meeting, *rest)

    monkeypatch.setattr(Transcript, "__init__", init)
    monkeypatch.setattr(Transcript, "sign", sign)
    both = offices(tmp_path, "plain")
    done(faults.link(both))
    require_convicted(both, "for 0 messages received, but had received")


def test_an_invented_record_is_convicted_by_the_table_from_its_source(tmp_path: Path) -> None:
    both = offices(tmp_path, "plain")
    data = both[Side.B].data
    source = data.read_text()
    data.write_text(source + "B99,7,7\n")
    done(faults.link(both))
    require_honest(both)
    data.write_text(source)
    with pytest.raises(DepartedError, match="the table is not the one"):
        replayed(both, Side.B, the_run(both))


@pytest.mark.parametrize("kind", ["plain", "psi"])
@pytest.mark.parametrize("hides", [False, True])
def test_who_links_more_records_than_it_pledged_is_convicted(kind: str, hides: bool, tmp_path: Path) -> None:
    """With the table from its source, though that is the pledged one; also if B says so in its folder."""
    both = offices(tmp_path, kind)
    with cheats.pledge_fewer(both[Side.B], "B98,7,7\nB99,3,4\n"):
        done(faults.link(both))
    name = the_run(both)
    if hides:
        run = open_run(both[Side.B].state, name)
        run.change(records=run.manifest.records - 2)
    with pytest.raises(DepartedError, match=r"it signed that it has 11 records, but .* has 9"):
        replayed(both, Side.B, name)
    with pytest.raises(DepartedError, match=r"bob departed .* it signed that it has 11 records"):
        replay_both({side: open_pledged_side(office.state, name, None) for side, office in both.items()})
    assert replayed(both, Side.A, name, evidence=not hides).signatures


def changed(folder: Path, kind: str, side: Side, at: int) -> bool:
    """A run in which a side changes one message, and what is said of both; whether it has so many."""
    both = offices(folder, kind)
    with cheats.change_message(at, side) as change:
        faults.link(both)
    name = faults.common_run(both)
    if not change.done or name is None:
        return at <= change.sent
    evidence = make_evidence(both[side.other].state, name)
    seals = [s for each in evidence.meetings.values() for said in each.values() for s in said.seals]
    signed = max((seal.sent for seal in seals), default=0)
    both_cases = {each: open_pledged_side(office.state, name, None) for each, office in both.items()}
    party = both[side].agreement.party(side)
    if signed >= at:
        for judge in (lambda: replayed(both, side, name), lambda: replay_both(both_cases)):
            with pytest.raises(DepartedError, match=f"{party} departed .* message {at} .* {SHOWN}"):
                judge()
    elif signed:
        replayed(both, side, name)
    unsuspected(both, side.other, name, evidence=True)
    return True


@pytest.mark.parametrize("at", [1, 3, 7, 12])
def test_a_changed_message_convicts_once_it_is_signed_for(at: int, tmp_path: Path) -> None:
    assert changed(tmp_path, "plain", Side.B, at)


@pytest.mark.slow
@pytest.mark.parametrize("side", Side)
@pytest.mark.parametrize("kind", ["plain", "greedy", "psi", "psi-expand"])
def test_every_changed_message_convicts_once_it_is_signed_for(kind: str, side: Side, tmp_path: Path) -> None:
    at = 1
    while changed(tmp_path / str(at), kind, side, at):
        at += 1
    assert at > 7


def test_an_extract_in_another_order_is_the_same_table(tmp_path: Path) -> None:
    both = offices(tmp_path, "plain")
    done(faults.link(both))
    data = both[Side.B].data
    head, *rows = data.read_text().splitlines(keepends=True)
    data.write_text("".join([head, *reversed(rows)]))
    require_honest(both)


def test_another_seed_is_no_verdict(tmp_path: Path) -> None:
    """Who writes over its own seed is not convicted by that, and not cleared."""
    both = offices(tmp_path, "plain")
    done(faults.link(both))
    name = the_run(both)
    run = open_run(both[Side.B].state, name)
    content = bytearray(run.read("seed"))
    content[-70] ^= 1
    run.keep({"seed": bytes(content)})
    assert decode_seed(bytes(content)) is not None
    with pytest.raises(StateError, match="the seed that bob keeps is not the one that it pledged"):
        replayed(both, Side.B, name)


def test_other_noise_is_convicted(tmp_path: Path) -> None:
    both = offices(tmp_path, "plain")
    done(faults.link(both))
    name = the_run(both)
    run = open_run(both[Side.B].state, name)
    content = bytearray(run.read("noise"))
    content[-4] += 1
    run.keep({"noise": bytes(content)})
    with pytest.raises(DepartedError, match=r"message 1 that it sent as the coordinator in attempt 1 is not"):
        replayed(both, Side.B, name)
