"""A linkage between two organisations, from one's own side: `link`, and `resume` after a cut.

    1  read the agreement, the data and the cards; ask the ledger; ask the owner    nothing leaves
    2  connect                                                                      (connection.py)
    3  hellos: versions, sides, agreements; then both are ready: sizes              (handshake.py)
    4  charge: the noise is drawn or found, and is on disk                          (ledger.py)
    5  fix the slots, on disk                                                       (runs.py)
    6  the protocol, step by step                                                   (protocols/linkage.py)
    7  write the output; sign the receipt                                           (receipt.py)

Here are 1 and 2; `stages.py` has the rest. What can be wrong on this side alone is found before anybody is
called.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from accord.agreement.document import Agreement
from accord.agreement.file import parse_agreement
from accord.arguments import as_path_or_none, require, require_flag, require_function, require_text, wrong
from accord.entropy import System
from accord.errors import DeclinedError, StateError, UsageError
from accord.fields.columns import Records
from accord.fields.load import load_records
from accord.forecast.expected import look_ahead
from accord.forecast.room import warn_of_room
from accord.notices import Mended, Reading, Tell, tell_nobody
from accord.peer.channel import TlsChannel
from accord.peer.connection import Reach, open_channel
from accord.peer.identity import require_own_card, require_valid
from accord.peer.partners import find_partner, require_other
from accord.protocols.mine import require_size
from accord.protocols.slots import Slots, table_digest
from accord.run.offer import Offer, make_offer
from accord.run.output import require_ids, require_place
from accord.run.request import Output, Part, Request, Resumption, WorkerChoice, read_request
from accord.run.series import go_on_with, take_up
from accord.run.stages import Kept, Linked, Ready, begin, go_on
from accord.run.standing import OwnStanding, OwnTable, name_table
from accord.secure.party import run
from accord.side import Side
from accord.spill import Scratch
from accord.state.folder import State, open_state
from accord.state.ledger import Ledger
from accord.state.runs import Manifest, RunFolder, find_unfinished, open_run
from accord.table.address import Address
from accord.table.layout import Layout
from accord.table.sinks.targets import Target, as_target_or_none
from accord.table.sources.opening import TableLike, find_place, require_table
from accord.table.sources.query import Query
from accord.workers.choice import WorkerSource, choose_workers
from accord.workers.pool import ProcessPool
from accord.workers.resources import Peak

__all__ = ["Linked", "get_ready", "link", "link_request", "own_side", "reopen", "resume"]

Confirm = Callable[[Offer], bool]
_TOLD = 1 << 18
"""Rows after which it is told how many were read."""
_OTHER = "Name the data as it was, or start a new run."
_CHANGED = (
    "Rows of a database change: name the data as it was with `data=`, such as a copy in another table, or "
    "start a new run. A table that is copied before it is linked (CREATE TABLE … AS SELECT …) stays as it is."
)


def link(
    data: TableLike,
    agreement: Agreement,
    *,
    partner: str,
    confirm: Confirm,
    listen: str = "",
    connect: str = "",
    out: Target | str | None = None,
    dataset: str | None = None,
    snapshot: str | None = None,
    layout: Layout | None = None,
    state: Path | str | None = None,
    force: bool = False,
    tell: Tell = tell_nobody,
    reach: Reach | None = None,
    raw: bool = False,
    workers: int | str | None = None,
    trust_cluster: bool = False,
    series: str | None = None,
    unchanged_only: bool = False,
    mostly_new: bool = False,
    let_wait: bool = False,
) -> Linked:
    """Link your own table (a file, or anything that speaks Arrow) with the partner's.

    `partner` is the other party, as the agreement names it and as its card was added. One side listens at
    HOST:PORT, the other connects there. The pairs are returned, and written to `out` if that is given: a file
    (.csv, .parquet, .arrow) or a table, such as 'duckdb:FILE?table=NAME'. The account that is charged is
    `dataset`, one that its owner has made with `set_budget`; by default the only one. `snapshot` says that
    this is the table as of that name: its noise is drawn and paid for once, and repeated in later runs under
    the name; without one every run is paid for. `layout` says how the file is laid out; `state` is the folder
    of identity, ledger and runs, if not the usual one. A file or a table that is already there is replaced
    only with `force`. `tell` is called with what happens, in this thread; `reach` says how long to wait. In a
    csv, cells that a spreadsheet would take for formulas get a quote in front, unless `raw` is set. `workers`
    processes share the comparisons, as many as the side that wants fewer allows; by default one, and from ten
    million comparisons on one for each core. They may be on your Ray cluster: "ray", "ray://HOST:PORT",
    "8@ray" for at most eight; one that lets anybody in is refused, unless you vouch for it with
    `trust_cluster`. `series` names the series of runs that this one begins or continues, if the agreement
    declares one: give the whole table as it is now, and only what is new in it is compared; with
    `unchanged_only`, records that changed since they were first linked no longer take part. A table most of
    which is gone and most of which is new is refused, since its ids may have been renumbered, unless you say
    that it is `mostly_new`; so are more arrivals than declared, unless you `let_wait` those in excess, who
    are then not covered by (ε, δ).

    `confirm` decides whether to spend what the offer says: `accord.ask` shows it to a person at a terminal,
    `accord.agree` says yes to whatever it is, for scripts; or any function of the `Offer`. Nothing is sent
    before it has been asked. Raises an `AccordError`; if it names a run, `resume` can continue that run.
    """
    said = {"unchanged_only": unchanged_only, "mostly_new": mostly_new, "let_wait": let_wait}
    for flag, value in said.items():
        require_flag(flag, value)
    if series is None and any(said.values()):
        named = next(f"`{flag}=`" for flag, value in said.items() if value)
        raise UsageError(problem=f"{named} is about a series: name it with `series=`, or leave it out.")
    request = Request(
        data=data,
        agreement=agreement,
        partner=partner,
        dataset=dataset,
        layout=layout or Layout(),
        snapshot=snapshot,
        series=None if series is None else Part(series, **said),
        output=Output(as_target_or_none("out", out), raw, force),
        reach=_way(reach, listen, connect),
        workers=WorkerChoice(workers, trust_cluster),
    )
    require_function("confirm", confirm, "a function of an Offer, such as accord.ask or accord.agree")
    require_function("tell", tell, "a function of a Notice")
    return link_request(request, open_state(as_path_or_none("state", state), os.environ), confirm, tell)


def link_request(request: Request, state: State, confirm: Confirm, tell: Tell = tell_nobody) -> Linked:
    """Link as a request says."""
    output, way = request.output, request.reach
    require_place(output.target, request.agreement, request.data, request.layout, output.force)
    ledger = Ledger(state.ledger)
    ledger.find_account(request.dataset)
    with Peak() as peak:
        own = get_ready(request, state, tell)
        require_ids(output.target, own.agreement, {own.side: own.records}, output.force)
        state.require_writable()
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


def resume(
    name: str,
    *,
    data: TableLike | None = None,
    listen: str = "",
    connect: str = "",
    out: Target | str | None = None,
    state: Path | str | None = None,
    force: bool = False,
    tell: Tell = tell_nobody,
    reach: Reach | None = None,
    raw: bool = False,
    workers: int | str | None = None,
    trust_cluster: bool = False,
) -> Linked:
    """Continue an interrupted run: same noise, same slots, fresh masks, no second charge.

    What is not named stays as it was; either side may listen. The data must be what the run began with. A
    finished run can be resumed, too, for a partner that was interrupted before it had the receipt; an
    intersection can be resumed only for that. Parameters and errors are those of `link`.
    """
    require_text("name", name)
    if data is not None:
        require_table("data", data)
    require_function("tell", tell, "a function of a Notice")
    changes = Resumption(
        data=data,
        output=Output(as_target_or_none("out", out), raw, force),
        reach=_way(reach, listen, connect),
        workers=WorkerChoice(workers, trust_cluster),
    )
    opened = open_state(as_path_or_none("state", state), os.environ, new=False)
    with (
        Peak() as peak,
        reopen(opened, name, changes, tell) as (own, kept),
        _choose_workers(own) as chosen,
        ProcessPool(chosen.wish, own.request.reach, chosen.make) as pool,
        _open_channel(own, pool) as channel,
    ):
        return run(go_on(replace(own, team=pool, peak=peak.read), kept, channel), channel)


def _way(reach: object, listen: str, connect: str) -> Reach:
    """How to come to the partner."""
    if reach is not None:
        require("reach", reach, "a Reach", Reach)
    given = reach if isinstance(reach, Reach) else Reach()
    return replace(given, listen=listen, connect=connect)


def _choose_workers(own: Ready) -> AbstractContextManager[WorkerSource]:
    asked = own.request.workers
    return choose_workers(asked.wanted, asked.trust_cluster, own.request.reach, own.agreement.accountable)


def _open_channel(own: Ready, pool: ProcessPool) -> AbstractContextManager[TlsChannel]:
    card = own.cards[own.side.other]
    return open_channel(own.request.reach, own.state, card, own.partner, own.tell, pool.port)


def _offer(own: Ready) -> Offer:
    """What the owner is asked to agree to."""
    ledger, agreement = Ledger(own.state.ledger), own.agreement
    unfinished = find_unfinished(own.state, own.partner, agreement.to_toml())
    # Of a later run of a series the partner's batches are not known yet, nor what they come to.
    first = own.standing.first
    outlook = look_ahead(agreement, own.side, own.records, own.state.folder) if first else None
    record = 0 if outlook is None else outlook.record
    folder, out = own.state.folder, own.request.output.target
    room = warn_of_room(agreement.task, own.side, own.records, folder, out, record)
    ask = own.ask("offer")
    offer = make_offer(agreement, own.side, own.records, ledger, ask, unfinished, room, outlook)
    return own.standing.offered(offer)


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


def get_ready(request: Request, state: State, tell: Tell, cut: RunFolder | None = None) -> Ready:
    """Everything that can be wrong on this side alone is found here, before anybody is called. `cut` is a run
    that was, which the request is of."""
    now, agreement, partner = datetime.now(UTC), request.agreement, request.partner
    account = Ledger(state.ledger).find_account(request.dataset)
    side = own_side(agreement, partner)
    task = agreement.task
    task.protocol.require_engine(task, agreement.engine.build())
    own_card = require_own_card(state, now)
    require_other(state, partner, agreement.party(side), own_card)
    cards = {side: own_card, side.other: find_partner(state, partner)}
    require_valid(cards[side.other], partner, now)
    records, entropy = _load(request, side, state, tell), System()
    require_size(records.size)
    release = task.protocol.release(task, side, records.size)
    standing: OwnStanding
    if request.series is None:
        snapshot = name_table(request.snapshot, task, side, records)
        standing = OwnTable(task, side, records, release, entropy, snapshot)
    else:
        own = agreement, request.series, records, release, entropy
        standing = go_on_with(state, account, *own) if cut is None else take_up(state, cut, *own)
        records = standing.entered.records
    # Here, where no partner can measure how long it takes.
    table_digest(records)
    return Ready(state, request, account, side, cards, records, release, standing, entropy, tell)


def _load(request: Request, side: Side, state: State, tell: Tell) -> Records:
    """The table of a request."""
    agreement, watch = request.agreement, _Watch(tell)
    per_person = agreement.protocol.records_per_person(side)
    own = agreement.fields, agreement.salt, agreement.disclosed(side), request.layout, per_person
    records = load_records(
        request.data,
        *own,
        scratch=Scratch(state.folder, "Make room there; nothing was charged."),
        watch=watch,
        # So that whoever extracts the table again, in whatever order, has the table that was committed to.
        by_id=agreement.accountable,
        keep_people=request.series is not None and (per_person or 1) > 1,
    )
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
) -> Iterator[tuple[Ready, Kept]]:
    """A run that was cut, locked, if data, slots and ledger still fit each other."""
    found = open_run(state, name)
    found.require_open()
    known = found.manifest
    agreement = parse_agreement(known.agreement, f"The agreement of the run {name}")
    request = read_request(found).again(name, agreement, known.partner, known.dataset, changes)
    output = request.output
    # It may have been written before the run was cut.
    wrote = output.target is not None and output.settled == known.replaces
    may_replace = output.force or wrote
    require_place(output.target, agreement, request.data, request.layout, may_replace, wrote)
    with found.lock():
        own = get_ready(request, state, tell, found)
        require_ids(output.target, agreement, {own.side: own.records}, may_replace)
        slots = found.slots()
        _require_same_table(own, known, slots)

        def draw() -> NDArray[np.int64]:
            # The noise of this run is in its slots: a ledger that does not know it may not draw another.
            raise _unfit(state)

        charged = Ledger(state.ledger).charge(own.ask(name), draw, datetime.now(UTC))
        if not own.standing.holds(slots, charged.noise):
            raise _unfit(state)
        with closing(found.open_journal()) as journal:
            if journal.torn:
                tell(Mended(name, journal.steps + 1))
            mine = own.mine(slots, known.partner_records, own.standing.rejoin(known))
            yield own, Kept(found, mine, journal, charged.cost)


def _require_same_table(own: Ready, known: Manifest, slots: Slots) -> None:
    """The data must be what the run began with: its slots point into that very table."""
    if table_digest(own.records) != slots.table or slots.table.hex() != known.table:
        data = own.request.data
        raise StateError(
            path=own.state.run(known.run),
            reason="your data is not what the run began with",
            mend=_CHANGED if isinstance(find_place(data) or data, Address | Query) else _OTHER,
        )


def _unfit(state: State) -> StateError:
    """What the run holds and what the ledger keeps are not of the same day."""
    reason, mend = "the run's slots and the ledger do not belong together", "Restore both from the same copy"
    return StateError(path=state.folder, reason=reason, mend=f"{mend}, or start a new run.")
