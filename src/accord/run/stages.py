"""The course of a run from the first hello to the receipt, as a party: it sees no socket.

    begin    hellos; the run on disk; sizes; charge and slots; the protocol; output; receipt
    go_on    hellos with the kept commitments and the number of kept steps; the rest of the protocol; …

What has to be found out before anybody is called is in `link.py`; what carries the messages is a channel over
TLS there and may be anything else that drives a party. The invariant: what was not charged and stored has not
been sent. After the last step of the journal nothing is secret from the partner that it does not have, so
confirmation, output and receipt are simply done again after a cut, until both sides have the receipt. Of an
intersection only these are done again: asked anew, it would be a second set of questions in one run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Protocol

import pyarrow as pa

from accord.agreement.document import Agreement
from accord.entropy import Entropy
from accord.errors import (
    Ending,
    NoTableError,
    NotResumedError,
    PeerError,
    RefusedError,
    StoppedError,
    TooManyMatchesError,
    UnequalError,
    UnsureOutputError,
    WithheldError,
)
from accord.fields.columns import Records
from accord.forecast.room import most_slots, require_room
from accord.notices import Tell
from accord.peer.channel import NOTHING_CHARGED
from accord.peer.handshake import (
    NO_COMMITMENTS,
    NO_RUN,
    NONCE,
    WIRE,
    Hello,
    exchange_sizes,
    exchange_standings,
    greet,
    require_same_run,
    run_name,
)
from accord.peer.identity import Card
from accord.privacy.events import Cost, Event
from accord.protocols.linkage import refuse_attempt
from accord.protocols.parts.outcome import Outcome
from accord.protocols.parts.own_side import OwnSide, Status
from accord.protocols.parts.priorities import priorities
from accord.protocols.parts.pseudonyms import under_pseudonyms
from accord.protocols.parts.slots import Slots, commitments, table_digest
from accord.run import receipt
from accord.run.interrupts import hold_interrupts
from accord.run.output import arrange_output, output_names
from accord.run.own_release import OwnRelease
from accord.run.progress import progress_of
from accord.run.receipt import Statement
from accord.run.request import Request, store
from accord.run.result import Linked as Linked
from accord.run.result import charge_notice, done
from accord.secure.party import Party
from accord.side import Side
from accord.state.folder import State
from accord.state.journal import StoredJournal
from accord.state.ledger import Ask, Charge, Ledger, RunParts
from accord.state.manifest import Manifest
from accord.state.runs import StoredRun, begin_run, fix_run, open_run
from accord.state.witness import Standing, own_standing, remembered_standing, settle_loss, witness
from accord.table.pairs import PairTable
from accord.table.sinks.targets import Target, require_free, settled, write_pairs
from accord.version import __version__
from accord.workers.connections import PartnerConnection
from accord.workers.pool import NoWorkers, WorkerPool, WorkOrder
from accord.workers.resources import expected_seconds, held_bytes


class RunConnection(PartnerConnection, Protocol):
    """What a run asks its connection, and tells it."""

    sent: int
    received: int

    @property
    def seconds(self) -> float:
        """How long the connection has lasted."""

    def started(self, run: str, once: bool = False) -> None:
        """From now on there is something to go on with; if it goes on at all, of a run that asks `once`."""

    def expect(self, seconds: float) -> None:
        """The step that begins should take the partner so long."""

    def close(self) -> None:
        """Send what waits, and end; again if need be."""


@dataclass(frozen=True)
class Ready:
    """One side of a run: everything that is known before the partner is there."""

    state: State
    request: Request
    account: str
    """In its owner's spelling."""
    side: Side
    cards: dict[Side, Card]
    records: Records
    """Those that take part."""
    uncovered: int
    """For how many of them the promise does not hold. It stays on this side."""
    release: OwnRelease
    entropy: Entropy
    tell: Tell
    placing_key: bytes | None = field(default=None, repr=False)
    """Of this installation, where the protocol places records."""
    team: WorkerPool = field(default_factory=NoWorkers)
    """Who compares."""
    peak: Callable[[], int] = held_bytes
    """The most memory that this process has held."""

    @property
    def agreement(self) -> Agreement:
        return self.request.agreement

    @property
    def partner(self) -> str:
        return self.request.partner

    @property
    def event(self) -> Event:
        return self.release.event

    @property
    def standing(self) -> Standing:
        """What this side states of its runs with the partner."""
        return own_standing(self.state, self.partner, self.agreement.party(self.side))

    @property
    def remembered(self) -> Standing:
        """What the partner stated last."""
        return remembered_standing(self.state, self.partner, self.agreement.party(self.side))

    def hear(self, told: Standing, before: Standing) -> None:
        """Remember what the partner states; raises if it stated more `before` it spoke."""
        witness(self.state, self.partner, self.agreement.party(self.side), told, before)

    def ask(self, run: str) -> Ask:
        """The question to the ledger."""
        digest = bytes.fromhex(self.agreement.digest)
        release, snapshot = self.release.release, self.release.snapshot
        return Ask(
            *(run, self.account, self.partner, digest, release.place, self.event, snapshot),
            uncovered=self.uncovered,
            own=self.agreement.party(self.side),
        )

    def mine(self, slots: Slots, partner_size: int) -> OwnSide:
        """My side of a run whose slots are fixed."""
        task = self.agreement.task
        padding = task.protocol.padding(task, self.side.other, partner_size)
        records = self.records
        if self.agreement.output.ids == "pseudonyms":
            records = under_pseudonyms(records, slots.key)
        # By the ids of the table: a pseudonym is new in every run.
        key = self.placing_key
        priority = None if key is None else priorities(key, self.records.ids)
        own = self.side, records, partner_size, slots, self.entropy, (self.event,), padding
        return OwnSide(*own, priority=priority)


@dataclass(frozen=True)
class Kept:
    """A run that is on disk; its folder is locked."""

    run: StoredRun
    mine: OwnSide
    journal: StoredJournal
    charged: Cost | None


@dataclass(frozen=True)
class Cut:
    """A run that was cut; its folder is locked."""

    run: StoredRun
    journal: StoredJournal
    kept: Kept | None
    """None where it was cut before it was charged."""


def begin(own: Ready, line: RunConnection) -> Party[Linked]:
    """A new run."""
    digest = bytes.fromhex(own.agreement.digest)
    hello = Hello(own.side, digest, own.entropy.bytes(NONCE), wish=own.team.wish, standing=own.standing)
    before = own.remembered
    other = yield from greet(hello, own.agreement, first=bool(own.request.reach.listen))
    require_same_run(hello, other, own.partner)
    own.hear(other.standing, before)
    name = run_name(hello, other)
    with hold_interrupts():
        run = begin_run(own.state, _manifest(own, name))
        line.started(name, once=not own.agreement.protocol.compares)
    with run.lock():
        journal = run.open_journal()
        try:
            kept = yield from _charge(own, run, journal)
        except (PeerError, RefusedError, StoppedError) as error:
            # A partner that stops, or says something else than its size, has not been charged either.
            run.abandon()
            line.started(NO_RUN)
            if isinstance(error, StoppedError):
                facts = {"partner": own.partner, "reason": error.reason, "mend": NOTHING_CHARGED}
                raise type(error)(ends=error.ends, **facts) from None
            raise
        return (yield from _judge(own, kept, line, other))


def go_on(own: Ready, cut: Cut, line: RunConnection) -> Party[Linked]:
    """A run that was cut."""
    run, journal, kept = cut.run, cut.journal, cut.kept
    name = run.manifest.run
    line.started(name, once=not own.agreement.protocol.compares)
    hello = Hello(
        own.side,
        bytes.fromhex(own.agreement.digest),
        own.entropy.bytes(NONCE),
        name,
        journal.steps,
        NO_COMMITMENTS if kept is None else commitments(kept.mine.slots, own.side),
        wish=own.team.wish,
        standing=own.standing,
    )
    before = own.remembered
    other = yield from greet(hello, own.agreement, first=bool(own.request.reach.listen))
    require_same_run(hello, other, own.partner)
    own.hear(other.standing, before)
    first = journal.first()
    if first is not None and first != other.commitments:
        raise PeerError(problem="commitments to a table other than the one it began this run with")
    protocol, task = own.agreement.protocol, own.agreement.task
    steps, resumes = (journal.steps, other.steps), run.manifest.resumes
    engine = own.agreement.engine.build()
    problem = protocol.refuse_resume(task, *steps, resumes) or refuse_attempt(engine, min(steps), resumes)
    if problem:
        run.change(ended="cut")
        raise NotResumedError(problem=problem)
    journal.meet(other.steps, protocol.steps_at_once(task), protocol.made_anew(task, min(steps)))
    if kept is None:
        kept = yield from _charge(own, run, journal)
    elif other.commitments == NO_COMMITMENTS:
        size = yield from exchange_sizes(own.records.size, own.partner)
        if size != kept.mine.partner_size:
            raise PeerError(problem="a size other than the one that it announced before")
    kept.run.change(resumes=kept.run.manifest.resumes + 1)
    return (yield from _judge(own, kept, line, other))


def _charge(own: Ready, run: StoredRun, journal: StoredJournal) -> Party[Kept]:
    """Say that this side is ready, and hear it from the partner, which is then to be found here and there
    should either be cut off; charge the run, and fix my side of it with the noise that is kept, on disk as
    one."""
    size = yield from exchange_sizes(own.records.size, own.partner)
    require_room(own.agreement.task, own.side, own.partner, own.records.size, size)
    fixed: list[OwnSide] = []

    def fix(charge: Charge) -> RunParts:
        slots = own.release.fix(charge.noise)
        fixed.append(own.mine(slots, size))
        return fix_run(size, slots)

    name = run.manifest.run
    with hold_interrupts():
        charged = Ledger(own.state.store).charge(own.ask(name), own.release.draw, datetime.now(UTC), fix).cost
    own.tell(charge_notice(name, charged))
    return Kept(open_run(own.state, name), fixed[0], journal, charged)


def _manifest(own: Ready, name: str) -> Manifest:
    output = own.request.output
    return Manifest(
        run=name,
        partner=own.partner,
        side=own.side.value,
        dataset=own.account,
        agreement=own.agreement.to_toml(),
        records=own.records.size,
        partner_records=0,
        table=table_digest(own.records).hex(),
        began=datetime.now(UTC).isoformat(timespec="seconds"),
        request=store(own.request),
        wire=WIRE,
        replaces=output.settled if output.replaces else "",
    )


def _judge(own: Ready, kept: Kept, line: RunConnection, other: Hello) -> Party[Linked]:
    """The rest of the run; what the partner says wrongly in it, or withholds, is counted."""
    try:
        try:
            return (yield from _finish(own, kept, line, other))
        except StoppedError as error:
            if error.ends not in ("", *_endings(own)):
                raise PeerError(problem=f"a reason for which this run cannot end: {error.reason}") from None
            raise
    except PeerError as error:
        kept.run.refuse(error.problem)
        raise
    except WithheldError:
        kept.run.refuse("nothing where its matching records were due")
        raise
    except (TooManyMatchesError, NoTableError, UnequalError, StoppedError) as error:
        if error.ends:
            kept.run.change(ended=error.ends)
        raise


def _endings(own: Ready) -> Iterator[Ending]:
    """By what the partner can have ended the run for good."""
    agreement, task = own.agreement, own.agreement.task
    if own.side.other in task.most_matches:
        yield "most_matches"
    if not (task.protocol.lists_bins and task.protocol.compares):
        yield "no_table"
    if agreement.engine.name == "dual":
        yield "unequal"


def _finish(own: Ready, kept: Kept, line: RunConnection, other: Hello) -> Party[Linked]:
    """What each side states now that both are charged; the protocol, the output and the receipt."""
    own.hear((yield from exchange_standings(own.standing)), other.standing)
    settle_loss(own.state, own.partner)

    def watch(status: Status) -> None:
        own.tell(progress_of(status, line, own.team.figures()))

    agreement, task = own.agreement, own.agreement.task
    theirs = most_slots(task, own.side.other, kept.mine.partner_size)
    slots = own.records.size + len(kept.mine.slots.record) + theirs

    def expect(comparisons: int, clear: int) -> None:
        seconds = expected_seconds(agreement.engine.name, comparisons, clear, slots)
        line.expect(seconds)
        own.team.expect(seconds)

    order = WorkOrder(agreement, own.side, own.request.reach, own.tell)
    staff = own.team.comparers(order, line, other.wish)
    mine = replace(
        kept.mine, journal=kept.journal, scratch=kept.run.scratch, staff=staff, watch=watch, expect=expect,
        traffic=lambda: line.sent + line.received + own.team.figures().traffic,
    )  # fmt: skip
    expect(0, 0)
    party = task.protocol.party(task, mine, agreement.engine.build())
    outcome = yield from party
    figures = own.team.figures()
    alone = agreement.output.learner is not None
    if alone:
        # First, and then no connection is left: how long it takes to open and to write what was found, and
        # whether it can be done, is not for the partner to see.
        yield from _sign(own, kept, outcome, mine.traffic)
        own.team.end()
        line.close()
        outcome = outcome if outcome.unseal is None else outcome.unseal()
        kept.run.change(matches=len(outcome.pairs) if agreement.output.learner is own.side else None)
    found, out = arrange_output(agreement, own.records, mine.records.ids, outcome), own.request.output.target
    if out is not None and agreement.output.learner is not own.side.other:
        _write(own, kept, out, found if outcome.answer is None else outcome.answer.table())
    if not alone:
        yield from _sign(own, kept, outcome, mine.traffic)
    linked = Linked(
        run=kept.run.manifest.run,
        found=found,
        matches_found=outcome.matches_found,
        comparisons=outcome.comparisons,
        bytes=mine.traffic(),
        seconds=line.seconds,
        cost=own.event.cost,
        charged=kept.charged,
        receipt=kept.run.receipt,
        out=out,
        answer=outcome.answer,
        learns=outcome.answer is None and agreement.output.learner is not own.side.other,
    )
    own.tell(done(linked, (own.peak(), *figures.peaks)))
    return linked


def _write(own: Ready, kept: Kept, out: Target, found: PairTable | pa.Table) -> None:
    """The output; it is the run's own from now on, to be replaced when the end is done again."""
    output = own.request.output
    where, before = settled(out), kept.run.manifest.replaces
    wrote = where == before
    if not (wrote or output.replaces):
        require_free(out, (), output_names(own.agreement, own.side), force=False)
        # First: a run that is killed just after it wrote must know its output again.
        kept.run.change(replaces=where)
    try:
        write_pairs(found, out, raw=output.raw, force=output.force, own=wrote)
    except UnsureOutputError:
        raise
    except BaseException:
        kept.run.change(replaces=before)
        raise


def _sign(own: Ready, kept: Kept, outcome: Outcome, traffic: Callable[[], int]) -> Party[None]:
    """Exchange the last numbers and the signatures, and keep the receipt with the key of its digest."""
    now = max(0, int(datetime.now(UTC).timestamp()))
    mine = Statement(own.records.size, int(kept.mine.slots.counts.sum()), __version__, now)
    theirs = yield from receipt.exchange_statements(mine, outcome.partner_size, outcome.partner_slots)
    statements = {own.side: mine, own.side.other: theirs}
    body = receipt.facts(own.agreement, kept.run.manifest.run, outcome, statements, own.cards)
    content = yield from receipt.exchange_signatures(own.state, own.side, own.cards, body)
    kept.run.keep_receipt(content, outcome, traffic())
