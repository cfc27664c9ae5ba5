"""A linkage between two organisations, from one's own side: `link`, and `resume` after a cut.

    1  read the agreement, the data and the cards; ask the ledger; ask the owner    nothing leaves
    2  connect; hellos: versions, sides, agreements                                 (handshake.py)
    3  both are ready: sizes                                      nothing is charged before this
    4  charge: the noise is drawn or found, and is on disk                          (ledger.py)
    5  fix the slots, on disk                                                       (store.py)
    6  the protocol, step by step                                                   (protocols/linkage.py)
    7  write the output; sign the receipt                                           (receipt.py)

The invariant: what was not charged and stored has not been sent.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa

from accord import __version__
from accord.agreement import Agreement
from accord.agreement_file import parse_agreement, require_sound
from accord.entropy import Entropy, System
from accord.errors import DeclinedError, StateError, UsageError
from accord.privacy.events import Cost
from accord.protocols.confirm import KEY
from accord.protocols.linkage import Own, Status, linkage
from accord.protocols.outcome import Outcome
from accord.protocols.slots import COMMITMENT, Slots, commitments, make_slots, table_digest
from accord.records.columns import Records
from accord.records.layout import Layout
from accord.records.load import load_records
from accord.records.sinks import require_writable, write_table
from accord.secure.circuit import Side
from accord.secure.engine import engine_named
from accord.secure.party import Party, run
from accord.session import receipt
from accord.session.channel import TlsChannel
from accord.session.connection import NOBODY, Reach, Tell, connected
from accord.session.handshake import NONCE, Hello, exchange_sizes, greet, require_same_run, run_name
from accord.session.identity import Card, require_own_card, require_valid
from accord.session.ledger import Ledger
from accord.session.offer import Offer, Release, make_offer, release
from accord.session.output import output
from accord.session.partners import find_partner
from accord.session.receipt import Half
from accord.session.state import State, open_state
from accord.session.store import FileJournal, Manifest, Run, create_run, open_run

Confirm = Callable[[Offer], bool]


@dataclass(frozen=True)
class Linked:
    """What a linkage gave to this side."""

    run: str
    pairs: pa.Table
    """`id_a`, `id_b`, and the disclosed columns of both sides; the same on both sides."""
    comparisons: int
    bytes: int
    """Sent and received."""
    seconds: float
    cost: Cost
    """The guarantee of this side's release."""
    charged: Cost
    """What was charged for it: nothing if the same release had been paid for."""
    receipt: Path

    @property
    def matches(self) -> int:
        return self.pairs.num_rows


@dataclass
class _Side:
    """One side of a run: everything that is known before the partner is."""

    state: State
    agreement: Agreement
    side: Side
    cards: dict[Side, Card]
    records: Records
    dataset: str
    entropy: Entropy
    tell: Tell
    out: Path | None

    @property
    def partner(self) -> str:
        return self.agreement.party(self.side.other)


def link(
    data: object,
    agreement: Agreement,
    *,
    partner: str,
    listen: str = "",
    connect: str = "",
    out: Path | None = None,
    dataset: str | None = None,
    layout: Layout | None = None,
    state: Path | None = None,
    confirm: Confirm = lambda offer: True,
    tell: Tell = NOBODY,
    reach: Reach | None = None,
) -> Linked:
    """Link one's own table (a file, or anything that speaks Arrow) with the partner's.

    One side listens, the other connects. `confirm` is asked before anything leaves; the account that is
    charged is `dataset`, or one's own name in the agreement.
    """
    require_sound(agreement)
    way = replace(reach or Reach(), listen=listen, connect=connect).checked()
    opened = open_state(state, os.environ)
    own = _own_side(opened, agreement, partner, data, layout, dataset, out, tell)
    released = release(agreement, own.side, own.records, own.entropy)
    offer = make_offer(agreement, own.side, own.records, released, Ledger(opened.ledger), own.dataset)
    if not confirm(offer):
        raise DeclinedError
    with connected(way, opened, own.cards[own.side.other], own.partner, tell) as channel:
        hello = Hello(own.side, bytes.fromhex(agreement.digest), own.entropy.bytes(NONCE))
        other = run(greet(hello, agreement, first=bool(way.listen)), channel)
        require_same_run(hello, other, own.partner)
        size = run(exchange_sizes(len(own.records), own.partner), channel)
        name = run_name(hello, other)
        charged, slots = _charge(own, released, name)
        kept = create_run(opened, _manifest(own, name, size, slots, data, layout, way), slots)
        channel.started(name)
        with kept.locked():
            return _finish(own, kept, slots, kept.journal, released, charged, channel)


def resume(
    name: str,
    *,
    data: object = None,
    listen: str = "",
    connect: str = "",
    out: Path | None = None,
    state: Path | None = None,
    tell: Tell = NOBODY,
    reach: Reach | None = None,
) -> Linked:
    """Go on with a run that was cut: same noise, same slots, fresh masks, no second charge.

    What is not named is taken as it was; either side may listen.
    """
    opened = open_state(state, os.environ)
    kept = open_run(opened, name)
    known = kept.manifest
    agreement = parse_agreement(known.agreement, f"The agreement of the run {name}")
    way = reach or Reach()
    way = replace(way, listen=listen, connect=connect) if listen or connect else known.reach(way)
    source = data if data is not None else known.source()
    target = out or (Path(known.out) if known.out else None)
    with kept.locked():
        own = _own_side(
            opened, agreement, known.partner, source, known.read_layout(), known.dataset, target, tell
        )
        slots = kept.slots()
        _require_same_table(own, known, slots)
        released = release(agreement, own.side, own.records, own.entropy)
        charged = Ledger(opened.ledger).charge(
            released.ask(name, own.dataset, agreement, own.side), released.draw, datetime.now(UTC)
        )
        journal = kept.journal
        hello = Hello(
            own.side,
            bytes.fromhex(agreement.digest),
            own.entropy.bytes(NONCE),
            name,
            journal.steps,
            commitments(slots, own.side),
        )
        with connected(way.checked(), opened, own.cards[own.side.other], own.partner, tell) as channel:
            channel.started(name)
            other = run(greet(hello, agreement, first=bool(way.listen)), channel)
            require_same_run(hello, other, own.partner)
            first = journal.first()
            if first is not None and first[:COMMITMENT] != other.commitments:
                raise StateError(
                    path=opened.run(name),
                    reason=f"{own.partner} comes back with another table than it began with",
                    mend="Both start a new run.",
                )
            journal.meet(other.steps)
            return _finish(own, kept, slots, journal, released, charged.cost, channel)


def own_side(agreement: Agreement, partner: str) -> Side:
    """The side that is not the partner's."""
    sides = [side for side in Side if agreement.party(side.other) == partner]
    if len(sides) == 1:
        return sides[0]
    names = f"{agreement.parties.A} and {agreement.parties.B}"
    raise UsageError(
        problem=f"--partner names one of the parties of the agreement, {names}, not '{partner}'."
    )


def _own_side(
    state: State,
    agreement: Agreement,
    partner: str,
    data: object,
    layout: Layout | None,
    dataset: str | None,
    out: Path | None,
    tell: Tell,
) -> _Side:
    """Everything that can be wrong on this side alone is found here, before anybody is called."""
    now = datetime.now(UTC)
    side = own_side(agreement, partner)
    if out is not None:
        require_writable(out)
    engine_named(agreement.engine).supports(agreement.task.lowered.node)
    cards = {side: require_own_card(state, now), side.other: find_partner(state, partner)}
    require_valid(cards[side.other], partner, now)
    records = load_records(data, agreement.fields, agreement.salt, agreement.disclosed(side), layout)
    name = dataset or agreement.party(side)
    return _Side(state, agreement, side, cards, records, name, System(), tell, out)


def _charge(own: _Side, released: Release, name: str) -> tuple[Cost, Slots]:
    """Charge the run, on disk; then fix its slots with the noise that is kept."""
    charged = Ledger(own.state.ledger).charge(
        released.ask(name, own.dataset, own.agreement, own.side), released.draw, datetime.now(UTC)
    )
    own.tell("charged", {"run": name, **_cost(charged.cost, "charged_")})
    plan = own.agreement.plan
    dummies = charged.noise if released.key is not None else np.zeros(plan.bins, np.int64)
    return charged.cost, make_slots(plan, own.side, own.records, dummies, own.entropy)


def _manifest(
    own: _Side, name: str, size: int, slots: Slots, data: object, layout: Layout | None, way: Reach
) -> Manifest:
    return Manifest(
        run=name,
        partner=own.partner,
        side=own.side.value,
        dataset=own.dataset,
        agreement=own.agreement.to_toml(),
        records=len(own.records),
        partner_records=size,
        table=slots.table.hex(),
        began=datetime.now(UTC).isoformat(timespec="seconds"),
        data=str(Path(data).resolve()) if isinstance(data, str | Path) else "",
        layout=(layout or Layout()).to_json(),
        out=str(own.out.resolve()) if own.out is not None else "",
        listen=way.listen,
        connect=way.connect,
    )


def _require_same_table(own: _Side, known: Manifest, slots: Slots) -> None:
    """The data must be what the run began with: its slots point into that very table."""
    fits = table_digest(own.records) == slots.table and slots.table.hex() == known.table
    if not fits:
        raise StateError(
            path=own.state.run(known.run),
            reason="your data is not what the run began with",
            mend="Name the unchanged data, or start a new run, which is a new release.",
        )


def _finish(
    own: _Side,
    kept: Run,
    slots: Slots,
    journal: FileJournal,
    released: Release,
    charged: Cost,
    channel: TlsChannel,
) -> Linked:
    """The protocol, the output and the receipt."""

    def watch(status: Status) -> None:
        own.tell("progress", _progress(status, channel))

    side, agreement, size = own.side, own.agreement, kept.manifest.partner_records
    with closing(journal):
        mine = Own(
            side, own.records, size, slots, own.entropy, (released.event,), journal=journal, watch=watch
        )
        outcome = run(linkage(agreement.task, mine, engine_named(agreement.engine)), channel)
    pairs = output(agreement, side, own.records, outcome)
    if own.out is not None:
        write_table(pairs, own.out)
    run(_sign(own, kept, slots, outcome), channel)
    linked = Linked(
        run=kept.manifest.run,
        pairs=pairs,
        comparisons=outcome.comparisons,
        bytes=channel.sent + channel.received,
        seconds=channel.seconds,
        cost=released.event.cost,
        charged=charged,
        receipt=kept.receipt,
    )
    own.tell("done", _done(linked))
    return linked


def _sign(own: _Side, kept: Run, slots: Slots, outcome: Outcome) -> Party[None]:
    """Exchange the last numbers and the signatures, and keep the receipt with the key of its digest."""
    mine = Half(len(own.records), int(slots.counts.sum()), __version__, int(time.time()))
    theirs = yield from receipt.exchange_halves(mine, outcome.partner_size, outcome.partner_slots)
    body = receipt.facts(own.agreement, kept.manifest.run, outcome, {own.side: mine, own.side.other: theirs})
    content = yield from receipt.exchange_signatures(own.state, own.side, own.cards, body)
    kept.keep_receipt(content, outcome.digest[:KEY])


def _progress(status: Status, channel: TlsChannel) -> dict[str, object]:
    """How far the run is; the time left is an upper estimate, since matches make later work smaller."""
    seconds = channel.seconds
    share = status.comparisons / max(1, status.most_comparisons)
    return {
        "comparisons": status.comparisons,
        "most_comparisons": status.most_comparisons,
        "matches": status.matches,
        "bytes": channel.sent + channel.received,
        "seconds": round(seconds, 2),
        "seconds_left": round(seconds / share - seconds, 1) if share else None,
    }


def _done(linked: Linked) -> dict[str, object]:
    return {
        "run": linked.run,
        "matches": linked.matches,
        "comparisons": linked.comparisons,
        "bytes": linked.bytes,
        "seconds": round(linked.seconds, 3),
        **_cost(linked.cost),
        **_cost(linked.charged, "charged_"),
    }


def _cost(cost: Cost, prefix: str = "") -> dict[str, object]:
    return {f"{prefix}epsilon": float(cost.epsilon), f"{prefix}delta": float(cost.delta)}
