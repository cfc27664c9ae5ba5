"""Verdicts: who departed from the protocol is convicted by what it signed, and by nothing else is anybody."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from accord.errors import AccordError, DepartedError, ScratchError, StateError, UsageError
from accord.protocols import bound, disclose, disclosed
from accord.session import case as cases
from accord.session import handshake
from accord.session.book import Book, Chain, Meeting, Seal, signed_bytes
from accord.session.case import open_case
from accord.session.evidence import Evidence, Said, decode_evidence, encode_evidence
from accord.session.identity import sign
from accord.session.record import Kept, attempts
from accord.session.replay import make_evidence, replay_side
from accord.session.replay_both import replay_both
from accord.session.seed import decode_seed
from accord.session.store import list_runs
from accord.side import Side
from tests.session import cheats, faults
from tests.session.faults import Office, Wire
from tests.session.replays import (
    CHEATS,
    SHOWN,
    accountable,
    done,
    offices,
    replayed,
    require_convicted,
    require_honest,
    the_run,
    unsuspected,
)

pytestmark = pytest.mark.usefixtures("quick")


# -- who did not ---------------------------------------------------------------------------------------------


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
    return max(mine, key=lambda n: len(mine[n]))


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


def test_a_record_that_was_changed_does_not_help(tmp_path: Path) -> None:
    """B puts what an honest B would have sent into its record, and takes its signatures away."""
    both = accountable(cheats.offices(tmp_path, cheats.agreement()))
    with cheats.read_filters():
        done(faults.link(both))
    name = the_run(both)
    for attempt in attempts(both[Side.B].state.run(name)):
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


def inverted(attempt: Path, number: int) -> None:
    """The record of an attempt with one received message, from 1 on, in which every bit is another."""
    messages = list(Kept(attempt, 0).received())
    messages[number - 1] = bytes(byte ^ 255 for byte in messages[number - 1])
    body = b"".join(len(one).to_bytes(8, "little") + one for one in messages)
    (attempt / "0.received").write_bytes(b"accord received 1\n" + body)


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
    first, _ = attempts(both[Side.B].state.run(name))
    inverted(first, len(list(Kept(first, 0).received())))
    # What it had signed and A never got.
    (first / "0.seals").write_bytes(b"accord seals 1\n")
    assert replayed(both, Side.B, name, evidence=False).attempts == 2, "B's own record is as it should be"
    with pytest.raises(StateError, match="in attempt 1 are not all there, or not those"):
        replayed(both, Side.B, name)
    with pytest.raises(DepartedError, match="bob departed"):
        replay_both({side: open_case(office.state, name, None) for side, office in both.items()})


def test_an_attempt_that_nobody_else_knows_is_not_replayed(tmp_path: Path) -> None:
    both = offices(tmp_path, "greedy")
    faults.link(both, Wire(frames=40, told=True))
    name = the_run(both)
    (first,) = attempts(both[Side.B].state.run(name))
    made_up = first.with_name("0002")
    shutil.copytree(first, made_up)
    opening = bytearray((first / "opening").read_bytes())
    opening[70] ^= 1
    (made_up / "opening").write_bytes(opening)
    (made_up / "0.seals").write_bytes(b"accord seals 1\n")
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
    true_sign = Book.sign

    def sign(self: Any) -> bytes:
        if self._side is Side.A:
            return true_sign(self)
        chain = Chain(MEETINGS[self._name], 0, Side.A)
        made = Seal(self._sent.count, self._sent.last, 0, chain.last, b"")
        signature = self._pen.sign(signed_bytes(self._about, self._name, 0, Side.B, made))
        self._keeper.gave(replace(made, signature=signature))
        return bytes(8) + signature

    MEETINGS: dict[bytes, Meeting] = {}
    true_init = Book.__init__

    def init(self: Book, meeting: Meeting, *rest: Any) -> None:
        MEETINGS[meeting.name] = meeting
        true_init(self, meeting, *rest)

    monkeypatch.setattr(Book, "__init__", init)
    monkeypatch.setattr(Book, "sign", sign)
    both = offices(tmp_path, "plain")
    done(faults.link(both))
    require_convicted(both, "for 0 messages received, and had received")


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
        path = both[Side.B].state.run(name) / "run.json"
        known = json.loads(path.read_text())
        path.write_text(json.dumps(known | {"records": known["records"] - 2}))
    with pytest.raises(DepartedError, match=r"it signed that it has 11 records, and .* has 9"):
        replayed(both, Side.B, name)
    with pytest.raises(DepartedError, match=r"bob departed .* it signed that it has 11 records"):
        replay_both({side: open_case(office.state, name, None) for side, office in both.items()})
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
    both_cases = {each: open_case(office.state, name, None) for each, office in both.items()}
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


def test_another_seed_is_convicted(tmp_path: Path) -> None:
    both = offices(tmp_path, "plain")
    done(faults.link(both))
    name = the_run(both)
    path = both[Side.B].state.run(name) / "seed"
    content = bytearray(path.read_bytes())
    content[-70] ^= 1
    path.write_bytes(content)
    assert decode_seed(bytes(content)) is not None
    with pytest.raises(DepartedError, match="the seed is not the one"):
        replayed(both, Side.B, name)


def test_other_noise_is_convicted(tmp_path: Path) -> None:
    both = offices(tmp_path, "plain")
    done(faults.link(both))
    name = the_run(both)
    path = both[Side.B].state.run(name) / "noise"
    content = bytearray(path.read_bytes())
    content[-4] += 1
    path.write_bytes(content)
    with pytest.raises(DepartedError, match=r"message 1 that it sent as the coordinator in attempt 1 is not"):
        replayed(both, Side.B, name)


# -- what cannot be judged --------------------------------------------------------------------------------


def test_a_record_with_other_messages_convicts_nobody(tmp_path: Path) -> None:
    """One whose messages are lost, or changed, is told apart from a side that departed."""
    both = offices(tmp_path, "plain")
    done(faults.link(both))
    name = the_run(both)
    (attempt,) = attempts(both[Side.B].state.run(name))
    path = attempt / "0.received"
    whole = path.read_bytes()
    for content in (whole[: len(whole) // 2], whole[:-100] + bytes([whole[-100] ^ 1]) + whole[-99:]):
        path.write_bytes(content)
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
    case = open_case(both[Side.B].state, the_run(both), None)
    assert replay_side(case, forged(both, change)).signatures


def test_evidence_without_signatures_says_nothing(tmp_path: Path) -> None:
    both = offices(tmp_path, "plain")
    done(faults.link(both))
    case = open_case(both[Side.B].state, the_run(both), None)
    with pytest.raises(StateError, match="did not get as far as a signature") as found:
        replay_side(case, forged(both, lambda one: one.update(seals=[], links="00" * 32)))
    assert found.value.exit_code == 6


def test_an_attempt_that_was_taken_away_is_missed(tmp_path: Path) -> None:
    both = offices(tmp_path, "greedy")
    faults.link(both, Wire(frames=40, told=True))
    name = the_run(both)
    done(faults.resume(both, name))
    first, _ = attempts(both[Side.B].state.run(name))
    shutil.rmtree(first)
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
    invented = {b"0" * 32: {0: Said([], [Seal(1, bytes(32), 0, bytes(32), bytes(64))])}}
    case = open_case(both[Side.B].state, two, None)
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
        replay_both({side: open_case(office.state, name, None) for side, office in both.items()})


def test_where_texts_are_read_in_another_way_no_table_is_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = offices(tmp_path, "plain")
    done(faults.link(both))
    name, data = the_run(both), both[Side.B].data
    data.write_text(data.read_text() + "B99,7,7\n")
    monkeypatch.setattr(cases, "texts_digest", lambda: bytes(32))
    with pytest.raises(StateError, match="read here in another way than in the run"):
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
    case = open_case(both[Side.B].state, the_run(both), None)
    with pytest.raises(UsageError, match="such as its card did not make"):
        replay_side(case, forged(both, falsify))


def test_what_an_accuser_signs_anew_is_refuted_by_what_it_had_signed(tmp_path: Path) -> None:
    both = offices(tmp_path, "plain")
    done(faults.link(both))
    name = the_run(both)
    case, true = open_case(both[Side.B].state, name, None), make_evidence(both[Side.A].state, name)
    ((meeting, connections),) = true.meetings.items()
    heard = []
    for seal in connections[0].heard:
        other = replace(seal, sent_link=bytes(32))
        signature = sign(both[Side.A].state, signed_bytes(case.about, meeting, 0, Side.A, other))
        heard.append(replace(other, signature=signature))
    false = {meeting: {0: replace(connections[0], heard=heard)}}
    assert replay_side(case, replace(true, meetings=false)) == replay_side(case, true)


def test_sizes_that_an_accuser_makes_up_change_nothing(tmp_path: Path) -> None:
    both = offices(tmp_path, "plain")
    done(faults.link(both))
    case = open_case(both[Side.B].state, the_run(both), None)
    true = make_evidence(both[Side.A].state, the_run(both))
    for sizes in ({Side.A: 9, Side.B: 5000}, {Side.A: 0, Side.B: 9}):
        assert replay_side(case, replace(true, sizes=sizes)) == replay_side(case, true)


def test_evidence_about_somebody_else_is_refused(tmp_path: Path) -> None:
    both, others = offices(tmp_path / "one", "plain"), offices(tmp_path / "two", "plain")
    done(faults.link(both))
    done(faults.link(others))
    foreign = make_evidence(others[Side.A].state, the_run(others))
    case = open_case(both[Side.B].state, the_run(both), None)
    with pytest.raises(UsageError, match="another run"):
        replay_side(case, foreign)
    own = make_evidence(both[Side.B].state, the_run(both))
    with pytest.raises(UsageError, match="the other side of it"):
        replay_side(case, own)


def test_a_run_that_is_not_accountable_cannot_be_replayed(tmp_path: Path) -> None:
    both = faults.offices(tmp_path, "plain")
    done(faults.link(both))
    for question in (lambda s, n: open_case(s, n, None), make_evidence):
        with pytest.raises(AccordError, match="not accountable"):
            question(both[Side.A].state, the_run(both))
