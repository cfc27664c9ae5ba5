"""A linkage between two organisations, from one's own side, from its request on; and again after a cut.

    1  read the agreement, the data and the cards; ask the ledger; ask the owner    nothing leaves
    2  connect                                                                      (connection.py)
    3  hellos: versions, sides, agreements                                          (handshake.py)
    4  the run is on disk; then both are ready: sizes                               (runs.py)
    5  charge: the noise is drawn or found, and the slots fixed: one transaction    (ledger.py)
    6  the protocol, step by step                                                   (protocols/linkage.py)
    7  write the output; sign the receipt                                           (receipt.py)

Here are 1 and 2; `stages.py` has the rest. What can be wrong on this side alone is found before anybody is
called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import UTC, datetime

from accord.agreement.document import Agreement
from accord.agreement.file import parse_agreement
from accord.arguments import wrong
from accord.entropy import Entropy, System
from accord.errors import DeclinedError, NotResumedError, StateError, UsageError
from accord.fields.columns import Records
from accord.fields.load import Loading, load_records
from accord.forecast.expected import look_ahead
from accord.forecast.room import warn_of_room
from accord.notices import Reading, Tell, tell_nobody
from accord.peer.channel import TlsChannel
from accord.peer.connection import open_channel
from accord.peer.handshake import WIRE
from accord.peer.identity import require_own_card, require_valid
from accord.peer.partners import find_partner, require_other
from accord.protocols.parts.own_side import require_size
from accord.protocols.parts.slots import table_digest
from accord.run.offer import Offer, make_offer
from accord.run.output import require_place
from accord.run.own_release import OwnRelease, name_table
from accord.run.request import Request, Resumption, request_again
from accord.run.stages import Cut, Kept, Linked, Ready, begin, go_on
from accord.secure.party import run
from accord.side import Side
from accord.spill import Scratch
from accord.state.folder import State
from accord.state.installation import find_placing_key
from accord.state.journal import StoredJournal
from accord.state.ledger import Ledger
from accord.state.manifest import Manifest
from accord.state.runs import StoredRun, find_unfinished, open_run
from accord.table.address import Address
from accord.table.sources.opening import find_place
from accord.workers.choice import WorkerSource, choose_workers
from accord.workers.pool import ProcessPool
from accord.workers.resources import Peak

__all__ = ["Linked", "get_ready", "link_request", "own_side", "reopen", "resume_run"]

Confirm = Callable[[Offer], bool]
_TOLD = 1 << 18
"""Rows after which it is told how many were read."""
_OTHER = "Name the data as it was, or start a new run."
_CHANGED = (
    "Rows of a database change: name the data as it was with `data=`, such as a copy in another table, or "
    "start a new run. A table that is copied before it is linked (CREATE TABLE … AS SELECT …) stays as it is."
)


def link_request(request: Request, state: State, confirm: Confirm, tell: Tell = tell_nobody) -> Linked:
    """Link as a request says."""
    output, way = request.output, request.reach
    side = own_side(request.agreement, request.partner)
    require_place(output, request.agreement, request.data, side)
    ledger = Ledger(state.store)
    with Peak() as peak:
        own = get_ready(request, state, tell)
        state.require_writable()
        state.require_whole()
        way.require_free()
        with _choose_workers(own) as chosen:
            _require_yes(confirm(_offer(own)))
            ledger.declare(own.ask("offer"))
            with (
                # The outer one: the partner hears why this side ends before its workers do.
                ProcessPool(chosen.wish, way, chosen.make) as pool,
                _open_channel(own, pool) as channel,
            ):
                return run(begin(replace(own, team=pool, peak=peak.read), channel), channel)


def resume_run(state: State, name: str, changes: Resumption, tell: Tell = tell_nobody) -> Linked:
    """Continue a run with what is named anew."""
    with (
        Peak() as peak,
        reopen(state, name, changes, tell) as (own, cut),
        _choose_workers(own) as chosen,
        ProcessPool(chosen.wish, own.request.reach, chosen.make) as pool,
        _open_channel(own, pool) as channel,
    ):
        return run(go_on(replace(own, team=pool, peak=peak.read), cut, channel), channel)


def _choose_workers(own: Ready) -> AbstractContextManager[WorkerSource]:
    asked = own.request.workers
    return choose_workers(asked.wanted, asked.trust_cluster, own.request.reach)


def _open_channel(own: Ready, pool: ProcessPool) -> AbstractContextManager[TlsChannel]:
    card = own.cards[own.side.other]
    return open_channel(own.request.reach, own.state, card, own.partner, own.tell, pool.port)


def _offer(own: Ready) -> Offer:
    """What the owner is asked to agree to."""
    ledger, agreement = Ledger(own.state.store), own.agreement
    unfinished = find_unfinished(own.state, own.partner, agreement.to_toml())
    outlook = look_ahead(agreement, own.side, own.records)
    folder, out = own.state.folder, own.request.output.target
    room = warn_of_room(agreement.task, own.side, own.records, folder, out)
    ask = own.ask("offer")
    return make_offer(agreement, own.side, own.records, ledger, ask, unfinished, room, outlook)


def _require_yes(answer: object) -> None:
    """Raise unless the owner agreed, in so many words: a text such as 'no' would count as a yes."""
    if not isinstance(answer, bool):
        raise wrong("confirm", answer, "a function that answers True or False")
    if not answer:
        raise DeclinedError


def own_side(agreement: Agreement, partner: str) -> Side:
    """The side that is not the partner's."""
    sides = [side for side in Side if agreement.party(side.other) == partner]
    if len(sides) == 1:
        return sides[0]
    names = f"{agreement.parties.A} and {agreement.parties.B}"
    raise UsageError(
        problem=f"`partner=` names one of the parties of the agreement, {names}, not '{partner}'."
    )


def get_ready(request: Request, state: State, tell: Tell, cut: StoredRun | None = None) -> Ready:
    """Everything that can be wrong on this side alone is found here, before anybody is called. `cut` is a run
    that was, which the request is of."""
    now, agreement, partner = datetime.now(UTC), request.agreement, request.partner
    account = Ledger(state.store).find_account(request.dataset)
    side = own_side(agreement, partner)
    task = agreement.task
    task.protocol.require_engine(task, agreement.engine.build())
    own_card = require_own_card(state, now)
    require_other(state, partner, agreement.party(side), own_card)
    cards = {side: own_card, side.other: find_partner(state, partner)}
    require_valid(cards[side.other], partner, now)
    entropy = System()
    # A run that is resumed has the ids that it began with.
    records = _load(request, side, state, tell, entropy if cut is None else None)
    require_size(records.size)
    task.protocol.refuse_records(task, side, records)
    coverage = task.protocol.coverage(task, side, records)
    uncovered = coverage.count
    if cut is None:
        request.require_covered(coverage, records.size)
    snapshot = name_table(request.snapshot, task, side, records)
    release = task.protocol.release(task, side, records.size)
    own = OwnRelease(task, side, records, release, entropy, snapshot)
    # Here, where no partner can measure how long it takes.
    table_digest(records)
    ready = Ready(state, request, account, side, cards, records, uncovered, own, entropy, tell)
    if not task.protocol.places:
        return ready
    return replace(ready, placing_key=find_placing_key(state.store, entropy.stream("placing key")))


def _load(request: Request, side: Side, state: State, tell: Tell, entropy: Entropy | None) -> Records:
    """The table of a request; with a source of randomness, rows without an id get one if they are made."""
    agreement, watch = request.agreement, _Watch(tell)
    per_person = agreement.protocol.records_per_person(agreement.task, side)
    own = agreement.fields, agreement.salt, agreement.kept_columns(side), request.layout, per_person
    how = Loading(
        scratch=Scratch(state.folder, "Make room there; nothing was charged."),
        watch=watch,
        entropy=entropy,
    )
    records = load_records(request.data, *own, how)
    if watch.told:
        tell(Reading(watch.rows, done=True))
    return records


class _Watch:
    """Tells how many rows were read, now and then."""

    def __init__(self, tell: Tell) -> None:
        self._tell, self.rows, self.told = tell, 0, 0

    def __call__(self, rows: int) -> None:
        self.rows = rows
        if rows // _TOLD > self.told:
            self.told = rows // _TOLD
            self._tell(Reading(rows))


@contextmanager
def reopen(
    state: State, name: str, changes: Resumption | None = None, tell: Tell = tell_nobody
) -> Iterator[tuple[Ready, Cut]]:
    """A run that was cut, locked, if data, slots and ledger still fit each other."""
    state.require_whole()
    found = open_run(state, name)
    found.require_open()
    known = found.manifest
    if known.wire != WIRE:
        raise NotResumedError(
            problem=f"The run {name} was begun with another version of Accord, which has other steps. Both "
            "start again with `accord link`, which counts as a run."
        )
    agreement = parse_agreement(known.agreement, f"The agreement of the run {name}")
    request = request_again(known, agreement, changes or Resumption())
    output = request.output
    # It may have been written before the run was cut.
    wrote = output.target is not None and output.settled == known.replaces
    require_place(output, agreement, request.data, Side(known.side), wrote)
    with found.lock():
        journal = found.open_journal()
        journal.require_whole()
        own = get_ready(request, state, tell, found)
        _require_same_table(own, known)
        yield own, Cut(found, journal, _recall(own, found, journal))


def _recall(own: Ready, run: StoredRun, journal: StoredJournal) -> Kept | None:
    """What is kept of a run that was charged; None of one that was not."""
    if not run.charged:
        return None
    slots, charged = run.slots(), Ledger(own.state.store).recall(own.ask(run.manifest.run))
    if not own.release.holds(slots, charged.noise):
        raise _unfit(own.state)
    return Kept(run, own.mine(slots, run.manifest.partner_records), journal, charged.cost)


def _require_same_table(own: Ready, known: Manifest) -> None:
    """The data must be what the run began with: its slots point into that very table."""
    if table_digest(own.records).hex() != known.table:
        data = own.request.data
        raise StateError(
            path=own.state.run(known.run),
            reason="your data is not what the run began with",
            mend=_CHANGED if isinstance(find_place(data), Address) else _OTHER,
        )


def _unfit(state: State) -> StateError:
    """What the run holds and what the ledger keeps are not of the same day."""
    reason, mend = "the run's slots and the ledger do not belong together", "Restore both from the same copy"
    return StateError(path=state.folder, reason=reason, mend=f"{mend}, or start a new run.")
