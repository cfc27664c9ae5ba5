"""The size of every message of the `ot` engine, from public numbers alone.

Both sides compute these before they send or accept a byte, and `cost` adds them up; so they are written once.
"""

from __future__ import annotations

from dataclasses import dataclass

from accord.secure.blocks import Limit
from accord.secure.ot import tally
from accord.secure.ot.distance import correction_bytes, sum_bytes
from accord.secure.ot.lookup import question_words, table_bytes
from accord.secure.ot.opening import opened_bytes, opening_words
from accord.secure.ot.program import Lookup, Program
from accord.secure.transfer.extension import correction_words

WINDOW = 8
"""Batches that are under way at once."""

_PAIRS = 1 << 15
_BYTES = 1 << 24
_SINGLES = 521_000
"""OTs of the distances in a batch of pairs that stand alone: a window of them is two rounds of silent OTs."""


@dataclass(frozen=True)
class BatchShape:
    """What the sizes of a batch depend on, as in `blocks.Shapes`."""

    strips: int
    groups: int
    columns: int
    pairs: int


@dataclass(frozen=True)
class Sizes:
    """Bytes of the messages of one batch, in order."""

    choices: int
    sums: tuple[int, ...]
    corrections: tuple[int, ...]
    """One number a share."""
    questions: tuple[tuple[int, ...], ...]
    """For each level one number a lookup."""
    tables: tuple[tuple[int, ...], ...]
    chosen: int
    """Choices of a tally, behind the last tables."""
    last: int
    """The answers, or the question of an opening, or the corrections of a tally."""
    opened: int = 0
    """What A says to that."""

    @property
    def total(self) -> int:
        return (
            self.choices
            + sum(self.sums)
            + sum(self.corrections)
            + sum(map(sum, self.questions))
            + sum(map(sum, self.tables))
            + self.chosen
            + self.last
            + self.opened
        )


def batch_sizes(program: Program, rates: tuple[int, int], shape: BatchShape) -> Sizes:
    """The sizes for a batch of this shape; the rates are bits an OT, of the distances and of the lookups."""
    of_distances, of_lookups = rates
    levels = [[program.lookups[i] for i in level] for level in program.levels]
    # Most lookups are alike.
    asks = {b: 8 * question_words(shape.pairs, b, of_lookups) for b in {one.bits for one in program.lookups}}
    return Sizes(
        choices=8 * correction_words(program.choices.count * shape.strips, of_distances),
        sums=tuple(sum_bytes(share, shape.strips, shape.groups) for share in program.shares),
        corrections=tuple(correction_bytes(share, shape.columns) for share in program.shares),
        questions=tuple(tuple(asks[lookup.bits] for lookup in level) for level in levels),
        tables=tuple(
            tuple(table_bytes(shape.pairs, lookup.bits, lookup.lane) for lookup in level) for level in levels
        ),
        chosen=tally.choice_bytes(program.tally, shape.pairs, of_distances) if program.tally else 0,
        last=_last(program, shape.pairs, of_lookups),
        opened=opened_bytes(shape.pairs) if program.opens else 0,
    )


def _last(program: Program, pairs: int, rate: int) -> int:
    if program.tally is not None:
        return tally.correction_bytes(program.tally, pairs)
    return 8 * opening_words(pairs, rate) if program.opens else -(-pairs // 8)


def message_count(program: Program) -> int:
    """Messages of one batch; each depends on the one before."""
    return 2 * len(program.levels) + (4 if program.opens else 2)


def _held(lookup: Lookup) -> int:
    """About the bytes that a lookup takes for a pair, its OTs and what is larger of its table than a word."""
    return 8 * -(-lookup.bits // 2) + table_bytes(1, lookup.bits, lookup.lane) // 8 * 8


def batch_limit(program: Program, alone: bool = False) -> Limit:
    """How much goes into a batch, so that memory is bounded whatever the circuit and the blocks are.

    Of pairs that stand `alone` (`Blocks.alone`) little is held but numbers in their lanes (`single.py`).
    """
    bits = sum(int(share.widths.sum()) for share in program.shares)
    # Levels come one after the other, and what is asked and answered in one is gone in the next.
    widest = max(sum(_held(program.lookups[i]) for i in level) for level in program.levels)
    # Most rows share their corrections with three others.
    pair = 128 + bits // 32 + widest + (tally.held_bytes(program.tally) if program.tally else 0)
    if alone:
        most = min(_PAIRS, _BYTES // pair, _SINGLES // max(1, program.choices.count + program.tallied))
        # Corrections are packed by the lane: whole groups of them have no padding.
        return Limit(max(1, most // 64 * 64 or most))
    # A row of A takes its OT, and its part of a tree of seeds, for each term.
    return Limit(max(1, min(_PAIRS, _BYTES // pair)), strip=128 * program.choices.count // pair)
