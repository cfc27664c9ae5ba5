"""Replays of runs with workers: of their messages, too, every one is judged."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from accord.accountable.stored import attempts
from accord.accountable.transcript import signed_bytes
from accord.errors import DepartedError, StateError
from accord.peer.identity import draw_identity, signer
from accord.replay.both_sides import replay_both
from accord.replay.evidence import Evidence
from accord.replay.one_side import Replayed, make_evidence, replay_side
from accord.replay.pledged import PledgedSide, open_pledged_side
from accord.run.receipt import read_receipt
from accord.run.stages import Linked
from accord.secure.ot import engine as ot_engine
from accord.side import Side
from accord.state.folder import State
from accord.state.runs import open_run
from accord.workers import local as workers_local
from accord.workers.certificates import decode_certificates, encode_certificate
from tests.protocols.worlds import agreement
from tests.replay.replays import accountable, received, rewrite_received
from tests.replay.test_receipts import signing, zero_last
from tests.run import faults, worlds
from tests.state.damage import flip
from tests.workers.test_workers import Death, crowds, meet, require_done
from tests.workers.test_workers import named as named_death
from tests.workers.threads import as_threads
from tests.workers.worker_cheating import hide


@pytest.mark.slow
@pytest.mark.parametrize("greedy", [False, True])
def test_an_honest_run_with_two_workers(greedy: bool, tmp_path: Path) -> None:
    """Over TLS; a worker's messages are judged as its coordinator's are."""
    agreed = agreement(greedy=greedy).model_copy(update={"accountable": True})
    a, b = worlds.introduce(tmp_path, agreed)
    two = {"workers": 2}
    for result in worlds.link_both(a, b, agreed, a_options=two, b_options=two):
        assert isinstance(result, Linked), result
    name = result.run
    tables = {Side.A: worlds.table(worlds.A_ROWS, "a"), Side.B: worlds.table(worlds.B_ROWS, "b")}
    states = {Side.A: a.state, Side.B: b.state}
    cases = {side: open_pledged_side(states[side], name, tables[side]) for side in Side}
    for side in Side:
        evidence = make_evidence(states[side.other], name)
        assert {number for each in evidence.meetings.values() for number in each} == {0, 1, 2}
        assert replay_side(cases[side]) == replay_side(cases[side], evidence)
    transcripts = read_receipt(result.receipt).facts["accountable"]["transcripts"]
    assert len({link for one in transcripts for link in one.values()}) == 6
    replay_both(cases)
    # A link that its worker did not sign convicts nobody, and neither does a message that was damaged.
    (attempt,) = attempts(open_run(states[Side.B], name))
    with (attempt.folder / "2.sent").open("ab") as file:
        file.write(bytes(32))
    replay_side(cases[Side.B])
    evidence, (opened,) = make_evidence(states[Side.A], name), cases[Side.B].attempts
    for number in (1, 2):
        path, messages = attempt.folder / f"{number}.received", received(opened, Side.B, number)
        whole = path.read_bytes()
        flip(path, -9)
        for known in (None, evidence):
            with pytest.raises(StateError, match="the messages of attempt 1 cannot be read"):
                replay_side(cases[Side.B], known)
        *first, last = messages
        rewrite_received(opened, Side.B, [*first, bytes(byte ^ 255 for byte in last)], number)
        for known in (None, evidence):
            with pytest.raises(StateError, match=f"as worker {number} in attempt 1 are not all there"):
                replay_side(cases[Side.B], known)
        path.write_bytes(whole)


@pytest.mark.slow
def test_a_worker_that_cheats_is_convicted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of B say that nothing matches, and sign so."""
    true = workers_local.start_module

    def start(module: str, *arguments: Any) -> Any:
        return true("tests.workers.worker_cheating", *arguments)

    monkeypatch.setattr(workers_local, "start_module", start)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    agreed = agreement(greedy=False).model_copy(update={"accountable": True})
    a, b = worlds.introduce(tmp_path, agreed)
    two = {"workers": 2}
    for result in worlds.link_both(a, b, agreed, a_options=two, b_options=two):
        assert isinstance(result, Linked), result
        assert result.matches == 0
    name, evidence = result.run, make_evidence(a.state, result.run)
    cases = {
        Side.A: open_pledged_side(a.state, name, worlds.table(worlds.A_ROWS, "a")),
        Side.B: open_pledged_side(b.state, name, worlds.table(worlds.B_ROWS, "b")),
    }
    with pytest.raises(DepartedError, match=r"bob departed .* as worker [12] in attempt 1 is not the one"):
        replay_side(cases[Side.B], evidence)
    with pytest.raises(DepartedError, match=r"bob departed .* as worker [12] in attempt 1 is not the one"):
        replay_both(cases)
    assert replay_side(cases[Side.A], make_evidence(b.state, name)).signatures


@pytest.mark.slow
@pytest.mark.parametrize(
    "death", [Death(Side.A, 0, 1), Death(Side.B, 1, 2), Death(Side.B, None, 1)], ids=named_death
)
def test_whoever_is_killed_nobody_is_convicted(death: Death, tmp_path: Path) -> None:
    """Neither of the cut attempt, in which workers were ahead of their coordinators, nor of the next."""
    both, expected = crowds(tmp_path)
    accountable(both)
    meet(both, None, {Side.A: 2, Side.B: 2}, death)
    name = faults.common_run(both)
    assert name
    states = {side: office.state for side, office in both.items()}
    for again in (False, True):
        if again:
            require_done(meet(both, name, {Side.A: 3, Side.B: 3}), both, expected)
        for side in Side:
            case, evidence = (
                open_pledged_side(states[side], name, None),
                make_evidence(states[side.other], name),
            )
            assert replay_side(case).attempts == 1 + again
            assert replay_side(case, evidence).attempts == 1 + again


# -- workers as threads: what a side keeps of theirs, and what an accuser says of them -----------------------


@dataclass(frozen=True)
class World:
    """A run with two workers a side, as both keep it; tests copy what they change."""

    states: dict[Side, State]
    name: str

    def copied(self, folder: Path) -> World:
        states = {}
        for side, state in self.states.items():
            shutil.copytree(state.folder, folder / side.value)
            states[side] = State(folder / side.value)
        return World(states, self.name)

    def case(self, side: Side) -> PledgedSide:
        rows = worlds.A_ROWS if side is Side.A else worlds.B_ROWS
        return open_pledged_side(self.states[side], self.name, worlds.table(rows, side.value.lower()))

    def replayed(self, side: Side, evidence: Evidence | None = None) -> Replayed:
        """A side before the partner's evidence."""
        return replay_side(self.case(side), evidence or make_evidence(self.states[side.other], self.name))

    def against(self) -> dict[Side, Replayed]:
        return replay_both({side: self.case(side) for side in Side})

    def swap(self, side: Side) -> None:
        """A side exchanges the certificates of its two workers in what it keeps."""
        (attempt,) = attempts(open_run(self.states[side], self.name))
        attempt.keep_certificates(attempt.certificates()[::-1])


def linked(folder: Path, change: Callable[[pytest.MonkeyPatch], None] | None = None) -> World:
    agreed = agreement(greedy=False).model_copy(update={"accountable": True})
    a, b = worlds.introduce(folder, agreed)
    two = {"workers": 2}
    with pytest.MonkeyPatch.context() as patch, as_threads():
        faults.quicken(patch)
        if change is not None:
            change(patch)
        for result in worlds.link_both(a, b, agreed, a_options=two, b_options=two):
            assert isinstance(result, Linked), result
    return World({Side.A: State(a.state.folder), Side.B: State(b.state.folder)}, result.run)


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> World:
    return linked(tmp_path_factory.mktemp("honest"))


@pytest.fixture(scope="module")
def cheated(tmp_path_factory: pytest.TempPathFactory) -> World:
    """B's workers say that nothing matches, and sign so."""
    return linked(tmp_path_factory.mktemp("cheated"), lambda patch: patch.setattr(ot_engine, "run_b", hide))


SWAPPED = r"{} departed .* as the coordinator in attempt 1 is not the one"


@pytest.mark.usefixtures("quick")
def test_two_honest_sides_with_workers(honest: World) -> None:
    assert all(
        len(next(iter(make_evidence(s, honest.name).meetings.values()))) == 3 for s in honest.states.values()
    )
    for side in Side:
        assert replay_side(honest.case(side)) == honest.replayed(side)
    assert set(honest.against()) == set(Side)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("side", Side)
def test_who_swaps_the_certificates_of_its_workers_is_convicted(
    side: Side, honest: World, tmp_path: Path
) -> None:
    """It had told its partner of others, in this order, and signed for it."""
    world, party = honest.copied(tmp_path), "alice" if side is Side.A else "bob"
    world.swap(side)
    with pytest.raises(DepartedError, match=SWAPPED.format(party)):
        world.replayed(side)
    with pytest.raises(DepartedError, match=SWAPPED.format(party)):
        world.against()
    # By its own record alone no signature of a worker holds.
    with pytest.raises(StateError, match="its record has signatures of attempt 1 that do not hold"):
        replay_side(world.case(side))
    assert world.replayed(side.other).signatures


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("swapped", [False, True])
def test_workers_that_cheat_do_not_escape_under_each_others_certificates(
    swapped: bool, cheated: World, tmp_path: Path
) -> None:
    world = cheated.copied(tmp_path)
    if swapped:
        world.swap(Side.B)
    said = r"bob departed .* as worker [12] in attempt 1 is not the one"
    with pytest.raises(DepartedError, match=said):
        world.replayed(Side.B)
    with pytest.raises(DepartedError, match=said):
        world.against()
    assert world.replayed(Side.A).signatures


def invented() -> tuple[bytes, bytes]:
    """A key of a worker that never was, and its certificate."""
    key, card = draw_identity("worker of bob", datetime.now(UTC))
    return key, card.der


def named(workers: bytes, cards: list[bytes]) -> bytes:
    """The message in which workers are named, with other certificates."""
    told = zip(decode_certificates(workers), cards, strict=True)
    return b"".join(encode_certificate(replace(one, card=card)) for one, card in told)


@pytest.mark.usefixtures("quick")
def test_an_accuser_that_invents_certificates_convicts_nobody(honest: World) -> None:
    """A names other workers of B, and signs with their keys that they sent something else."""
    case, true = honest.case(Side.B), make_evidence(honest.states[Side.A], honest.name)
    ((meeting, signed),) = true.meetings.items()
    keys = [invented() for _ in range(2)]
    false = replace(signed[0], workers=named(signed[0].workers, [card for _, card in keys]))
    for said in (false, replace(signed[0], workers=b"")):
        found = replace(true, meetings={meeting: signed | {0: said}})
        assert honest.replayed(Side.B, found) == honest.replayed(Side.B)
    accused = dict(signed) | {0: false}
    for number, (key, _) in enumerate(keys, 1):
        seals = [replace(seal, sent_link=bytes(32)) for seal in signed[number].seals]
        made = [signer(key)(signed_bytes(case.about, meeting, number, Side.B, seal)) for seal in seals]
        accused[number] = replace(
            signed[number], seals=[replace(s, signature=m) for s, m in zip(seals, made, strict=True)]
        )
    with pytest.raises(StateError, match="the evidence has signatures of attempt 1 that do not hold"):
        honest.replayed(Side.B, replace(true, meetings={meeting: accused}))


@pytest.mark.usefixtures("quick")
def test_certificates_that_an_accuser_puts_into_its_record_convict_nobody(
    honest: World, tmp_path: Path
) -> None:
    world = honest.copied(tmp_path)
    (attempt,), true = world.case(Side.A).attempts, make_evidence(honest.states[Side.A], honest.name)
    workers = next(iter(true.meetings.values()))[0].workers
    messages = received(attempt, Side.A)
    assert messages.count(workers) == 1
    false = named(workers, [card for _, card in (invented(), invented())])
    rewrite_received(attempt, Side.A, [false if one == workers else one for one in messages])
    assert world.replayed(Side.B) == honest.replayed(Side.B)
    assert world.against() == honest.against()
    with pytest.raises(StateError, match="are not all there, or not those it signed for"):
        world.replayed(Side.A)


@pytest.mark.usefixtures("quick")
def test_a_receipt_that_names_other_messages_of_a_worker(tmp_path: Path) -> None:
    with signing(zero_last):
        world = linked(tmp_path)
    said = "bob departed .* the receipt that it signed names other messages that it sent as worker 2"
    with pytest.raises(DepartedError, match=said):
        world.replayed(Side.B)
    with pytest.raises(DepartedError, match=said):
        world.against()
    with pytest.raises(
        StateError, match="what was received as worker 2 in attempt 1 is not what its receipt"
    ):
        world.replayed(Side.A)
