"""How edits are counted: shared letters, and a lookup for each bit of the recurrence of `secure/edits.py`.

One exclusive share a place of A's text has, bit by bit, its equalities with B's letters nearby
(`forms.Nearby`). Levels with several bounds on one text share these, and the bits of the recurrence.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Protocol

from accord.secure.circuit import Edit, Input
from accord.secure.edits import Known, ends
from accord.secure.forms import Nearby, form_of
from accord.secure.ot.formula import Formula, Wire, join
from accord.secure.ot.program import Bit, NumberShare, ShareBit
from accord.side import Side


@dataclass(frozen=True, eq=False)
class Text:
    """A text whose edits are counted: its first share, how far around a place the shares see, and the bits of
    the recurrence that are there."""

    first: int
    reach: int
    known: Known[Wire] = field(default_factory=dict)

    def copy(self) -> Text:
        return replace(self, known=dict(self.known))

    def forget(self, bit: Bit) -> None:
        """A bit that is there no more."""
        for place in [place for place, wire in self.known.items() if wire == bit]:
            del self.known[place]


class TextBuilder(Protocol):
    """What a program in the making does for texts."""

    def share(self, share: NumberShare) -> int: ...

    def gate(self, formula: Formula | Wire) -> Bit: ...

    def ends(self, of: Input, side: Side, place: int) -> Wire: ...


def share_letters(build: TextBuilder, edits: list[Edit]) -> dict[Input, Text]:
    """The shares of all texts whose edits are counted, wide enough for the largest bound of each."""
    texts = {}
    for of in dict.fromkeys(edit.of for edit in edits):
        reach = max(edit.bound for edit in edits if edit.of == of)
        bits = 2 * reach + 1
        shares = [
            build.share(NumberShare(form_of(Nearby(of, place, reach)), bits, exclusive=True))
            for place in range(of.length)
        ]
        texts[of] = Text(shares[0], reach)
    return texts


def count_edits(build: TextBuilder, node: Edit, text: Text) -> Formula:
    """The recurrence of `edits.py`, but for its last disjunction, which joins what is around it."""
    of = node.of

    def make(i: int, d: int, before: Wire | None, others: tuple[Wire, ...]) -> Wire:
        equal = ShareBit(text.first + i - 1, text.reach + d)
        if before is None and not others:
            return equal
        reached = join("any", [equal, *others])
        return build.gate(reached if before is None else join("all", [before, reached]))

    found: list[Formula | Wire] = []
    for d, end in ends(of.length, node.bound, make, text.known).items():
        short = [build.ends(of, Side.A if d > 0 else Side.B, of.length - abs(d))] if d else []
        if not isinstance(end, bool):
            found.append(join("all", [end, *short]))
        elif end:
            found.append(join("all", [*short]))
    return join("any", found)
