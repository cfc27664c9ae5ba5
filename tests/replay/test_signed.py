"""What a side is held to: neither its own record nor an accuser can make more of it than was signed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from accord.accountable.transcript import Seal, signed_bytes
from accord.errors import AccordError, ScratchError, StateError, UsageError
from accord.peer import handshake
from accord.peer.identity import sign
from accord.protocols import disclose
from accord.protocols.parts import disclosed
from accord.replay import pledged
from accord.replay.both_sides import replay_both
from accord.replay.evidence import Evidence, Signatures, decode_evidence, encode_evidence
from accord.replay.one_side import make_evidence, replay_side
from accord.replay.pledged import open_pledged_side
from accord.side import Side
from accord.state.runs import list_runs
from tests.replay.replays import (
    done,
    offices,
    received,
    replayed,
    rewrite_received,
    the_run,
)
from tests.run import faults
from tests.run.faults import Office, Wire
from tests.state.damage import flip, take_content

pytestmark = pytest.mark.usefixtures("quick")


def test_a_record_with_other_messages_convicts_nobody(tmp_path: Path) -> None:
    """One whose messages are lost, or changed, is told apart from a side that departed."""
    both = offices(tmp_path, "plain")
    done(faults.link(both))
    name = the_run(both)
    (attempt,) = open_pledged_side(both[Side.B].state, name, None).attempts
    path, messages = attempt.stored.folder / "0.received", received(attempt, Side.B)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(StateError, match="not all there, or not those it signed for"):
        replayed(both, Side.B, name)
    path.write_bytes(whole)
    flip(path, -100)
    with pytest.raises(StateError, match="the messages of attempt 1 cannot be read"):
        replayed(both, Side.B, name)
    last = messages[-1]
    rewrite_received(attempt, Side.B, [*messages[:-1], last[:-1] + bytes([last[-1] ^ 1])])
    with pytest.raises(StateError, match="not all there, or not those it signed for"):
        replayed(both, Side.B, name)


def forged(both: dict[Side, Office], change: Callable[[dict[str, Any]], None]) -> Evidence:
    """A's evidence about B, with each of its connections changed."""
    body = json.loads(encode_evidence(make_evidence(both[Side.A].state, the_run(both))))
    for connections in body["meetings"].values():
        for one in connections.values():
            change(one)
    return decode_evidence(json.dumps(body).encode(), Path("evidence"))


def _zero_between(one: dict[str, Any]) -> None:
    signed = {int.from_bytes(bytes.fromhex(seal)[:8], "little") for seal in one["seals"]}
    count = len(one["links"]) // 64
    at = next(n for n in range(1, count) if n not in signed)
    one["links"] = one["links"][: 64 * at - 64] + "00" * 32 + one["links"][64 * at :]


def _zero_all(one: dict[str, Any]) -> None:
    one["links"] = "00" * (len(one["links"]) // 2)


def _add_behind(one: dict[str, Any]) -> None:
    one["links"] += "11" * 32


@pytest.mark.parametrize("change", [_zero_between, _zero_all, _add_behind])
def test_links_that_nobody_signed_convict_nobody(
    change: Callable[[dict[str, Any]], None], tmp_path: Path
) -> None:
    both = offices(tmp_path, "greedy")
    faults.link(both, Wire(frames=50, told=True))
    case = open_pledged_side(both[Side.B].state, the_run(both), None)
    assert replay_side(case, forged(both, change)).signatures


def test_evidence_without_signatures_says_nothing(tmp_path: Path) -> None:
    both = offices(tmp_path, "plain")
    done(faults.link(both))
    case = open_pledged_side(both[Side.B].state, the_run(both), None)
    with pytest.raises(StateError, match="did not get as far as a signature") as found:
        replay_side(case, forged(both, lambda one: one.update(seals=[], links="00" * 32)))
    assert found.value.exit_code == 6


def test_an_attempt_that_was_taken_away_is_missed(tmp_path: Path) -> None:
    both = offices(tmp_path, "greedy")
    faults.link(both, Wire(frames=40, told=True))
    name = the_run(both)
    done(faults.resume(both, name))
    take_content(both[Side.B].state, name, "opening-1")
    with pytest.raises(StateError, match="lacks an attempt"):
        replayed(both, Side.B, name)


def test_attempts_of_another_run_or_invented_ones_are_refused(tmp_path: Path) -> None:
    both = offices(tmp_path, "plain")
    done(faults.link(both))
    one = the_run(both)
    done(faults.link(both))
    state = both[Side.A].state
    two = next(run.manifest.run for run in list_runs(state)[0] if run.manifest.run != one)
    foreign, own = (make_evidence(state, name) for name in (one, two))
    invented = {b"0" * 32: {0: Signatures([], [Seal(1, bytes(32), 0, bytes(32), bytes(64))])}}
    case = open_pledged_side(both[Side.B].state, two, None)
    for meetings in (foreign.meetings, invented):
        with pytest.raises(UsageError, match="signatures of another run"):
            replay_side(case, replace(own, meetings=own.meetings | meetings))


@pytest.mark.parametrize("kind", ["plain", "greedy"])
def test_a_small_machine_convicts_nobody(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both = offices(tmp_path, kind)
    done(faults.link(both))
    monkeypatch.setattr(disclosed, "memory", lambda: 64)
    for side in Side:
        with pytest.raises(StateError, match="this machine is too small"):
            replayed(both, side, the_run(both))


def test_a_full_disk_convicts_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What fails where the replay runs is no end of the protocol."""
    both = offices(tmp_path, "plain")
    done(faults.link(both))
    name = the_run(both)

    def fail(*_: object) -> None:
        raise ScratchError(path=tmp_path, reason="No space left on device", mend="Make room.")

    monkeypatch.setattr(disclose, "sort_distinct", fail)
    with pytest.raises(ScratchError):
        replayed(both, Side.B, name)
    with pytest.raises(ScratchError):
        replay_both({side: open_pledged_side(office.state, name, None) for side, office in both.items()})


def test_where_texts_are_read_in_another_way_no_table_is_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = offices(tmp_path, "plain")
    done(faults.link(both))
    name, data = the_run(both), both[Side.B].data
    data.write_text(data.read_text() + "B99,7,7\n")
    monkeypatch.setattr(pledged, "texts_digest", lambda: bytes(32))
    with pytest.raises(StateError, match="read differently here than in the run"):
        replayed(both, Side.B, name)


def test_a_record_of_another_version_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both = offices(tmp_path, "plain")
    done(faults.link(both))
    monkeypatch.setattr(handshake, "WIRE", handshake.WIRE + 1)
    with pytest.raises(StateError, match="attempt 1 was made by another version of Accord"):
        replayed(both, Side.B, the_run(both))


@pytest.mark.parametrize("which", ["seals", "heard"])
def test_a_false_signature_is_the_accusers_and_no_verdict(which: str, tmp_path: Path) -> None:
    def falsify(one: dict[str, Any]) -> None:
        one[which][0] = one[which][0][:-2] + f"{int(one[which][0][-2:], 16) ^ 1:02x}"

    both = offices(tmp_path, "plain")
    done(faults.link(both))
    case = open_pledged_side(both[Side.B].state, the_run(both), None)
    with pytest.raises(UsageError, match="such as its card did not make"):
        replay_side(case, forged(both, falsify))


def test_what_an_accuser_signs_anew_is_refuted_by_what_it_had_signed(tmp_path: Path) -> None:
    both = offices(tmp_path, "plain")
    done(faults.link(both))
    name = the_run(both)
    case, true = open_pledged_side(both[Side.B].state, name, None), make_evidence(both[Side.A].state, name)
    ((meeting, connections),) = true.meetings.items()
    heard = []
    for seal in connections[0].partner_seals:
        other = replace(seal, sent_link=bytes(32))
        signature = sign(both[Side.A].state, signed_bytes(case.about, meeting, 0, Side.A, other))
        heard.append(replace(other, signature=signature))
    false = {meeting: {0: replace(connections[0], partner_seals=heard)}}
    assert replay_side(case, replace(true, meetings=false)) == replay_side(case, true)


def test_sizes_that_an_accuser_makes_up_change_nothing(tmp_path: Path) -> None:
    both = offices(tmp_path, "plain")
    done(faults.link(both))
    case = open_pledged_side(both[Side.B].state, the_run(both), None)
    true = make_evidence(both[Side.A].state, the_run(both))
    for sizes in ({Side.A: 9, Side.B: 5000}, {Side.A: 0, Side.B: 9}):
        assert replay_side(case, replace(true, sizes=sizes)) == replay_side(case, true)


def test_evidence_about_somebody_else_is_refused(tmp_path: Path) -> None:
    both, others = offices(tmp_path / "one", "plain"), offices(tmp_path / "two", "plain")
    done(faults.link(both))
    done(faults.link(others))
    foreign = make_evidence(others[Side.A].state, the_run(others))
    case = open_pledged_side(both[Side.B].state, the_run(both), None)
    with pytest.raises(UsageError, match="another run"):
        replay_side(case, foreign)
    own = make_evidence(both[Side.B].state, the_run(both))
    with pytest.raises(UsageError, match="the other side of it"):
        replay_side(case, own)


def test_a_run_that_is_not_accountable_cannot_be_replayed(tmp_path: Path) -> None:
    both = faults.offices(tmp_path, "plain")
    done(faults.link(both))
    for question in (lambda s, n: open_pledged_side(s, n, None), make_evidence):
        with pytest.raises(AccordError, match="not accountable"):
            question(both[Side.A].state, the_run(both))
