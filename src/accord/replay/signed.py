"""What a side is held to in its replay: what it signed, by the partner's evidence or by its own record.

With evidence, the own record of the side is its word and no more. What it received it may have changed or
made up, and only signatures say otherwise: its own, up to the last of them, and behind that the partner's.
That counts beyond one attempt, since answers that were received are kept and used in the next. So

    an attempt that the partner neither knows nor signed in   is not replayed: nobody but this side says that
                                                              it was
    what the partner signed as sent (`heard`)                 must be what was received, as far as it came
    the commitments that the partner says again               must be those that were received first

Of a run that is done it is also held to the receipt, which both signed (`judge_receipt`).

An accuser may sign anew, for messages that it never sent. What the side holds of its signatures from then
refutes that: behind the last of those alone it can make a record look changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from accord.accountable.stored import StoredTranscript
from accord.accountable.transcript import Seal, meeting_of
from accord.errors import AccordError, DamagedError, StateError, UsageError
from accord.peer.identity import card_from_der
from accord.replay.evidence import Evidence, Signatures, judge_seals, records
from accord.replay.pledged import Attempt, PledgedSide
from accord.replay.stand_ins import ReplayedConnection
from accord.replay.verdict import Objection, judge_end
from accord.run.receipt import receipt_of
from accord.side import Side

Connections = Mapping[bytes, Mapping[int, ReplayedConnection]]
"""Those that were replayed, by the name of their meeting and their number."""


def require_about(subject: PledgedSide, evidence: Evidence) -> None:
    """Raise unless this is evidence about this side of this run, signed with the card that it had then."""
    about = (evidence.run, evidence.agreement, evidence.side)
    if about != (subject.manifest.run, subject.agreement.digest, subject.side):
        raise UsageError(problem="The evidence is about another run, or about the other side of it.")
    if evidence.card.der != subject.cards[subject.side].der:
        problem = f"The evidence is signed with the card {evidence.card.fingerprint}, but the run began with "
        raise UsageError(problem=f"{problem}{subject.cards[subject.side].fingerprint}.")
    if evidence.pledge.commitments != subject.commitment.pledges[subject.side].commitments:
        raise subject.departed("it signed commitments to another table or another seed")
    for name in set(evidence.meetings) - {attempt.meeting.name for attempt in subject.attempts}:
        # Its workers' certificates were in the attempt, so only what its card signed can be judged.
        signed = evidence.meetings[name].get(0)
        if signed is None or not signed.seals:
            continue
        try:
            judge_seals(signed.seals, subject.about, name, 0, subject.side, evidence.card)
        except ValueError:
            raise _false_evidence() from None
        if name in {meeting_of(a.told, evidence.sizes, subject.about).name for a in subject.attempts}:
            subject.require_size(evidence.sizes[subject.side])
        raise subject.incomplete("it lacks an attempt of which the partner has signatures")


def _false_evidence() -> UsageError:
    problem = "The evidence has signatures of another run, or such as its card did not make."
    return UsageError(problem=problem)


def signatures_in(subject: PledgedSide, attempt: Attempt, evidence: Evidence | None) -> dict[int, Signatures]:
    """What the side signed on each connection of an attempt: by the evidence, or by its own record. Where the
    evidence knows nothing of a connection, the own record may say what was received there."""
    own = _signed_by_itself(subject, attempt, evidence is None)
    if evidence is None:
        return own
    signed = dict(evidence.meetings.get(attempt.meeting.name, {}))
    if 0 in signed:
        name, side = attempt.meeting.name, subject.side
        try:
            judge_seals(signed[0].seals, subject.about, name, 0, side, evidence.card)
            judge_seals(
                signed[0].partner_seals, subject.about, name, 0, side.other, subject.cards[side.other]
            )
        except ValueError:
            raise _false_evidence() from None
        signed[0] = replace(signed[0], own_partner_seals=_partner_seals(subject, attempt))
    return own | require_seals(subject, attempt, signed, "the evidence")


def is_known(subject: PledgedSide, attempt: Attempt, evidence: Evidence | None) -> bool:
    """Whether anybody but this side says that there was this attempt."""
    if evidence is None or attempt.meeting.name in evidence.meetings:
        return True
    return bool(_partner_seals(subject, attempt))


def _partner_seals(subject: PledgedSide, attempt: Attempt) -> list[Seal]:
    """What the side's own record has of its partner's signatures, if that made them."""
    try:
        taken = StoredTranscript(attempt.stored.folder, 0).seals()[1]
        partner = subject.side.other
        judge_seals(taken, subject.about, attempt.meeting.name, 0, partner, subject.cards[partner])
    except (OSError, ValueError):
        return []
    return taken


def _signed_by_itself(subject: PledgedSide, attempt: Attempt, needed: bool) -> dict[int, Signatures]:
    """What the side's own record has; where that is not needed, nothing if it does not hold."""
    try:
        found = {one.number: Signatures(one.sent(), one.seals()[0]) for one in records(attempt.stored)}
        return require_seals(subject, attempt, found, "its record")
    except (OSError, ValueError, StateError) as error:
        if not needed:
            return {}
        if isinstance(error, StateError):
            raise
        raise subject.incomplete(f"the signatures of attempt {attempt.number} cannot be read") from None


def require_seals(
    subject: PledgedSide, attempt: Attempt, signed: dict[int, Signatures], whose: str
) -> dict[int, Signatures]:
    """The same; raises unless the side, or its workers, made these seals.

    Who they are the side may have written over: what the partner was shown, under its signature, comes first.
    If the side showed others than it has, it sent another message than follows from those.
    """
    try:
        judge = partial(judge_seals, about=subject.about, meeting=attempt.meeting.name, side=subject.side)
        shown = None
        if 0 in signed:
            judge(signed[0].seals, number=0, card=subject.cards[subject.side])
            shown = signed[0].certificates(attempt.meeting, subject.side)
        cards = attempt.stored.certificates() if shown is None else shown
        for number, one in signed.items():
            if number > len(cards):
                raise ValueError("a worker without a certificate")
            if number:
                judge(one.seals, number=number, card=card_from_der(cards[number - 1], attempt.stored.folder))
    except (OSError, ValueError, AccordError):
        raise subject.incomplete(
            f"{whose} has signatures of attempt {attempt.number} that do not hold"
        ) from None
    return signed


def judge_receipt(holder: PledgedSide, replayed: Mapping[Side, Connections]) -> dict[Side, Objection | None]:
    """What is wrong with these sides by the receipt that one of both holds, if it is done; raises where that
    cannot be read, or is not signed by both with the cards of the run."""
    if not holder.manifest.done:
        return {}
    try:
        found = receipt_of(holder.run)
        if any(found.cards[side].der != holder.cards[side].der for side in Side):
            raise ValueError("signed with other cards")
        bound = found.facts["accountable"]
        meeting = bytes.fromhex(bound["meeting"])
        last = [{side: bytes.fromhex(one[side.value]) for side in Side} for one in bound["transcripts"]]
    except DamagedError:
        raise
    except (AccordError, ValueError, KeyError, TypeError):
        raise holder.incomplete("its receipt cannot be read, or was not signed by both sides of it") from None
    number = next((one.number for one in holder.attempts if one.meeting.name == meeting), 0)
    if not all(meeting in connections for connections in replayed.values()):
        raise holder.incomplete("the attempt that its receipt names is not among those that are known")
    return {
        side: judge_end(number, side, connections[meeting], last) for side, connections in replayed.items()
    }
