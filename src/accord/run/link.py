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
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from accord.agreement.document import Agreement
from accord.agreement.file import parse_agreement, require_sound
from accord.arguments import (
    as_path_or_none,
    require,
    require_flag,
    require_function,
    require_text,
    require_text_or_none,
    wrong,
)
from accord.entropy import System
from accord.errors import DeclinedError, UsageError
from accord.fields.load import load_records
from accord.forecast.expected import look_ahead
from accord.forecast.room import warn_of_room
from accord.notices import Mended, Reading, Tell, tell_nobody
from accord.peer.connection import Reach, open_channel
from accord.peer.identity import require_own_card, require_valid
from accord.peer.partners import find_partner, require_other
from accord.protocols.mine import require_size
from accord.protocols.slots import table_digest
from accord.run.fitting import name_table, require_same_noise, require_same_table, unfit
from accord.run.offer import Offer, make_offer
from accord.run.output import require_ids, require_place
from accord.run.series import require_declared, take_part
from accord.run.series_table import Part
from accord.run.stages import Kept, Linked, Ready, begin, go_on
from accord.secure.party import run
from accord.side import Side
from accord.spill import Scratch
from accord.state.folder import State, open_state
from accord.state.ledger import Ledger
from accord.state.runs import RunFolder, find_unfinished, open_run
from accord.table.layout import Layout
from accord.table.sinks.targets import Target, as_target_or_none, settled
from accord.table.sources.opening import TableLike, require_table
from accord.workers.choice import choose_workers, require_workers
from accord.workers.pool import ProcessPool
from accord.workers.resources import Peak

__all__ = ["Linked", "get_ready", "link", "own_side", "reopen", "resume"]

Confirm = Callable[[Offer], bool]
_TOLD = 1 << 18
"""Rows after which it is told how many were read."""


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
    _require_kinds(data, agreement, partner, confirm, dataset, snapshot, layout)
    require_text_or_none("series", series, "monthly")
    for flag, value in (
        ("unchanged_only", unchanged_only),
        ("mostly_new", mostly_new),
        ("let_wait", let_wait),
    ):
        require_flag(flag, value)
    require_sound(agreement)
    require_declared(agreement, series, snapshot)
    if layout is not None:
        layout.require_known(agreement.names, agreement.lists)
    out, state = _judge_common(out, state, force, tell, reach, raw)
    wanted = require_workers(workers, trust_cluster)
    way = replace(reach or Reach(), listen=listen, connect=connect).require_way()
    opened = open_state(state, os.environ)
    require_place(out, agreement, data, layout or Layout(), force)
    account = Ledger(opened.ledger).find_account(dataset)
    with Peak() as peak:
        place = opened, agreement, partner, data, layout or Layout(), account, snapshot
        part = None if series is None else Part(series, unchanged_only, mostly_new, let_wait)
        own = get_ready(*place, out, way, tell, raw, force, part)
        require_ids(out, agreement, {own.side: own.records}, force)
        opened.require_writable()
        way.require_free()
        card = own.cards[own.side.other]
        with choose_workers(wanted, trust_cluster, way, agreement.accountable) as chosen:
            _require_yes(confirm(_offer(own)))
            Ledger(opened.ledger).declare(own.ask("offer"))
            with (
                # The outer one: the partner hears why this side ends before its workers do.
                ProcessPool(chosen.wish, way, chosen.make) as pool,
                open_channel(way, opened, card, own.partner, tell, pool.port) as channel,
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
    out, state = _judge_common(out, state, force, tell, reach, raw)
    wanted = require_workers(workers, trust_cluster)
    opened = open_state(state, os.environ, new=False)
    way = replace(reach or Reach(), listen=listen, connect=connect)
    with (
        Peak() as peak,
        reopen(opened, name, data, out, way, tell, raw, force) as (own, kept),
        choose_workers(wanted, trust_cluster, own.reach, own.agreement.accountable) as chosen,
        ProcessPool(chosen.wish, own.reach, chosen.make) as pool,
        open_channel(own.reach, opened, own.cards[own.side.other], own.partner, tell, pool.port) as channel,
    ):
        return run(go_on(replace(own, team=pool, peak=peak.read), kept, channel), channel)


def _require_kinds(
    data: object,
    agreement: object,
    partner: object,
    confirm: object,
    dataset: object,
    snapshot: object,
    layout: object,
) -> None:
    """Raise for an argument that only `link` has and that is of a wrong kind."""
    require_table("data", data)
    require("agreement", agreement, "an Agreement, such as accord.read_agreement(PATH) gives", Agreement)
    require_text("partner", partner)
    require_function("confirm", confirm, "a function of an Offer, such as accord.ask or accord.agree")
    require_text_or_none("dataset", dataset)
    require_text_or_none("snapshot", snapshot, "2026-11")
    if layout is not None:
        require("layout", layout, "a Layout", Layout)


def _judge_common(
    out: object, state: object, force: object, tell: object, reach: object, raw: object
) -> tuple[Target | None, Path | None]:
    """Raise for an argument of `link` or `resume` that is of a wrong kind; the two paths."""
    require_flag("force", force)
    require_flag("raw", raw)
    require_function("tell", tell, "a function of a Notice")
    if reach is not None:
        require("reach", reach, "a Reach", Reach)
    return as_target_or_none("out", out), as_path_or_none("state", state)


def _offer(own: Ready) -> Offer:
    """What the owner is asked to agree to."""
    ledger = Ledger(own.state.ledger)
    unfinished = find_unfinished(own.state, own.partner, own.agreement.to_toml())
    # Of a later run of a series the partner's batches are not known yet, nor what they come to.
    first = own.series is None or own.series.number == 1
    outlook = look_ahead(own.agreement, own.side, own.records, own.state.folder) if first else None
    record = 0 if outlook is None else outlook.record
    room = warn_of_room(own.agreement.task, own.side, own.records, own.state.folder, own.out, record)
    ask = own.ask("offer")
    offer = make_offer(own.agreement, own.side, own.records, ledger, ask, unfinished, room, outlook)
    return offer if own.series is None else replace(offer, series=own.series.offered())


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


def get_ready(
    state: State,
    agreement: Agreement,
    partner: str,
    data: TableLike,
    layout: Layout,
    dataset: str,
    snapshot: str | None,
    out: Target | None,
    reach: Reach,
    tell: Tell,
    raw: bool = False,
    force: bool = False,
    part: Part | RunFolder | None = None,
) -> Ready:
    """Everything that can be wrong on this side alone is found here, before anybody is called. `part` is what
    the owner says of a series, or a run of one that was cut."""
    if part is not None and layout.id_row:
        raise UsageError(
            problem="A series knows records again by their ids, and row numbers change with every row that "
            "comes or goes: name a column of ids, `id=`."
        )
    now = datetime.now(UTC)
    side = own_side(agreement, partner)
    task = agreement.task
    task.protocol.require_engine(task, agreement.engine.build())
    own_card = require_own_card(state, now)
    require_other(state, partner, agreement.party(side), own_card)
    cards = {side: own_card, side.other: find_partner(state, partner)}
    require_valid(cards[side.other], partner, now)
    shown, per_person = agreement.disclosed(side), task.protocol.records_per_person(side)
    scratch = Scratch(state.folder, "Make room there; nothing was charged.")
    watch = _Watch(tell)
    # So that whoever extracts the table again, in whatever order, has the table that was committed to.
    by_id = agreement.accountable
    own = (agreement.fields, agreement.salt, shown, layout, per_person)
    people = part is not None and (per_person or 1) > 1
    records = load_records(data, *own, scratch=scratch, watch=watch, by_id=by_id, keep_people=people)
    if watch.told:
        tell(Reading(watch.rows, done=True))
    require_size(records.size)
    release = task.protocol.release(task, side, records.size)
    series = None
    if part is not None:
        series, records = take_part(state, agreement, side, dataset, part, records, release)
    # Here, where no partner can measure how long it takes.
    table_digest(records)
    return Ready(
        state=state,
        agreement=agreement,
        side=side,
        cards=cards,
        records=records,
        dataset=dataset,
        snapshot=name_table(snapshot, task, side, records),
        release=release,
        data=data,
        layout=layout,
        out=out,
        reach=reach,
        entropy=System(),
        tell=tell,
        raw=raw,
        force=force,
        series=series,
    )


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
    state: State,
    name: str,
    data: TableLike | None,
    out: Target | None,
    reach: Reach,
    tell: Tell,
    raw: bool = False,
    force: bool = False,
) -> Iterator[tuple[Ready, Kept]]:
    """A run that was cut, locked, if data, slots and ledger still fit each other."""
    found = open_run(state, name)
    found.require_open()
    known = found.manifest
    agreement = parse_agreement(known.agreement, f"The agreement of the run {name}")
    named = bool(reach.listen or reach.connect)
    way = reach if named else replace(reach, listen=known.listen, connect=known.connect)
    source, target = data if data is not None else known.source(), out or known.target()
    # It may have been written before the run was cut.
    wrote = target is not None and settled(target) == known.replaces
    may_replace = force or wrote
    require_place(target, agreement, source, known.read_layout(), may_replace, wrote)
    with found.lock():
        own = get_ready(
            state, agreement, known.partner, source, known.read_layout(), known.dataset,
            known.snapshot or None, target, way.require_way(), tell, raw or known.raw, force,
            found if known.series else None,
        )  # fmt: skip
        require_ids(target, agreement, {own.side: own.records}, may_replace)
        slots = found.slots()
        require_same_table(own, known, slots)

        def draw() -> NDArray[np.int64]:
            # The noise of this run is in its slots: a ledger that does not know it may not draw another.
            raise unfit(state)

        charged = Ledger(state.ledger).charge(own.ask(name), draw, datetime.now(UTC))
        require_same_noise(own, slots, charged.noise)
        with closing(found.open_journal()) as journal:
            if journal.torn:
                tell(Mended(name, journal.steps + 1))
            mine = own.mine(slots, known.partner_records)
            series = (
                None if own.series is None else own.series.run(known.total[1 if own.side is Side.A else 0])
            )
            yield own, Kept(found, mine, journal, charged.cost, series)
