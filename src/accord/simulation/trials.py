"""One run of a protocol between two parties in one process, and what it hides from them.

An agreement may ask for an answer, or for pairs for one side alone (`[output]`): then the run is made as it
is agreed, and what nobody would see, the pairs and the exact answer, is found in the clear, with the same
randomness, so that records have the places that they have in the run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow.compute as pc

from accord.agreement.document import Agreement
from accord.entropy import Entropy, Seeded
from accord.fields.columns import Records
from accord.protocols.base import Ints, Release, prepare
from accord.protocols.parts.answers import Answered
from accord.protocols.parts.outcome import Outcome
from accord.protocols.parts.output import PAIRS, Output
from accord.protocols.parts.own_side import OwnSide, Watch
from accord.secure.engine import Engine
from accord.secure.engines import engine_named
from accord.secure.ideal import IdealEngine
from accord.secure.party import Party, Wire, run_pair
from accord.side import Side
from accord.table.pairs import Pairs

Filled = dict[Side, tuple[Ints, Ints]]
Draw = Callable[[], Entropy]
"""The randomness of a run, from its beginning."""


@dataclass(frozen=True)
class Trial:
    """One run of the protocol."""

    matches: int
    matches_found: int | None
    """Of which these are a one-to-one set; None where all are kept."""
    comparisons: int
    dummies_a: int
    dummies_b: int
    rounds: int
    bytes: int
    seconds: float
    answer: tuple[int, ...] | None = None
    """The numbers of the answer with noise, as a run gives them; None where pairs are asked for."""
    exact_answer: tuple[int, ...] | None = None
    """The same without."""


@dataclass(frozen=True)
class Tried:
    """A run, with what it hides."""

    figure: Trial
    pairs: Pairs
    """As rows of both tables."""
    filled: Filled
    sides: tuple[OwnSide, OwnSide]
    """Of A and of B, as they were when it began."""
    answer: Answered | None = None
    exact: Answered | None = None


def seeded_run(seed: int | str, number: int) -> Entropy:
    """The randomness of one run of `simulate` with a seed; each side takes the stream of its letter."""
    return Seeded(f"simulate {seed} {number}")


def release_of(agreement: Agreement, side: Side, records: int, noise: str | None = None) -> Release:
    """What a simulated run tells of a table of so many records; `noise` replaces the agreed one."""
    return agreement.protocol.release(agreement.task, side, records, noise, claimed=True)


def make_mine(
    release: Release,
    records: Records,
    partner_size: int,
    entropy: Entropy,
    watch: Watch = lambda status: None,
) -> OwnSide:
    """One side, with fresh noise; a linkage takes its noise from the ledger instead."""
    told = () if release.event is None else (release.event,)
    noise = release.draw(records, entropy)
    made = prepare(release.task, release.side, records, partner_size, noise, entropy, told)
    return replace(made, watch=watch)


def start_party(
    agreement: Agreement, side: Side, records: Records, partner_size: int, entropy: Entropy, engine: Engine
) -> Party[Outcome]:
    """One side of the agreed protocol, with fresh noise: for benchmarks, which time it between processes."""
    mine = make_mine(release_of(agreement, side, records.size), records, partner_size, entropy)
    return agreement.protocol.party(agreement.task, mine, engine)


def try_once(
    agreement: Agreement,
    left: Records,
    right: Records,
    releases: Mapping[Side, Release],
    engine: str,
    draw: Draw,
    watch: Watch,
) -> Tried:
    """A run as it is agreed, with this engine."""
    chosen, output = _engine(agreement, engine), agreement.output
    outcome, figure, filled, sides = _run(agreement, left, right, releases, chosen, draw(), watch)
    if not output.hides:
        return Tried(figure, _as_rows(outcome, right), filled, sides)

    def in_the_clear(other: Output) -> Outcome:
        changed = agreement.model_copy(update={"output": other})
        a, b = (_showing(changed, side, r) for side, r in ((Side.A, left), (Side.B, right)))
        told = {side: release_of(changed, side, r.size) for side, r in ((Side.A, a), (Side.B, b))}
        return _run(changed, a, b, told, IdealEngine(), draw(), lambda status: None)[0]

    shown = in_the_clear(PAIRS)
    figure, pairs = replace(figure, matches=len(shown.pairs)), _as_rows(shown, right)
    if outcome.answer is None:
        return Tried(figure, pairs, filled, sides)
    exact = in_the_clear(output.model_copy(update={"epsilon": None, "exact": True})).answer
    assert exact is not None
    figure = replace(figure, answer=outcome.answer.values, exact_answer=exact.values)
    return Tried(figure, pairs, filled, sides, outcome.answer, exact)


def _showing(agreement: Agreement, side: Side, records: Records) -> Records:
    """The records with the columns that such a run takes."""
    return replace(records, disclosed=records.disclosed.select([*agreement.kept_columns(side)]))


def _engine(agreement: Agreement, name: str) -> Engine:
    """The engine of this name, with the agreement's options if it is the one that the agreement names."""
    if name == "ideal":
        return IdealEngine()
    return agreement.engine.build() if name == agreement.engine.name else engine_named(name)


def _run(
    agreement: Agreement,
    left: Records,
    right: Records,
    releases: Mapping[Side, Release],
    engine: Engine,
    entropy: Entropy,
    watch: Watch,
) -> tuple[Outcome, Trial, Filled, tuple[OwnSide, OwnSide]]:
    began = time.perf_counter()
    a = make_mine(releases[Side.A], left, right.size, entropy.stream("A"), watch)
    b = make_mine(releases[Side.B], right, left.size, entropy.stream("B"))
    wire, task = Wire(), agreement.task
    parties = [task.protocol.party(task, mine, engine) for mine in (a, b)]
    outcome, other = run_pair(parties[0], parties[1], wire=wire)
    filled = {mine.side: mine.slots.filled for mine in (a, b) if task.protocol.padded}
    figure = Trial(
        matches=len(outcome.pairs),
        matches_found=outcome.matches_found,
        comparisons=outcome.comparisons,
        dummies_a=outcome.dummies,
        dummies_b=other.dummies,
        rounds=outcome.rounds,
        bytes=wire.bytes,
        seconds=time.perf_counter() - began,
    )
    return outcome, figure, filled, (a, b)


def _as_rows(outcome: Outcome, right: Records) -> Pairs:
    """The matches as rows of both tables: here the partner's ids can be looked up."""
    partner = np.asarray(pc.index_in(outcome.partner_ids, value_set=right.ids)).astype(np.int32)
    return replace(outcome.pairs, b=partner[outcome.pairs.b])
