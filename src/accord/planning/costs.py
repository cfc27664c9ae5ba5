"""What an agreement comes to: comparisons, bytes, rounds, memory, time.

Nothing here has a formula of its own for what a run does. Bin sizes are what the protocol's release foresees
of true ones, comparisons are the protocol's `price` of them, bytes and rounds `secure/cost.py`'s price of the
blocks that the protocol compares. Of very many blocks a part is priced, chosen at random, and taken as many
times. Beside the engine's bytes there are the protocol's own and those of disclosed records.

With Greedy Match & Clean, and with the cascade of routed, the comparisons of a run depend on its matches:
`saved.py` says how many these spare, and what rounds of greedy cost, each priced by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, replace
from math import ceil, log2

import numpy as np
from numpy.typing import NDArray

from accord.agreement.document import Agreement, OtOptions
from accord.entropy import Seeded
from accord.fields.schema import TextField
from accord.network import Network
from accord.planning.figures import Range, TimeSpent
from accord.planning.machine import Speed, intersecting, routing, vole_rounds
from accord.planning.spread import Spread
from accord.protocols.base import Release, Task, Values
from accord.protocols.binned import SLAB
from accord.protocols.parts.lanes import Lane, routing_bytes
from accord.protocols.parts.schedule import fewest_rounds
from accord.secure.blocks import LONGEST, Blocks
from accord.secure.circuit import Circuit, Opened, inputs
from accord.secure.cost import Price, Tab, price_like, set_up_bytes
from accord.secure.okvs.sizes import store_shape
from accord.secure.ot.settings import USUAL, Settings
from accord.side import Side

Ints = NDArray[np.int64]
PriceRound = Callable[[Blocks], int]
"""The bytes of the next evaluation."""

_DRAWS = 8
_DRAWN_BINS = 1 << 16
"""Of noise that is drawn to foresee its sum; with more bins a sum strays less, and one draw does."""
_STRIPS = 1 << 13
"""Rows of A that are priced; the rest is taken to be like them."""
_BLOCKS = 1 << 16
"""Blocks of which those are chosen."""
_SINGLES = 1 << 16
"""Pairs that stand alone, and are all priced."""
_LARGEST, _ROWS, _UNITS = 96, 12, 4
"""Of a unit the most strips that are priced and the fewest rows, and the fewest units. Units have a multiple
of these rows, so that no cut tears apart rows that the engine groups (`ot/settings.py`: 1, 2, 4 or 6)."""
_TEXT = 24
"""Bytes of an id or of a disclosed cell, with its length and mark, where nobody has seen one."""
_ONE_WAY = 0.7
"""Of all bytes, those that go in the busier direction. A guess: the price adds up both directions."""
_BASE_MEMORY = 250 << 20
"""Of a process that has computed nothing yet, with its kernels and buffers. A guess."""
_VOLE_MEMORY = 300 << 20
"""Of a process that makes VOLE in rounds, for one at a time: measured, on a Neoverse-N1."""
_VALUE_MEMORY = 130
"""For a value that an intersection lists or asks for, its record included: measured likewise."""
_POINT_MEMORY = 80
"""For a point that is listed in routing: a guess."""
_SET_UP = 6.0
"""Seconds of a command beside its comparisons: imports, compiled kernels, the estimate for the consent, the
connection, and the first silent OTs. Measured with small tables, two parties on two cores."""
_START, _SHARED = 2.0, 1.04
"""Seconds until workers have started and met, a guess; and what a comparison costs more among two of them, as
measured on a Neoverse-N1."""
_TABLE = 12e-6
"""Seconds to place, pad and shuffle a slot, and to exchange its count. A guess."""


@dataclass(frozen=True)
class Drawn:
    """Bin sizes as both sides would see them, and how many dummies are among them."""

    counts: tuple[Ints, Ints]
    dummies: int
    comparisons: int


@dataclass(frozen=True)
class Spared:
    """The share of the comparisons that is made, and the bytes of each, where its rounds were priced."""

    share: Range
    each: float | None = None
    lanes: tuple[Sequence[Lane], ...] = ()
    """What is routed at the least, as expected and at the most, where it depends on the matches."""


ALL = Spared(Range(1.0, 1.0, 1.0))
"""Where matches spare nothing."""


@dataclass(frozen=True)
class Bill:
    """What a run comes to."""

    dummies: Range
    comparisons: Range
    bytes: Range
    rounds: Range
    memory: Range
    seconds: Range
    usual: float
    work: TimeSpent


@dataclass(frozen=True)
class Terms:
    """What holds for all options: sizes, what lies between the parties, who compares."""

    sizes: tuple[int, int]
    network: Network
    matches: int
    """Pairs that are expected to match: they are disclosed."""
    workers: int = 1
    """That share the comparisons on each side, with a core for each."""
    pace: float = 1.0
    """How many times as long this machine takes as the one whose times are written down."""


def releases_of(task: Task, sizes: tuple[int, int]) -> dict[Side, Release]:
    """What each side would tell."""
    return {side: task.protocol.release(task, side, size) for side, size in zip(Side, sizes, strict=True)}


def draw_counts(
    task: Task, told: dict[Side, Release], spread: Spread, sizes: tuple[int, int], seed: int
) -> Drawn:
    """One foreseen run; the same for the same seed."""
    random = Seeded(f"accord plan: foresee {seed}")
    a, b = (
        told[side].foresee(true, size, random.stream(side.value))
        for side, true, size in zip(Side, spread.counts, sizes, strict=True)
    )
    dummies = int(a.sum() + b.sum() - spread.a.sum() - spread.b.sum())
    return Drawn((a, b), max(0, dummies), task.protocol.price(task, sizes, (a, b)))


def foresee(
    task: Task, told: dict[Side, Release], spreads: Sequence[Spread], sizes: tuple[int, int]
) -> list[list[Drawn]]:
    """Some runs for each way in which records may be spread."""
    slots = max(task.blocking.bins, *sizes)
    draws = min(_DRAWS, max(1, _DRAWN_BINS // slots))
    return [[draw_counts(task, told, spread, sizes, seed) for seed in range(draws)] for spread in spreads]


def is_greedy(agreement: Agreement) -> bool:
    """Whether matched records are disclosed, and cleaned, round by round."""
    return bool(getattr(agreement.protocol, "greedy", False)) and not agreement.output.answers


def price_blocks(
    agreement: Agreement, task: Task, drawn: Drawn, slab: int | None, sizes: tuple[int, int]
) -> Price:
    """What the engine takes for all blocks; with a slab, rows of A are compared so many at a time."""
    if lanes := task.protocol.lanes(task, sizes):
        return _price_singles(agreement, task.protocol.circuit(task, sizes), [lane.bins for lane in lanes])
    rows = task.protocol.compared(task, drawn.counts)
    return Price(0, 0, 0) if rows is None else price_sizes(agreement, task, rows, slab)


def _price_singles(agreement: Agreement, circuit: Circuit, passes: list[int]) -> Price:
    """The same for pairs of which each stands alone, so many in each pass. Where they are few it counts that
    every pass is an evaluation of its own, the first ones perhaps too small for silent OTs."""
    name, settings, pairs = agreement.engine.name, _settings(agreement), sum(passes)
    if pairs <= _SINGLES:
        tab = Tab(circuit, name, settings)
        return Price(*map(sum, zip(*(astuple(tab.add(_singles(count))) for count in passes), strict=True)))
    return price_like(circuit, _singles(_STRIPS), pairs / _STRIPS, name, settings)


def _singles(pairs: int) -> Blocks:
    ones = np.ones(pairs, np.int64)
    return Blocks.of_sizes(ones, ones)


def price_sizes(agreement: Agreement, task: Task, sizes: tuple[Ints, Ints], slab: int | None = None) -> Price:
    """The same for blocks of these rows of A and of B."""
    a, b = (side[(sizes[0] > 0) & (sizes[1] > 0)] for side in sizes)
    if not len(a):
        return Price(0, 0, 0)
    pairs = float(np.dot(a.astype(float), b.astype(float)))
    if len(a) > _BLOCKS:
        some = np.random.default_rng(0).integers(0, len(a), _BLOCKS)
        a, b = a[some], b[some]
    sample = _sample(a, b, slab)
    name, settings = agreement.engine.name, _settings(agreement)
    return price_like(task.lowered.node, sample, pairs / sample.pairs, name, settings)


def price_rounds(agreement: Agreement, task: Task) -> PriceRound | None:
    """The bytes of one round after another; None for an engine whose rounds cost what their pairs cost."""
    if not isinstance(agreement.engine, OtOptions):
        return None
    tab = Tab(task.lowered.node, agreement.engine.name, _settings(agreement))
    return lambda blocks: tab.add(blocks).bytes


def _settings(agreement: Agreement) -> Settings:
    engine = agreement.engine
    return engine.settings if isinstance(engine, OtOptions) else USUAL


def _sample(a: Ints, b: Ints, slab: int | None) -> Blocks:
    """Some of the blocks, large ones cut into units of few rows: evenly by width, on which alone the price of
    a pair depends, so that narrow and wide ones have their share."""
    pieces = -(-b // LONGEST)
    most = np.maximum(1, _LARGEST // pieces // _ROWS) * _ROWS
    if slab is not None:
        most = np.minimum(most, np.maximum(slab, 16384 // b))
    units = -(-a // most)
    block = np.repeat(np.arange(len(a)), units)
    place = np.arange(len(block)) - np.repeat(np.cumsum(units) - units, units)
    rows, width = np.minimum(most[block], a[block] - place * most[block]), b[block]
    strips = int((rows * pieces[block]).sum())
    step = max(1, min(strips // _STRIPS, len(rows) // _UNITS))
    some = np.lexsort((rows, width))[step // 2 :: step]
    return Blocks.of_sizes(rows[some], width[some])


def bill(
    agreement: Agreement,
    task: Task,
    foreseen: Sequence[Sequence[Drawn]],
    spared: Spared,
    speed: Speed,
    terms: Terms,
    margin: float,
) -> Bill:
    """The costs of an option. `foreseen`: as expected, then the least and the most. `spared`: what matches
    spare; `margin`: by how much a partner may differ from what is taken."""
    expected = float(np.mean([one.comparisons for one in foreseen[0]]))
    every = [one.comparisons for runs in foreseen for one in runs]
    made = Range(
        spared.share.low * min(every) * (1 - margin),
        spared.share.expected * expected,
        spared.share.high * max(every) * (1 + margin),
    )
    slab = SLAB if is_greedy(agreement) else None
    one = foreseen[0][0]
    price = price_blocks(agreement, task, one, slab, terms.sizes)
    values = task.protocol.values(task, terms.sizes)
    fixed = _disclosed(agreement, task, terms.matches)
    if price.comparisons:
        fixed += set_up_bytes(agreement.engine.name)
    each = spared.each or price.bytes / max(1, price.comparisons)
    lanes = spared.lanes or 3 * (task.protocol.lanes(task, terms.sizes),)
    routed = zip(lanes, _ends(made), strict=True)
    bytes_ = Range(*(fixed + _sends(task, terms.sizes, some) + each * n for some, n in routed))
    least = 0 if slab is None else _exclusive_rounds(task, one, slab)
    shown = len(lanes[0]) if task.protocol.cascades(task) else 1
    rounds = Range(*(_rounds(price, n, slab, least, values, shown) for n in _ends(made)))
    paced = speed.processor(price) / price.comparisons if price.comparisons else None
    works = [
        _work(paced, terms, n, by, r, one, task, some)
        for n, by, r, some in zip(_ends(made), _ends(bytes_), _ends(rounds), lanes, strict=True)
    ]
    seconds = [_lasts(work, terms.pace) for work in works]
    return Bill(
        dummies=Range.of(*(float(one.dummies) for runs in foreseen for one in runs)),
        comparisons=made,
        bytes=bytes_,
        rounds=rounds,
        memory=Range(
            *(
                f * _memory(task, one, values, terms.sizes, some)
                for f, some in zip((0.7, 1.0, 1.5), lanes, strict=True)
            )
        ),
        seconds=Range(seconds[0] / 1.25, seconds[1], 1.25 * seconds[2]),
        usual=_lasts(works[1], 1.0),
        work=replace(works[1], processor=terms.pace * works[1].processor),
    )


def _sends(task: Task, sizes: tuple[int, int], lanes: Sequence[Lane]) -> int:
    """Bytes of the protocol, where these lanes are left of all that there can be."""
    most, whole = task.protocol.sends(task, sizes), task.protocol.lanes(task, sizes)
    if lanes == whole:
        return most
    circuit = task.protocol.circuit(task, sizes)
    assert isinstance(circuit, Opened)
    return most - routing_bytes(whole, circuit.words) + routing_bytes(lanes, circuit.words)


def _lasts(work: TimeSpent, pace: float) -> float:
    """Seconds in all, on a machine of this pace."""
    return pace * _SET_UP + max(pace * work.processor, work.network) + work.waiting


def _ends(of: Range) -> tuple[float, float, float]:
    return of.low, of.expected, of.high


def _rounds(
    price: Price, comparisons: float, slab: int | None, least: int, values: Values | None, shown: int
) -> float:
    """Messages that wait for each other: those of the engine, of every round, of which there are so many at
    the `least`, and of what is disclosed, so often or after every round; or those of an intersection."""
    if values is not None:
        return 13.0 + 2 * vole_rounds(store_shape(values.asked).total)
    if not price.comparisons:
        return 8.0
    share = comparisons / price.comparisons
    rounds = max(1, least, fewest_rounds(ceil(comparisons)))
    # Eight batches are under way at once, so a small round takes its few messages all the same.
    engine = max(share * price.rounds, rounds * 6.0)
    return 8 + engine + 2 * (shown if slab is None else rounds)


def _exclusive_rounds(task: Task, one: Drawn, slab: int) -> int:
    """With greedy a bin is in one unit a round: so many rounds at the least, and some in which slabs grow."""
    sizes = task.protocol.compared(task, one.counts)
    if sizes is None:
        return 0
    widest = max(1, int(sizes[1].max())) if len(sizes[1]) else 1
    rows = max(slab, 16384 // widest)
    deepest = ceil(int(sizes[0].max()) / rows) if len(sizes[0]) else 1
    together = max(task.blocking.per_record(side) for side in Side)
    return deepest * max(1, len(sizes[0]) // max(1, task.blocking.bins), together) + ceil(log2(slab + 1))


def _work(
    paced: float | None,
    terms: Terms,
    comparisons: float,
    sent: float,
    rounds: float,
    one: Drawn,
    task: Task,
    lanes: Sequence[Lane],
) -> TimeSpent:
    """`paced`: seconds of the processor for a comparison; None where none is made."""
    values = task.protocol.values(task, terms.sizes)
    slots = float(one.counts[0].sum() + one.counts[1].sum()) if len(one.counts[0]) else 0.0
    if paced is not None:
        compared = paced * comparisons
        if terms.workers > 1:
            compared = compared * _SHARED / terms.workers + _START
        processor = compared + _TABLE * slots / 2 + routing(lanes)
    elif values is not None:
        share = comparisons / max(1, values.listed + values.asked)
        processor = share * intersecting(values.listed, values.asked)
    else:
        processor = 0.0
    network = _ONE_WAY * sent / terms.network.bytes_per_second
    return TimeSpent(processor, network, rounds * terms.network.one_way)


def _disclosed(agreement: Agreement, task: Task, matches: int) -> int:
    """Bytes of the records that match, on both sides: ids, columns, and with greedy their encoded fields."""
    cells = 2 + len(agreement.disclose.A) + len(agreement.disclose.B)
    encoded = 0
    for name in task.shown_fields:
        spec = agreement.fields[name]
        encoded += 1 + 8 * ((spec.bits + 63) // 64 if isinstance(spec, TextField) else 1)
    slots = sum(8 * task.blocking.per_record(side) + 4 for side in Side)
    return matches * (_TEXT * cells + 2 * encoded + slots)


def _memory(
    task: Task, one: Drawn, values: Values | None, sizes: tuple[int, int], lanes: Sequence[Lane]
) -> float:
    """Of one side: its slots and the partner's, its bins, and what a process takes anyway. Of an intersection
    its values, or its VOLE, which has gone when they take the most; of routing the points and the shares of
    the largest pass, and a payload of each record."""
    if lanes:
        word = 8 * inputs(task.protocol.circuit(task, sizes), Side.A)[0].length // 2
        largest = max(_POINT_MEMORY * lane.programmed * lane.routes + word * lane.bins for lane in lanes)
        return _BASE_MEMORY + _VOLE_MEMORY + largest + word * max(sizes)
    if values is not None:
        vole = _VOLE_MEMORY if vole_rounds(store_shape(values.asked).total) else 0
        return _BASE_MEMORY + max(vole, _VALUE_MEMORY * (values.listed + values.asked))
    slots = float(one.counts[0].sum() + one.counts[1].sum()) if len(one.counts[0]) else 0.0
    pairs = sum(part.bins for part in task.blocking.passes)
    return _BASE_MEMORY + 60 * slots + 80 * pairs
