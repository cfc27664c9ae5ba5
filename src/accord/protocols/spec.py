"""What an agreement says about the protocol: its name, its options and each side's guarantee.

laplace            noisy bins, dummies, secure comparison                          laplace.md
all-pairs          every pair; ε = 0                                               all-pairs.md
psi                equality of the rule's fields; ε = 0                            psi.md
psi-expand         psi on every value within the rule's distances; ε = 0           psi-expand.md
local-dp           each record reports a randomised bin                            local-dp.md
blocking           bins as they are: leaky, for `simulate` alone                   leaky.md
laplace-suppress   noise of mean 0, records suppressed: leaky, for `simulate` alone
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Literal

from pydantic import Field, StrictBool, StrictInt, model_validator

from accord.records.schema import Exact, Spec
from accord.side import Side


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


class Sorted(_Options):
    """Sort & Prune."""

    sort: StrictBool = True
    """Compare the bins with the largest noisy sizes first."""
    prune: StrictInt = Field(default=0, ge=0, le=99)
    """Stop at this percentile of the bins' noisy sizes; 0 compares everything."""


class Laplace(Sorted):
    """The Laplace Protocol [HMFS17, §4]: noisy bins, dummies, secure comparison of compared bins."""

    name: Literal["laplace"]
    A: Privacy
    B: Privacy

    def privacy(self, side: Side) -> Privacy:
        return self.A if side is Side.A else self.B


class AllPairs(_Options):
    """Every record with every record: ε = 0, at the highest cost."""

    name: Literal["all-pairs"]


class Psi(Spec):
    """Private set intersection: records match when all fields of the rule are equal; ε = 0."""

    name: Literal["psi"]


class PsiExpand(Spec):
    """PSI with expansion [HMFS17, §2.2]: one side lists every value that the rule accepts; ε = 0."""

    name: Literal["psi-expand"]


class LocalSide(Spec):
    """One side's ε for each of its records, or the statement that its bins may be known."""

    epsilon: Exact | None = Field(default=None, gt=0, le=64)
    public: StrictBool = False

    @model_validator(mode="after")
    def _fits(self) -> LocalSide:
        if (self.epsilon is None) != self.public:
            raise ValueError("needs either epsilon, or public = true if its bins may be known")
        return self


class LocalDp(_Options):
    """Randomised response over the bins [HMFS17, appendix]: each record reports one bin."""

    name: Literal["local-dp"]
    A: LocalSide
    B: LocalSide
    window: StrictInt = Field(ge=1, le=5_000_000)
    """k': a record of A is compared with those in this many bins of B, from its own on, round the end."""
    spread: StrictInt | None = Field(default=None, ge=1, le=5_000_000)
    """x: how many bins are reported with the higher probability; 1 is the basic strategy, none the best."""

    def local(self, side: Side) -> LocalSide:
        return self.A if side is Side.A else self.B


class PlainBlocking(Sorted):
    """Bins as they are: every count is exact. Leaky; for simulation alone."""

    name: Literal["blocking"]


class Suppress(Sorted):
    """LP-2 [HMFS17, §4.1]: noise of mean 0; below 0 it suppresses records. Leaky; for simulation alone."""

    name: Literal["laplace-suppress"]
    greedy: Literal[False] = False
    """A suppressed record is out of the run: no other may bring it back."""
    epsilon: Exact = Field(gt=0, le=64)


Binned = Laplace | AllPairs | LocalDp | PlainBlocking | Suppress
"""Protocols that compare the records of bins with an engine."""
Leaky = PlainBlocking | Suppress
"""Protocols without a guarantee: no agreement may name them."""
AnyProtocol = Binned | Psi | PsiExpand
ProtocolSpec = Annotated[AnyProtocol, Field(discriminator="name")]
