"""Replay one side of an accountable run: did it follow the protocol, with this table?

All that a party sends is a function of its table, its seed, its noise, the agreement, and what it received.
So the very program of the party runs again, attempt after attempt, on the messages that were received, and
must come to everything that the side signed then: by its own record, or by the partner's evidence
(verdict.py).

    followed      every message up to the last signature is the same
    departed      the table is not the pledged one, or has another size than the side announced;
                  or a message differs, which is named, or the receipt that it signed names others
    incomplete    the messages that were received are not all there, or not those that were signed for; the
                  seed is not the pledged one; the receipt of a run that is done cannot be read; or nothing
                  was signed

A replay that fails for a reason of its own, such as a full disk, is no verdict: only what a party raises at
its partner, or at its own bound, is a part of the protocol.

With the tables and seeds of both sides no stored message is needed: both run against each other
(both_sides.py). *Learns*: who runs this sees nothing that it does not hold.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from accord.accountable.signing import AttemptKeys, nonces_of, read_cards, read_commitment
from accord.accountable.stored import StoredTranscript, attempts
from accord.accountable.transcript import Chain, about_run, meeting_of
from accord.agreement.file import parse_agreement
from accord.entropy import Derived
from accord.errors import (
    NoRoomError,
    NoTableError,
    PeerError,
    StateError,
    TooManyMatchesError,
    UnequalError,
    UsageError,
)
from accord.protocols.parts.own_side import OwnSide
from accord.protocols.parts.shown import Shown
from accord.replay.evidence import Evidence, Signatures, collect_all
from accord.replay.pledged import Attempt, PledgedSide
from accord.replay.series import Earlier
from accord.replay.signed import is_known, judge_receipt, require_about, signatures_in
from accord.replay.stand_ins import EndOfRecord, MemoryJournal, ReplayedConnection, ReplayedWorkers, run_noted
from accord.replay.verdict import judge
from accord.side import Side
from accord.state.folder import State
from accord.state.runs import open_run
from accord.workers.sharing import Sharing


@dataclass(frozen=True)
class Replayed:
    """A side that followed the protocol."""

    run: str
    party: str
    attempts: int
    messages: int
    """That the replay sent; those up to the last signature are the same."""
    signatures: int
    """Of this side, which all fit."""
    columns: dict[str, str]
    """By agreed name, and for `id`: the column of the table that it was read from, and how. Each side chooses
    that, and no commitment shows that it is right."""
    earlier: Earlier | None = None
    """Of a run of a series: the runs before it."""


def replay_side(subject: PledgedSide, evidence: Evidence | None = None) -> Replayed:
    """Replay a side from its record; raises unless it followed the protocol.

    With the partner's evidence it is held to what it signed there, whatever its own record says.
    """
    if evidence is not None:
        require_about(subject, evidence)
    known = [attempt for attempt in subject.attempts if is_known(subject, attempt, evidence)]
    signed = {a.number: signatures_in(subject, a, evidence) for a in known}
    if any(one.seals for each in signed.values() for one in each.values()):
        subject.require_size(subject.manifest.records)
    journal = MemoryJournal()
    made = {a.meeting.name: _replay_attempt(subject, a, journal, signed[a.number]) for a in known}
    signatures = sum(len(one.seals) for each in signed.values() for one in each.values())
    subject.require_signatures(signatures)
    subject.require(judge_receipt(subject, {subject.side: made}).get(subject.side))
    sent = sum(len(connection.links) for each in made.values() for connection in each.values())
    run, count = subject.manifest.run, len(known)
    return Replayed(run, subject.party, count, sent, signatures, subject.columns, subject.earlier)


@dataclass(frozen=True)
class Ended:
    """How a side's program ended when it ran again."""

    whole: bool
    """Whether it came to an end of its own."""
    shown: Shown | None = None
    """In a series: what both had disclosed by then."""


def run_attempt(
    subject: PledgedSide,
    attempt: Attempt,
    journal: MemoryJournal,
    connect: Callable[[int], ReplayedConnection],
) -> Ended:
    """Run the side's program again over these connections."""
    keys = AttemptKeys(subject.commitment.seed, attempt.number, nonces_of(attempt.hellos))
    workers = ReplayedWorkers(attempt.stored.certificates(), connect, keys.connection)
    sharing = Sharing(attempt.hellos[subject.side].wish, attempt.hellos[subject.side.other].wish, workers)
    mine = replace(subject.mine, entropy=Derived(keys.connection(0)), journal=journal, staff=sharing)
    try:
        ended = _run_again(subject, attempt, mine, journal, connect)
        workers.end()
    except NoRoomError as error:
        raise subject.incomplete(f"this machine is too small for its replay: {error.problem}") from None
    return ended


def _run_again(
    subject: PledgedSide,
    attempt: Attempt,
    mine: OwnSide,
    journal: MemoryJournal,
    connect: Callable[[int], ReplayedConnection],
) -> Ended:
    side = subject.side
    try:
        journal.meet(attempt.hellos[side], attempt.hellos[side.other])
        return Ended(True, run_noted(subject.party_of(mine), connect(0), signs_at_end=True))
    except EndOfRecord:
        return Ended(False)
    except NoRoomError:
        raise
    except (PeerError, TooManyMatchesError, NoTableError, UnequalError):
        # As then: a side that refuses what it is told sends nothing more.
        return Ended(True)


def _replay_attempt(
    subject: PledgedSide, attempt: Attempt, journal: MemoryJournal, signed: dict[int, Signatures]
) -> dict[int, ReplayedConnection]:
    """Replay one attempt from its record; its connections. Raises unless all that was signed is the same."""
    made: dict[int, ReplayedConnection] = {}

    def connect(number: int) -> ReplayedConnection:
        chain = Chain(attempt.meeting, number, subject.side.other)
        inbox = StoredTranscript(attempt.stored.folder, number).received(chain)
        made[number] = ReplayedConnection(attempt.meeting, number, subject.side, inbox, signed.get(number))
        return made[number]

    try:
        ended = run_attempt(subject, attempt, journal, connect)
        objection = judge(attempt.number, made, signed, ended.whole)
    except (OSError, ValueError):
        raise subject.incomplete(f"the messages of attempt {attempt.number} cannot be read") from None
    subject.require(objection)
    subject.require_shown(ended.shown)
    return made


def make_evidence(state: State, name: str) -> Evidence:
    """What the partner signed in a run, from the own record."""
    found = open_run(state, name)
    known = found.manifest
    agreement = parse_agreement(known.agreement, f"The agreement of the run {name}")
    if not agreement.accountable:
        raise UsageError(problem=f"The run {name} is not accountable: nobody signed anything in it.")
    side, commitment = Side(known.side), read_commitment(found)
    partner = side.other
    sizes = {side: known.records, partner: known.partner_records}
    try:
        about = about_run(name, agreement.digest)
        meetings = {attempt: meeting_of(attempt.hellos(), sizes, about) for attempt in attempts(found)}
        signed = collect_all(meetings, partner)
    except (OSError, ValueError):
        mend = "Restore it from a copy."
        raise StateError(path=found.path / "record", reason="it cannot be read", mend=mend) from None
    card = read_cards(found)[partner]
    return Evidence(name, agreement.digest, partner, card, commitment.pledges[partner], sizes, signed)
