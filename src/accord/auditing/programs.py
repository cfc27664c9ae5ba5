"""What is audited: a program for a side, made of an agreement; the honest ones, and broken ones to convict.

A broken program differs from the Laplace Protocol in one thing that a hurried author might leave out. None of
them can be agreed on; they exist so that an audit can be seen to find something.

    unshuffled   slots stand in the order of the table, dummies last: the paper does not ask for a shuffle
    half-noise   every bin has half the dummies that were drawn
    redrawn      a run that was cut off begins anew with fresh noise: the partner can average it away
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
from accord.privacy.calibration import Setting
from accord.privacy.noise import draw
from accord.protocols.linkage import Own
from accord.protocols.protocol import prepare, run
from accord.protocols.slots import exchange_commitments, exchange_counts
from accord.records.columns import Records
from accord.secure.engine import Engine
from accord.secure.party import Party
from accord.side import Side
from accord.simulation import make_own, setting

Program = Callable[[Side, Records, int, Entropy, Engine], Party[Any]]
"""(side, its records, how many the partner has, randomness, engine)"""
Maker = Callable[[Agreement], Program]
Owner = Callable[[Side, Records, int, Entropy], Own]

ABORTED = 20


def honest(agreement: Agreement) -> Program:
    """The agreement's protocol as it runs, with fresh noise."""
    return _program(agreement, _owner(agreement))


def unshuffled(agreement: Agreement) -> Program:
    """Slots in the order of the table."""
    shuffled = _owner(agreement)

    def own(side: Side, records: Records, partner: int, entropy: Entropy) -> Own:
        made = shuffled(side, records, partner, entropy)
        bins = np.repeat(np.arange(len(made.slots.counts)), made.slots.counts)
        # −1 is a dummy; as an unsigned number it is the largest.
        order = np.lexsort((made.slots.record.view(np.uint64), bins))
        made.slots = replace(made.slots, record=made.slots.record[order])
        return made

    return _program(agreement, own)


def half_noise(agreement: Agreement) -> Program:
    """Noise at half its scale."""
    noise, task = _settings(agreement), agreement.task

    def own(side: Side, records: Records, partner: int, entropy: Entropy) -> Own:
        found = noise(side, len(records))
        if found is None:
            raise UsageError(problem="This protocol draws no noise that could be halved.")
        dummies = draw(found.noise, task.blocking.bins, entropy) // 2
        return prepare(task, side, records, partner, dummies, entropy)

    return _program(agreement, own)


def redrawn(agreement: Agreement) -> Program:
    """Attempts that end when the counts are known, each with noise of its own; then one that does not end."""
    own, once = _owner(agreement), honest(agreement)

    def party(side: Side, records: Records, partner: int, entropy: Entropy, engine: Engine) -> Party[Any]:
        for attempt in range(ABORTED):
            begun = own(side, records, partner, entropy.stream(f"attempt {attempt}"))
            yield from exchange_commitments(begun.slots, side)
            yield from exchange_counts(begun.slots)
        return (yield from once(side, records, partner, entropy, engine))

    return party


BROKEN: Mapping[str, Maker] = {"unshuffled": unshuffled, "half-noise": half_noise, "redrawn": redrawn}


def _owner(agreement: Agreement) -> Owner:
    """A side as `simulate` makes it."""
    noise = _settings(agreement)
    return lambda side, records, partner, e: make_own(
        agreement, side, records, partner, noise(side, len(records)), e
    )


def _settings(agreement: Agreement) -> Callable[[Side, int], Setting | None]:
    """The calibrated noise of a side, computed once."""
    return cache(lambda side, records: setting(agreement, side, records))


def _program(agreement: Agreement, own: Owner) -> Program:
    task = agreement.task

    def party(side: Side, records: Records, partner: int, entropy: Entropy, engine: Engine) -> Party[Any]:
        return run(task, own(side, records, partner, entropy), engine)

    return party
