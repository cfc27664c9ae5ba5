"""Answers without names: how many pairs there are, by categories, or a sum, and nothing else [MATHS §10.5].

A comparison leaves its bit in shares; the engine adds up shares of bit · weight over all pairs, in rows of
sums that the lister's row chooses (`circuit.Tally`), weights being numbers of the asker's:

    count   one row                             one weight, 1
    table   the index of the lister's category  the asker's category, one 1 among zeros
    sum     one row                             of the asker: whether it has the number, and the number
            that it has the number, its bits    of the lister: one weight, 1

Whatever bits a lister puts into its payload, or the asker flips in its share, a pair is in one cell of those
of its weights, or adds a number from low to low + 2^b − 1 to a sum, b being the bits of high − low.

A *cell* is a number of the answer. Each side adds noise of its own to its share of every cell before both are
shown, so that one's noise hides one's records from the other.

**Theorem.** Let S = Σ over passes of keys a record has · the other side's cap: no record is in more pairs.
For two tables of a side that differ in one record, whether or not it matches, both of which run, a count
differs by at most Δ = S with `over = "refuse"`, and by 2S with "leave-out", where the record also lets
another in or out; the cells of a table together by 2Δ, since pairs also move; a sum by Δ·(max(high, 0) −
min(low, 0)), with the lister's numbers up to high = low + 2^b − 1.
So noise of scale Δ/ε on each cell is (ε, 0); where cells answer two questions, as a sum and its count do,
each has half of ε. *Proof*: `privacy/noise_answers.py`; all else that the other side sees are shares. ∎ With
up to g records of one person, all of which are replaced, g·S stands for S (`records_per_person`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from accord.fields.columns import Records
from accord.privacy.noise_answers import USUAL, TwoSided, within
from accord.protocols.parts.output import OTHER, Amount, Categories, Output
from accord.secure.circuit import Index, Input, Number, Tally
from accord.side import Side
from accord.wording import counted

Ints = NDArray[np.int64]

MOST_BITS = 62
_LARGE = 1000
"""From where on a mean is told without a fraction."""
_FEW = 3
"""Cells that are told in one line."""
_NUMBER = r"^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?$"
_WRAPS = 2.0**-41
"""With this chance at most a side's noise leaves the ring, which makes a cell wrong."""


@dataclass(frozen=True)
class AnswerCell:
    """A number of an answer, and within how much of the truth it is, 95 times of 100."""

    names: tuple[str, ...]
    value: int
    within: int


@dataclass(frozen=True)
class Answered:
    """What both sides learn."""

    output: Output
    cells: tuple[AnswerCell, ...]

    @property
    def values(self) -> tuple[int, ...]:
        """The numbers alone."""
        return tuple(cell.value for cell in self.cells)

    def table(self) -> pa.Table:
        """A row a cell."""
        rows = [(*c.names, c.value, c.value - c.within, c.value + c.within) for c in self.cells]
        return pa.table(dict(zip(answer_columns(self.output), zip(*rows, strict=True), strict=True)))

    def describe(self) -> list[str]:
        """In words, a line a cell."""
        lines = [f"{' · '.join(cell.names)}: {tell_cell(cell)}" for cell in self.cells]
        if self.output.answer == "sum":
            total, count = self.cells
            if count.value > count.within:
                mean = total.value / count.value
                lines.append(f"mean: {mean:,.0f}" if abs(mean) >= _LARGE else f"mean: {mean:.4g}")
        return lines

    def brief(self) -> str:
        """In one line: the first cells, and how many more there are."""
        lines = self.describe()
        more = f"; … and {len(lines) - _FEW:,} more" if len(lines) > _FEW else ""
        return "; ".join(lines[:_FEW]) + more

    def encode(self) -> tuple[tuple[int, int], ...]:
        """For a manifest: what the output does not say."""
        return tuple((cell.value, cell.within) for cell in self.cells)


def tell_cell(cell: AnswerCell) -> str:
    return f"{cell.value:,}" + (f" ± {cell.within:,}" if cell.within else "")


def tell_widths(output: Output, widths: Sequence[int]) -> str:
    """How near to the truth an answer comes; empty where there is none."""
    if not widths:
        return ""
    if output.exact:
        return "exact, of the pairs that meet"
    each = [f"± {width:,}" for width in widths]
    told = {
        "count": f"right within {each[0]}",
        "table": f"each cell right within {each[0]}",
        "sum": f"the sum right within {each[0]}, the count within {each[-1]}",
    }[output.answer]
    return f"{told} in {round(100 * USUAL)} of 100 runs, of the pairs that meet"


def decode_answer(output: Output, kept: Sequence[Sequence[int]]) -> Answered:
    """The inverse of `encode`."""
    names = cell_names(output)
    return Answered(output, tuple(AnswerCell(n, *some) for n, some in zip(names, kept, strict=True)))


def name_columns(output: Output) -> list[str]:
    """The columns of an answer as a table that say what a cell counts."""
    by = [f"{of.column}_{s.value.lower()}" for s in Side if (of := _categories(output, s)) is not None]
    return by or ["answer"]


def answer_columns(output: Output) -> list[str]:
    """All columns of an answer as a table: what a cell counts, its number, and its bounds."""
    return [*name_columns(output), "value", "low", "high"]


def _categories(output: Output, side: Side) -> Categories | None:
    return None if output.by is None else output.by.A if side is Side.A else output.by.B


def cell_names(output: Output) -> list[tuple[str, ...]]:
    """What each cell counts; of a table A's categories come first."""
    if output.of is not None:
        return [(f"sum of {output.of.column}",), ("pairs with a number",)]
    if output.by is None:
        return [("matching pairs",)]
    a, b = output.by.of(Side.A), output.by.of(Side.B)
    given = [output.by.A is not None, output.by.B is not None]
    return [tuple(n for n, said in zip((x, y), given, strict=True) if said) for x in a for y in b]


@dataclass(frozen=True)
class Question:
    """What is asked, with all that follows from public numbers."""

    output: Output
    asker: Side
    pairs_of_one: dict[Side, int]
    """S: the most pairs that a record of each side is in."""
    sizes: dict[Side, int]
    displaces: bool
    """Whether a record can take another's place: over = "leave-out"."""

    # -- noise --------------------------------------------------------------------------------------------

    def changes(self, side: Side) -> list[int]:
        """By how much all records of one person change each cell, or all cells of a table together."""
        one = self.output.records_per_person * self.pairs_of_one[side] * (2 if self.displaces else 1)
        if self.output.of is not None:
            low, high = self._ends
            return [one * (max(high, 0) - min(low, 0)), one]
        return [2 * one if self.output.by is not None else one] * len(cell_names(self.output))

    def noise(self, side: Side) -> list[TwoSided]:
        """What a side adds to each cell."""
        if self.output.epsilon is None:
            return [TwoSided(Fraction(0))] * len(cell_names(self.output))
        share = self.output.epsilon / (2 if self.output.of is not None else 1)
        return [TwoSided(Fraction(change) / share) for change in self.changes(side)]

    def within(self) -> list[int]:
        """How near each cell is to the truth."""
        both = zip(self.noise(Side.A), self.noise(Side.B), strict=True)
        known: dict[tuple[TwoSided, TwoSided], int] = {}
        return [known.setdefault(some, within(*some)) for some in both]

    @property
    def _most_pairs(self) -> int:
        return min(self.pairs_of_one[side] * self.sizes[side] for side in Side)

    def tell_drowned(self) -> list[str]:
        """That noise is wider than the largest number that there can be; nothing where it is not."""
        width, most = self.within()[-1], self._most_pairs
        if not 0 < most < width:
            return []
        return [
            f"The answer says nothing: its noise is ± {width:,}, and with tables of this size no more than "
            f"{counted(most, 'pair')} can match. Take fewer passes, smaller caps, or a larger ε."
        ]

    # -- what the engine is asked -------------------------------------------------------------------------

    @cached_property
    def bits(self) -> int:
        """Of the ring: no sum of cells and noise leaves it, but with a chance of 2⁻⁴⁰."""
        most = self._most_pairs * max(map(abs, self._ends))
        cells = len(cell_names(self.output))
        noise = sum(max(one.beyond(_WRAPS / cells) for one in self.noise(side)) for side in Side)
        return max(8, (2 * (most + noise)).bit_length() + 1)

    @property
    def tally(self) -> Tally:
        weights = 1
        if self.output.by is not None:
            weights = len(self.output.by.of(self.asker))
        elif self.output.of is not None and Side(self.output.of.side) is self.asker:
            weights = 2
        return Tally(self._by, Input("weights", weights, (1 << self.bits) - 1), self.bits)

    @cached_property
    def _by(self) -> Index | Number | None:
        """What the lister's row says."""
        if (named := _categories(self.output, self.asker.other)) is not None:
            return Index(len(named.names))
        of = self.output.of
        if of is not None and Side(of.side) is not self.asker:
            return Number(1 + (of.high - of.low).bit_length())
        return None

    @property
    def _ends(self) -> tuple[int, int]:
        """The least and the most that a pair with a number adds to an answer."""
        of = self.output.of
        if of is None:
            return 1, 1
        # A lister can have any bits.
        return of.low, of.high if self._by is None else of.low + (1 << self._by.rows - 1) - 1

    def listed(self, records: Records) -> Ints:
        """Of the lister's rows, what these say to a tally: bits, (rows, bits)."""
        of, by = self.output.of, self._by
        assert by is not None
        if (named := _categories(self.output, self.asker.other)) is not None:
            return _bits(_category(records, named), by.of.length)
        assert of is not None
        there, number = _amounts(records, of)
        return np.column_stack([there, _bits(np.where(there, number - of.low, 0), by.rows - 1)])

    def weights(self, records: Records) -> Ints:
        """Of the asker's rows, (rows, weights), in the ring."""
        if (named := _categories(self.output, self.asker)) is not None:
            return np.eye(len(named.names), dtype=np.int64)[_category(records, named)]
        of = self.output.of
        if of is not None and Side(of.side) is self.asker:
            there, number = _amounts(records, of)
            return np.column_stack([there, np.where(there, number, 0)]).astype(np.int64) & self._mask
        return np.ones((len(records), 1), np.int64)

    @property
    def _mask(self) -> int:
        return (1 << self.bits) - 1

    # -- from shares to cells -----------------------------------------------------------------------------

    def cells(self, shares: Ints) -> Ints:
        """Of a share of what the engine adds up, the share of each cell."""
        of, tally = self.output.of, self.tally
        found = shares.reshape(tally.rows, tally.weights.length)
        if of is not None and Side(of.side) is self.asker:
            return found[0, ::-1] & self._mask
        if of is not None:
            count, *bits = found[:, 0].tolist()
            total = sum(bit << place for place, bit in enumerate(bits)) + of.low * count
            return np.array([total & self._mask, count & self._mask])
        # The lister's categories come first.
        table = found if self.asker is Side.B else found.T
        return table.reshape(-1) & self._mask

    def encode(self, values: Sequence[int]) -> bytes:
        """Cells as both saw them: numbers of the ring."""
        return (np.array(values, np.int64) & self._mask).astype("<i8").tobytes()

    def answer(self, opened: Ints) -> Answered:
        """The cells as both see them, read as signed."""
        values = [int(v) - (1 << self.bits) * (int(v) >> (self.bits - 1)) for v in opened & self._mask]
        named = zip(cell_names(self.output), values, self.within(), strict=True)
        return Answered(self.output, tuple(AnswerCell(*cell) for cell in named))


def _category(records: Records, named: Categories) -> Ints:
    """The number of each row's category; the last is that of all others."""
    cells = records.disclosed[named.column].combine_chunks()
    number = pc.fill_null(pc.index_in(cells, value_set=pa.array(named.values, cells.type)), len(named.values))
    return np.asarray(number).astype(np.int64)


def _bits(numbers: Ints, count: int) -> Ints:
    """The bits of each number, the lowest first."""
    return (numbers[:, None] >> np.arange(count)) & 1


def _amounts(records: Records, of: Amount) -> tuple[NDArray[np.bool_], Ints]:
    """Which rows have a number, and each as a whole number within the range."""
    cells = pc.utf8_trim_whitespace(records.disclosed[of.column].combine_chunks())
    readable = pc.fill_null(pc.match_substring_regex(cells, _NUMBER), False)
    texts = pc.if_else(readable, cells, "0")
    # What is too large for a float is infinite, and so an end of the range.
    number = np.asarray(pc.cast(texts, pa.float64()))
    return np.asarray(readable), np.clip(np.rint(number), of.low, of.high).astype(np.int64)


def tell_unfit(output: Output, side: Side, records: Records) -> list[str]:
    """What a side's rows have that an answer does not count as its owner may think: for the owner alone."""
    size, said = len(records), []
    if (named := _categories(output, side)) is not None and size:
        others = int((_category(records, named) == len(named.values)).sum())
        if 2 * others > size:
            which = "All rows count" if others == size else f"{others:,} of {size:,} rows count"
            said.append(
                f"{which} as '{OTHER}' in the table: '{named.column}' has none of the agreed values there. "
                "Letter case and spaces matter."
            )
    of = output.of
    if of is not None and Side(of.side) is side and size:
        there, number = _amounts(records, of)
        cut = int((there & ((number == of.low) | (number == of.high))).sum())
        if not there.all():
            said.append(f"{counted(int((~there).sum()), 'row')} without a number in '{of.column}': left out.")
        if 2 * cut > size:
            said.append(
                f"{cut:,} of {size:,} numbers in '{of.column}' count as {of.low:,} or {of.high:,}, the ends "
                "of the agreed range."
            )
    return said


def pairs_of_one(entries: Sequence[dict[Side, int]], caps: Sequence[dict[Side, int]]) -> dict[Side, int]:
    """S of each side, from how many keys a record has in each pass, and how many records of a key meet."""
    return {
        side: sum(some[side] * cap[side.other] for some, cap in zip(entries, caps, strict=True))
        for side in Side
    }
