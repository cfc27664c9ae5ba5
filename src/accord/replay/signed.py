"""What a side is held to in its replay: what it signed, by the partner's evidence or by its own record.

With evidence, the own record of the side is its word and no more. What it received it may have changed or
made up, and only signatures say otherwise: its own, up to the last of them, and behind that the partner's.
That counts beyond one attempt, since answers that were received are kept and used in the next. So

    an attempt that the partner neither knows nor signed in   is not replayed: nobody but this side says that
                                                              it was
    what the partner signed as sent (`heard`)                 must be what was received, as far as it came
    the commitments that the partner says again               must be those that were received first

An accuser may sign anew, for messages that it never sent. What the side holds of its signatures from then
refutes that: behind the last of those alone it can make a record look changed.
"""

from __future__ import annotations

from dataclasses import replace

from accord.accountable.stored import StoredTranscript, read_certificates
from accord.accountable.transcript import Seal, meeting_of
from accord.errors import AccordError, StateError, UsageError
from accord.peer.identity import card_from_der
from accord.replay.evidence import Evidence, Said, judge_seals, records
from accord.replay.pledged import Attempt, Case


def require_about(case: Case, evidence: Evidence) -> None:
    """Raise unless this is evidence about this side of this run, signed with the card that it had then."""
    about = (evidence.run, evidence.agreement, evidence.side)
    if about != (case.manifest.run, case.agreement.digest, case.side):
        raise UsageError(problem="The evidence is about another run, or about the other side of it.")
    if evidence.card.der != case.cards[case.side].der:
        problem = f"The evidence is signed with the card {evidence.card.fingerprint}, but the run began with "
        raise UsageError(problem=f"{problem}{case.cards[case.side].fingerprint}.")
    if evidence.pledge.commitments != case.commitment.pledges[case.side].commitments:
        raise case.departed("it signed commitments to another table or another seed")
    for name in set(evidence.meetings) - {attempt.meeting.name for attempt in case.attempts}:
        # Its workers' certificates were in the attempt, so only what its card signed can be judged.
        said = evidence.meetings[name].get(0)
        if said is None or not said.seals:
            continue
        try:
            judge_seals(said.seals, case.about, name, 0, case.side, evidence.card)
        except ValueError:
            raise _false_evidence() from None
        if name in {meeting_of(a.told, evidence.sizes, case.about).name for a in case.attempts}:
            case.require_size(evidence.sizes[case.side])
        raise case.incomplete("it lacks an attempt of which the partner has signatures")


def _false_evidence() -> UsageError:
    problem = "The evidence has signatures of another run, or such as its card did not make."
    return UsageError(problem=problem)


def said_in(case: Case, attempt: Attempt, evidence: Evidence | None) -> dict[int, Said]:
    """What the side signed on each connection of an attempt: by the evidence, or by its own record. Where the
    evidence knows nothing of a connection, the own record may say what was received there."""
    own = _said_by_itself(case, attempt, evidence is None)
    if evidence is None:
        return own
    said = dict(evidence.meetings.get(attempt.meeting.name, {}))
    if 0 in said:
        name, side = attempt.meeting.name, case.side
        try:
            judge_seals(said[0].seals, case.about, name, 0, side, evidence.card)
            judge_seals(said[0].heard, case.about, name, 0, side.other, case.cards[side.other])
        except ValueError:
            raise _false_evidence() from None
        said[0] = replace(said[0], sure=_partner_seals(case, attempt))
    return own | require_seals(case, attempt, said, "the evidence")


def is_known(case: Case, attempt: Attempt, evidence: Evidence | None) -> bool:
    """Whether anybody but this side says that there was this attempt."""
    if evidence is None or attempt.meeting.name in evidence.meetings:
        return True
    return bool(_partner_seals(case, attempt))


def _partner_seals(case: Case, attempt: Attempt) -> list[Seal]:
    """What the side's own record has of its partner's signatures, if that made them."""
    try:
        taken = StoredTranscript(attempt.folder, 0).seals()[1]
        partner = case.side.other
        judge_seals(taken, case.about, attempt.meeting.name, 0, partner, case.cards[partner])
    except (OSError, ValueError):
        return []
    return taken


def _said_by_itself(case: Case, attempt: Attempt, needed: bool) -> dict[int, Said]:
    """What the side's own record has; where that is not needed, nothing if it does not hold."""
    try:
        found = {one.number: Said(one.sent(), one.seals()[0]) for one in records(attempt.folder)}
        return require_seals(case, attempt, found, "its record")
    except (OSError, ValueError, StateError) as error:
        if not needed:
            return {}
        if isinstance(error, StateError):
            raise
        raise case.incomplete(f"the signatures of attempt {attempt.number} cannot be read") from None


def require_seals(case: Case, attempt: Attempt, said: dict[int, Said], whose: str) -> dict[int, Said]:
    """The same; raises unless the side, or its workers, made these seals."""
    try:
        cards = read_certificates(attempt.folder)
        for number, one in said.items():
            if number > len(cards):
                raise ValueError("a worker without a badge")
            card = card_from_der(cards[number - 1], attempt.folder) if number else case.cards[case.side]
            judge_seals(one.seals, case.about, attempt.meeting.name, number, case.side, card)
    except (OSError, ValueError, AccordError):
        raise case.incomplete(
            f"{whose} has signatures of attempt {attempt.number} that do not hold"
        ) from None
    return said
