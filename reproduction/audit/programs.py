"""What is audited: a program for a side, made of an agreement; the honest ones, and broken ones to convict.

A broken program differs from the Laplace Protocol in one thing that a hurried author might leave out. None of
them can be agreed on; they exist so that an audit can be seen to find something.

    unshuffled   slots stand in the order of the table, dummies last: the paper does not ask for a shuffle
    half-noise   every bin has half the dummies that were drawn
    redrawn      a run that was cut off begins anew with fresh noise: the partner can average it away
    forgotten-pass   noise that is calibrated for one bin a record fewer than there are
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from accord.agreement.document import Agreement
from accord.entropy import Entropy
from accord.errors import UsageError
from accord.fields.columns import Records
from accord.privacy.calibration import as_claimed
from accord.protocols.base import Release, prepare
from accord.protocols.laplace import NoisyCounts
from accord.protocols.parts.own_side import OwnSide
from accord.protocols.parts.slots import exchange_commitments, exchange_counts
from accord.secure.engine import Engine
from accord.secure.party import Party
from accord.side import Side
from accord.simulation.pair import make_mine, release_of

Program = Callable[[Side, Records, int, Entropy, Engine], Party[Any]]
"""(side, its records, how many the partner has, randomness, engine)"""
Maker = Callable[[Agreement], Program]
Owner = Callable[[Side, Records, int, Entropy], OwnSide]

ABORTED = 20


def honest(agreement: Agreement) -> Program:
    """The agreement's protocol as it runs, with fresh noise."""
    return _program(agreement, _owner(agreement))


def unshuffled(agreement: Agreement) -> Program:
    """Slots in the order of the table."""
    shuffled = _owner(agreement)

    def own(side: Side, records: Records, partner: int, entropy: Entropy) -> OwnSide:
        made = shuffled(side, records, partner, entropy)
        bins = np.repeat(np.arange(len(made.slots.counts)), made.slots.counts)
        # −1 is a dummy; as an unsigned number it is the largest.
        order = np.lexsort((made.slots.record.astype(np.int64).view(np.uint64), bins))
        return replace(made, slots=replace(made.slots, record=made.slots.record[order]))

    return _program(agreement, own)


def half_noise(agreement: Agreement) -> Program:
    """Noise at half its scale."""
    release = _releases(agreement)

    def own(side: Side, records: Records, partner: int, entropy: Entropy) -> OwnSide:
        found = release(side, records.size)
        if found.setting is None:
            raise UsageError(problem="This protocol draws no noise that could be halved.")
        dummies = found.draw(records, entropy) // 2
        return prepare(found.task, side, records, partner, dummies, entropy)

    return _program(agreement, own)


def forgotten_pass(agreement: Agreement) -> Program:
    """Noise of a calibration that forgets one pass, where there are several."""
    release = _releases(agreement)

    @cache
    def weaker(side: Side, records: int) -> NoisyCounts:
        found = release(side, records)
        if not isinstance(found, NoisyCounts) or found.setting is None:
            raise UsageError(problem="This protocol calibrates no noise.")
        agreed = found.setting
        bins = max(1, agreed.bins_per_record - 1)
        promised = agreed.epsilon, agreed.delta, bins, records, agreed.records_per_person
        return replace(found, setting=as_claimed(agreed.name, *promised))

    def own(side: Side, records: Records, partner: int, entropy: Entropy) -> OwnSide:
        return make_mine(weaker(side, records.size), records, partner, entropy)

    return _program(agreement, own)


def redrawn(agreement: Agreement) -> Program:
    """Attempts that end when the counts are known, each with noise of its own; then one that does not end."""
    own, once = _owner(agreement), honest(agreement)

    def party(side: Side, records: Records, partner: int, entropy: Entropy, engine: Engine) -> Party[Any]:
        for attempt in range(ABORTED):
            begun = own(side, records, partner, entropy.stream(f"attempt {attempt}"))
            yield from exchange_commitments(begun.slots, side)
            yield from exchange_counts(begun.slots, len(begun.slots.counts))
        return (yield from once(side, records, partner, entropy, engine))

    return party


BROKEN: Mapping[str, Maker] = {
    "unshuffled": unshuffled,
    "half-noise": half_noise,
    "redrawn": redrawn,
    "forgotten-pass": forgotten_pass,
}


def _owner(agreement: Agreement) -> Owner:
    """A side as `simulate` makes it."""
    release = _releases(agreement)
    return lambda side, records, partner, entropy: make_mine(
        release(side, records.size), records, partner, entropy
    )


def _releases(agreement: Agreement) -> Callable[[Side, int], Release]:
    """What a side releases, its noise calibrated once."""
    return cache(lambda side, records: release_of(agreement, side, records))


def _program(agreement: Agreement, own: Owner) -> Program:
    task = agreement.task

    def party(side: Side, records: Records, partner: int, entropy: Entropy, engine: Engine) -> Party[Any]:
        return task.protocol.party(task, own(side, records, partner, entropy), engine)

    return party
