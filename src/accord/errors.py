"""Everything that can go wrong and be mended by the person who reads it.

One tree. The docstring of a class *is* the sentence its user sees, with the facts filled in, and its
`exit_code` is what the command line ends with (`docs/exit-codes.md` lists them). Errors about data name the
row and the column, never the value: an error may end up in a log that the partner can read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

SHOWN_FAULTS = 20

Ending = Literal["", "most_matches", "no_table", "unequal", "cut"]
"""What a run ends by for good: it passed a bound of the agreement, no table held a side's values, the two
sides computed something else, or it was cut where it may not go on."""


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong, where it is, and what to do about it."""

    place: str
    problem: str
    mend: str = ""
    count: int = 1
    """How many cells or rows have this very fault."""

    def __str__(self) -> str:
        text = f"{self.place}: {self.problem}" if self.place else self.problem
        return f"{text} {self.mend}".rstrip()


class AccordError(Exception):
    """Something went wrong."""

    exit_code = 1
    ends: Ending = ""

    def __init__(self, **facts: object) -> None:
        self.facts = facts
        sentence = " ".join((type(self).__doc__ or "").split())
        super().__init__(sentence.format(**facts))


class UsageError(AccordError):
    """{problem}"""

    exit_code = 2


class FaultyError(AccordError):
    """{what} has {count}:"""

    def __init__(self, what: str, faults: Sequence[Fault], mend: str = "") -> None:
        self.faults, self.mend = tuple(faults), mend
        total = sum(fault.count for fault in self.faults)
        super().__init__(what=what, count="1 fault" if total == 1 else f"{total:,} faults")

    def __str__(self) -> str:
        lines = [super().__str__(), *(f"  {fault}" for fault in self.faults[:SHOWN_FAULTS])]
        hidden = len(self.faults) - SHOWN_FAULTS
        lines += [f"  … and {hidden:,} more kinds."] if hidden > 0 else []
        return "\n".join([*lines, *([self.mend] if self.mend else [])])


class AgreementError(FaultyError):
    """{what} has {count}:"""

    exit_code = 3


class UnmetError(AccordError):
    """No option meets everything that is wanted ({wishes}). {written}"""

    exit_code = 3


class DataError(FaultyError):
    """{what} has {count}:"""

    exit_code = 4


class ContradictionError(DataError):
    """{what} contradicts the agreement, with {count}:"""


class UnreadableError(AccordError):
    """{path} cannot be read: {reason}. {mend}"""

    exit_code = 4


class OutputError(AccordError):
    """{path} cannot be written: {reason}. Name another place with `{option}=`."""

    exit_code = 5

    def __init__(self, *, path: object, reason: object, option: str = "out") -> None:
        super().__init__(path=path, reason=reason, option=option)
        self.reason = reason


class UnsureOutputError(OutputError):
    """{path} may have been written, or not: {reason} while it was being finished. Look there; an
    interrupted run writes it again when it is resumed."""


class CopyOutputError(OutputError):
    """{path} cannot be written: {reason}. Name another FILE."""


class LayoutOutputError(OutputError):
    """{path} cannot be written: {reason}. It belongs next to the table: move one of them elsewhere."""


class IdsOutputError(OutputError):
    """{path} cannot be written: {reason}. It keeps the ids that are made for the rows of the table beside it:
    make room there, see that you may write, or move the table elsewhere."""


class UnsupportedError(AccordError):
    """The engine '{engine}' cannot evaluate {node}. Choose another engine in the agreement."""

    exit_code = 3


class BudgetError(AccordError):
    """The privacy budget of '{dataset}' does not allow this run: {reason} Requested: {asked}. Left: {left}.
    Nothing was drawn and nothing was charged. A snapshot that was paid for can be linked again as long as
    runs are left; `accord ledger budget` changes the limits."""

    exit_code = 6

    def __init__(self, *, reason: str, **facts: object) -> None:
        self.reason = reason
        super().__init__(reason=reason, **facts)


class AccountError(UsageError):
    """{problem}"""


class SnapshotError(AccordError):
    """Your table is not the one that was first called the snapshot '{snapshot}' of '{dataset}': ids were
    added or removed, or some fall into other bins. Nothing was drawn and nothing was charged. Link the table
    as it was; or give this one a new name with `snapshot=`, which is a new release and is charged.
    A new name tells the partner that something changed, unless names follow a calendar, not the data."""

    exit_code = 6


class UncoveredError(AccordError):
    """{share} are not covered by the promise, since each {crowded}: {passes}. You allow {allowed} %. Nothing
    was charged and no partner was called. Empty the values that stand for no value, such as a switchboard's
    number or a default date. Or agree on a larger cap or a finer key for this pass, or on all pairs, which
    cover every record (`accord plan --recall 1`): the partner sees that you ask. Or allow it with
    `uncovered=` {enough}%."""

    exit_code = 6


class StateError(AccordError):
    """The state in {path} cannot be used: {reason}. {mend}"""

    exit_code = 6

    def __init__(self, *, path: object, reason: object, **facts: object) -> None:
        self.path, self.reason = path, reason
        super().__init__(path=path, reason=reason, **facts)


class ScratchError(StateError):
    """What does not fit in memory cannot be kept in {path}: {reason}. {mend}"""

    exit_code = 6


class DamagedError(StateError):
    """{path} is damaged: {reason}. Nothing of it was used or sent, and nothing was charged. {mend}"""

    exit_code = 16


class PeerError(AccordError):
    """{partner} sent something that does not fit the protocol: {problem}. Check that both sides run the
    same version of Accord with the same agreement, then run again."""

    exit_code = 7

    def __init__(self, *, problem: str, partner: str = "The partner") -> None:
        self.problem = problem
        super().__init__(problem=problem, partner=partner)


class NoRoomError(PeerError):
    """{partner} sent something that does not fit the protocol: {problem}. Check that both sides run the
    same version of Accord with the same agreement, then run again."""


class RefusedError(AccordError):
    """{problem} Nothing was charged, and nothing about your table but its size was revealed."""

    exit_code = 7


class OtherRunError(RefusedError):
    """{problem} Nothing was charged, and nothing about your table but its size was revealed."""

    def __init__(self, *, problem: str, theirs: str) -> None:
        """`theirs`: the run that the partner resumes; empty if it starts a new one."""
        self.theirs = theirs
        super().__init__(problem=problem)


class OlderStateError(AccordError):
    """{partner} goes on from an older state: it had told you of {runs} with you, and now tells of
    {told}, or of others. With an older state noise is drawn anew for a table that was shown already. Nothing
    was drawn or charged. Ask {partner} to restore its latest copy. If there is none, its owner counts by hand
    what was spent since, and both of you run `accord partner acknowledge`."""

    exit_code = 19

    def __init__(self, *, partner: str, runs: int, told: int) -> None:
        counted = f"{runs:,} charged {'run' if runs == 1 else 'runs'}"
        super().__init__(partner=partner, runs=counted, told=f"{told:,}")


class NotResumedError(RefusedError):
    """{problem}"""


class ClosedError(AccordError):
    """The run {run} is closed: {count} answers of {partner} did not fit the protocol, and each refusal tells
    it something. {last} Ask {partner} why. Then both run `accord link` again, which spends nothing under the
    same `snapshot=`; `accord forget {run}` removes this one."""

    exit_code = 7


class ClosedByChanceError(ClosedError):
    """The run {run} is closed: no table held the values of one side, which is chance in fewer than one of
    10¹² runs, and that another attempt succeeds would tell something of them. Both run `accord link` again,
    which spends nothing under the same `snapshot=`; `accord forget {run}` removes this one."""

    exit_code = 17


class ClosedUnequalError(ClosedError):
    """The run {run} is closed: the two sides did not compute the same, or one of them ended when it alone may
    have had the answers. Every attempt would give one that cheats another bit of the other's records. Find
    out why before both run `accord link` again; `accord forget {run}` removes this one."""

    exit_code = 18


class DifferentAgreementError(AccordError):
    """You and {partner} hold different agreements. Nothing from your table was sent. What differs:
    {differences}"""

    exit_code = 3

    def __init__(self, partner: str, differences: Sequence[str]) -> None:
        self.differences = tuple(differences)
        super().__init__(partner=partner, differences="")

    def __str__(self) -> str:
        return "\n".join([super().__str__().rstrip(), *(f"  {line}" for line in self.differences)])


class ConnectionLostError(AccordError):
    """The connection to {partner} {problem}. {mend}"""

    exit_code = 8


class WithheldError(ConnectionLostError):
    """{lost} It ended after your matching records had been sent and before its own arrived, which counts as a
    wrong answer: the third closes the run."""


class WorkerError(AccordError):
    """Worker {number} of this run ended: {problem}. The other workers were stopped, too, on both sides."""

    exit_code = 13


class TooManyMatchesError(AccordError):
    """More than {most} of your records match, and the agreement lets {partner} see no more of them
    (most_matches). {shown} of them {were} shown, and none beyond; what was charged stands. Is {partner}'s
    table what you think it is? If so, agree on another bound; then both run `accord link`, which spends
    nothing under the same `snapshot=`. `accord forget` removes this run, which would end here again."""

    exit_code = 14
    ends = "most_matches"

    def __init__(self, *, most: int, shown: int, partner: str = "the partner") -> None:
        self.most, self.shown = most, shown
        were = "was" if shown == 1 else "were"
        super().__init__(
            most=f"{most:,}", shown=f"{shown:,}" if shown else "None", were=were, partner=partner
        )


class NoTableError(AccordError):
    """No table holds the values of this run: {reason}. This is chance in fewer than one of 10¹² runs. The run
    is closed: that another attempt succeeds would tell something of the values. Both run `accord link` again,
    which spends nothing under the same `snapshot=`. If that ends like this, the program is at fault."""

    exit_code = 17
    ends = "no_table"


NO_KEM = "The package cryptography has no ML-KEM: its OpenSSL is older than 3.5. Install its wheel."


class UnequalError(AccordError):
    """What the two sides computed is not the same: one of them computed something else than agreed. No match
    was shown, and the run is closed. If that was {partner}, it learned one bit about your records by it, and
    would learn another each time: do not run this again lightly. First see that both run the same version on
    sound machines."""

    exit_code = 18
    ends = "unequal"

    def __init__(self, *, partner: str = "the partner") -> None:
        super().__init__(partner=partner)


class UnfairError(UnequalError):
    """{partner} ended, or sent something else, in the one moment in which it knew more than your side: it may
    have all answers, or have learned one bit about your records. So the run is closed. A line that broke just
    then looks the same; but do not run this again lightly, since each time may give it as much."""


class TrustError(AccordError):
    """{problem} {mend}"""

    exit_code = 9


class StoppedError(AccordError):
    """{partner} stopped: {reason}. {mend}"""

    exit_code = 10

    def __init__(self, *, ends: Ending = "", **facts: object) -> None:
        """`ends`: what ended the run for good on the partner's side, and so on this one."""
        self.ends, self.reason = ends, facts.get("reason")
        # What is closed for good cannot be resumed: tried again, it would be a new run and a new charge.
        codes = {"most_matches": 14, "no_table": 17, "unequal": 18}
        self.exit_code = codes.get(ends, type(self).exit_code)
        super().__init__(**facts)


class OwnOlderStateError(StoppedError):
    """{partner} stopped: {reason}. Restore your latest copy with `accord state restore`. If there is none,
    count by hand what was spent since, and both of you run `accord partner acknowledge`."""

    exit_code = 19


RETRIED = frozenset({ConnectionLostError.exit_code, StoppedError.exit_code, WorkerError.exit_code})
"""After these exit codes the same command may succeed later; after all others somebody must look."""

INTERRUPTED = 130
"""The exit code of whoever was stopped by Ctrl-C."""


class InterruptedRunError(AccordError):
    """Stopped. The run {run} is kept, with what was done; continue with `accord resume {run}`."""

    exit_code = INTERRUPTED


class InterruptedEarlyError(AccordError):
    """Stopped. Nothing was charged."""

    exit_code = INTERRUPTED


class DeclinedError(AccordError):
    """You declined. Nothing was charged, and nothing from your table was sent."""

    exit_code = 10


class AuditError(AccordError):
    """{problem}"""

    exit_code = 12
