"""What an agreement says about the protocol: its name, its options and each side's guarantee."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Literal

from pydantic import Field, StrictBool, StrictInt

from accord.records.schema import Exact, Spec
from accord.secure.circuit import Side


class Privacy(Spec):
    """One side's guarantee for its records that match nothing, and the noise that gives it."""

    epsilon: Exact = Field(gt=0, le=64)
    delta: Exact = Field(ge=Fraction(1, 2**128), lt=1)
    noise: Literal["geometric", "gaussian", "paper", "negligible"]


class _Options(Spec):
    greedy: StrictBool = True
    """Greedy Match & Clean: matched records are disclosed at once and need no further comparison."""
    closure: Literal["all", "candidates"] = "all"
    """Which matches of a disclosed record are looked for in the clear: all, or compared ones only."""
    slab: StrictInt = Field(default=64, ge=1, le=1 << 20)
    """The most rows of a bin that are compared before the matched ones are cleaned."""


class Laplace(_Options):
    """The Laplace Protocol [HMFS17, §4]: noisy bins, dummies, secure comparison of compared bins."""

    name: Literal["laplace"]
    A: Privacy
    B: Privacy
    sort: StrictBool = True
    """Compare the bins with the largest noisy sizes first."""
    prune: StrictInt = Field(default=0, ge=0, le=99)
    """Stop at this percentile of the bins' noisy sizes; 0 compares everything."""

    def privacy(self, side: Side) -> Privacy:
        return self.A if side is Side.A else self.B


class AllPairs(_Options):
    """Every record with every record: ε = 0, at the highest cost."""

    name: Literal["all-pairs"]


ProtocolSpec = Annotated[Laplace | AllPairs, Field(discriminator="name")]
