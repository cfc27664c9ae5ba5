"""The Laplace Protocol [HMFS17, §4]: noisy bins, dummies, secure comparison of the bins that meet.

Each side pads every bin with dummies, as many as a noise says that is never below 0; what the partner sees of
a bin is its padded size. The rest is linkage.py.

*Learns*: each side the other's size, noisy counts and matching records, with the bins these fall into.
*Theorem*: (ε, δ) of the noisy counts for every record that matches nothing [MATHS §2.1, §3]: by the argument
of linkage.py the view is a function of the noisy counts, the matching records and one's own table. With
`records_per_person` the noise is that which hides all records of a person at once [MATHS §3.9].
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from accord.entropy import Entropy
from accord.exact import text
from accord.fields.columns import Records
from accord.fields.schema import Exact
from accord.privacy.calibration import Setting, agreed_noises, as_claimed, calibrate
from accord.privacy.events import released
from accord.privacy.noise import AUTO, FOR_PEOPLE, ONLY_FOR_PEOPLE, draw
from accord.protocols.base import Guarantee, Ints, Options, Release, Task
from accord.protocols.binned import OF_MATCHES, Sorted, tell_bins
from accord.protocols.linkage import link_bins
from accord.protocols.parts.outcome import Outcome
from accord.protocols.parts.own_side import OwnSide
from accord.protocols.parts.people import Protected, whom
from accord.protocols.parts.slots import Padding, most_dummies
from accord.secure.engine import Engine
from accord.secure.party import Party
from accord.side import Side
from accord.spec import OneOf


class Privacy(Protected):
    """One side's guarantee for its records or people that match nothing, and the noise that gives it."""

    epsilon: Exact = Field(gt=0, le=64)
    """ε of the promise to each record, or person, of this side; at most 64."""
    delta: Exact = Field(ge=Fraction(1, 2**128), lt=1)
    """δ of that promise; at least 2^-128, and best 2^-40."""
    noise: Annotated[str, OneOf(agreed_noises)]
    """The distribution of dummies; `auto` takes `geometric` or `gaussian`, whichever needs fewer."""

    @model_validator(mode="after")
    def _fits(self) -> Privacy:
        if self.records_per_person > 1 and self.noise not in (AUTO, *FOR_PEOPLE):
            raise ValueError(ONLY_FOR_PEOPLE)
        return self


@dataclass(frozen=True)
class NoisyCounts(Release):
    """How many records fall into each bin, with dummies added."""

    def draw(self, records: Records, entropy: Entropy) -> Ints:
        """How many dummies each bin gets."""
        return draw(self._setting.noise, self.task.blocking.bins, entropy)

    def foresee(self, counts: Ints, records: int, entropy: Entropy) -> Ints:
        return counts + draw(self._setting.noise, len(counts), entropy)

    @property
    def _setting(self) -> Setting:
        assert self.setting is not None
        return self.setting


class Laplace(Sorted):
    """The Laplace Protocol [HMFS17, §4]: noisy bins, dummies, secure comparison of compared bins."""

    padded: ClassVar[bool] = True
    promises: ClassVar[tuple[str, ...]] = ("epsilon", "delta")
    side_options: ClassVar[tuple[str, ...]] = ("epsilon", "delta", "records_per_person")

    name: Literal["laplace"]
    A: Privacy
    """What is promised to the records of A."""
    B: Privacy
    """What is promised to those of B."""

    @classmethod
    def draft(cls, epsilon: str, delta: str, noise: Mapping[Side, str]) -> Options:
        promise = {"epsilon": epsilon, "delta": delta}
        named = {side: {"noise": noise.get(side, AUTO)} for side in Side}
        return {"name": "laplace", **{side.value: promise | named[side] for side in Side}}

    def privacy(self, side: Side) -> Privacy:
        return self.A if side is Side.A else self.B

    def records_per_person(self, task: Task, side: Side) -> int:
        return self.privacy(side).records_per_person

    def release(
        self, task: Task, side: Side, records: int, noise: str | None = None, claimed: bool = False
    ) -> NoisyCounts:
        agreed, choose = self.privacy(side), as_claimed if claimed else calibrate
        setting = choose(
            noise or agreed.noise,
            agreed.epsilon,
            agreed.delta,
            task.blocking.per_record(side),
            records,
            agreed.records_per_person,
        )
        return NoisyCounts(task, side, released(setting), setting)

    def padding(self, task: Task, side: Side, records: int) -> Padding:
        setting = self.release(task, side, records)._setting
        return most_dummies(setting.noise.window, task.blocking.bins)

    def party(self, task: Task, mine: OwnSide, engine: Engine) -> Party[Outcome]:
        return link_bins(task, self, mine, engine)

    def guarantee(self, task: Task, side: Side) -> Guarantee:
        agreed = self.privacy(side)
        told = (
            f"how many records fall into each of {tell_bins(task)}, with dummies added: "
            f"(ε, δ) = ({text(agreed.epsilon)}, {text(agreed.delta)}) for {whom(agreed.records_per_person)};"
        )
        return Guarantee("noisy counts", agreed.epsilon, agreed.delta, (told,), OF_MATCHES)
