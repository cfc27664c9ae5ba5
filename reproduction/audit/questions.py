"""What an audit asks: a pair of worlds that the partner shall not tell apart, and what it sees in each.

A `Question` is anything that can be run in either world. The plain one is `OneRun`: a case of two
neighbouring tables under a program. `histories.py` has those that go on over several runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from accord.entropy import Entropy
from accord.secure.party import run_pair
from accord.side import Side
from reproduction.audit.cases import Case, require_neighbours
from reproduction.audit.programs import Maker, Program
from reproduction.audit.views import View, record_view, watched_engines


class Question(Protocol):
    """Two worlds, and what the partner sees of them."""

    @property
    def name(self) -> str:
        """In a word."""

    @property
    def why(self) -> str:
        """In what the two worlds differ."""

    @property
    def side(self) -> Side:
        """Whose record is at stake; the other side is the one that looks."""

    @property
    def promise(self) -> tuple[Fraction, Fraction] | None:
        """The (ε, δ) that is claimed of what the partner sees; None where nothing is."""

    @property
    def unless(self) -> str:
        """The condition of the claim, which the two worlds keep; empty where it has none."""

    def view(self, world: int, entropy: Entropy, coins: Entropy) -> View:
        """What the partner receives in world 0 or 1, with these coins of the owner and of its own."""


@dataclass(frozen=True)
class OneRun:
    """One run of a program, on one of two neighbouring tables."""

    case: Case
    program: Program

    @classmethod
    def of(cls, case: Case, maker: Maker) -> OneRun:
        """The case under the program that is made for its agreement, if its tables are neighbours."""
        require_neighbours(case)
        return cls(case, maker(case.agreement))

    @property
    def name(self) -> str:
        return self.case.name

    @property
    def why(self) -> str:
        return self.case.why

    @property
    def side(self) -> Side:
        return self.case.side

    @property
    def promise(self) -> tuple[Fraction, Fraction] | None:
        told = self.case.agreement.leakage(self.side)
        return None if told.epsilon is None or told.delta is None else (told.epsilon, told.delta)

    @property
    def unless(self) -> str:
        return self.case.agreement.leakage(self.side).unless

    def view(self, world: int, entropy: Entropy, coins: Entropy) -> View:
        case, seen, looks = self.case, View(), self.side.other
        table = (case.table, case.neighbour)[world]
        own, watched = watched_engines(seen)
        owner = self.program(case.side, table, case.partner.size, entropy, own)
        partner = record_view(self.program(looks, case.partner, table.size, coins, watched), seen)
        ended = run_pair(*((owner, partner) if case.side is Side.A else (partner, owner)))
        seen.end(ended[0 if looks is Side.A else 1])
        return seen
