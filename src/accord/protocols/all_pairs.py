"""All pairs: every record is compared with every record [HMFS17, §2.2].

One bin, no noise: its count is the public size of the table; rows that were left out are dummies. The rest is
linkage.py, Greedy Match & Clean included, which keeps ε = 0 [MATHS §2.5]; or, where an exact answer is asked
for, all_pairs_answers.py.

*Learns*: each side the other's size and matching records, or the answer; nothing of a record that matches
nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from accord.entropy import Entropy
from accord.fields.columns import Records
from accord.privacy import events
from accord.protocols.all_pairs_answers import EveryPairAnswer, every_pair
from accord.protocols.base import NOTHING_TOLD, Guarantee, Ints, Options, Release, Task, tell_exactly
from accord.protocols.binned import Binned
from accord.protocols.linkage import link_bins
from accord.protocols.parts.answers import MOST_BITS, Question
from accord.protocols.parts.lanes import Lane
from accord.protocols.parts.outcome import CONFIRMED, Outcome
from accord.protocols.parts.own_side import OwnSide
from accord.protocols.parts.slots import COMMITMENT
from accord.protocols.routed_answers import answer_circuit, answer_steps, find_answer
from accord.secure.circuit import Circuit
from accord.secure.engine import Engine, require_holding
from accord.secure.party import Party
from accord.side import Side


@dataclass(frozen=True)
class WholeTable(Release):
    """Nothing but the size of the table."""

    def draw(self, records: Records, entropy: Entropy) -> Ints:
        """As many dummies as rows were left out, so that the one bin has the size that was announced."""
        return np.array([records.left_out], np.int64)

    def foresee(self, counts: Ints, records: int, entropy: Entropy) -> Ints:
        return np.array([records], np.int64)


class AllPairs(Binned):
    """Every record with every record: ε = 0, at the highest cost."""

    blocked: ClassVar[bool] = False
    padded: ClassVar[bool] = True
    one_slot_a_row: ClassVar[bool] = True
    answers_exactly: ClassVar[bool] = True

    name: Literal["all-pairs"]

    @classmethod
    def draft(cls, epsilon: str, delta: str, noise: Mapping[Side, str]) -> Options:
        return {"name": "all-pairs"}

    def release(
        self, task: Task, side: Side, records: int, noise: str | None = None, claimed: bool = False
    ) -> Release:
        event = events.ExactAnswer() if task.output.answers else events.AllPairs()
        return WholeTable(task, side, event)

    def party(self, task: Task, mine: OwnSide, engine: Engine) -> Party[Outcome]:
        if not task.output.answers:
            return link_bins(task, self, mine, engine)
        own, partner = mine.records.size, mine.partner_size
        sizes = (own, partner) if mine.side is Side.A else (partner, own)
        question = self.question(task, sizes)
        return find_answer(EveryPairAnswer(task, self.lanes(task, sizes), question, mine, engine), engine)

    def guarantee(self, task: Task, side: Side) -> Guarantee:
        return tell_exactly(task.output) if task.output.answers else NOTHING_TOLD

    # -- exact answers ------------------------------------------------------------------------------------

    def question(self, task: Task, sizes: tuple[int, int]) -> Question:
        a, b = sizes
        return Question(task.output, Side.B, {Side.A: b, Side.B: a}, {Side.A: a, Side.B: b}, displaces=False)

    def lanes(self, task: Task, sizes: tuple[int, int]) -> Sequence[Lane]:
        return [every_pair(sizes)] if task.output.answers else ()

    def circuit(self, task: Task, sizes: tuple[int, int]) -> Circuit:
        if not task.output.answers:
            return task.lowered.node
        return answer_circuit(task, self.lanes(task, sizes), self.question(task, sizes))

    def made_anew(self, task: Task, step: int) -> bool:
        return task.output.answers and step in answer_steps(1)

    def require_engine(self, task: Task, engine: Engine) -> None:
        if task.output.answers:
            require_holding(engine).hold(task.lowered.node)
        else:
            engine.supports(task.lowered.node)

    def refuse_sizes(self, task: Task, side: Side, own: int, partner: int) -> str:
        if task.output.answers and self.question(task, (own, partner)).bits > MOST_BITS:
            return "The answer may be too large a number. Take a smaller range."
        return ""

    def shown_fields(self, task: Task) -> tuple[str, ...]:
        return () if task.output.answers else super().shown_fields(task)

    def widths(self, task: Task) -> list[int]:
        return self.question(task, (1, 1)).within() if task.output.answers else []

    def sends(self, task: Task, sizes: tuple[int, int]) -> int:
        return 2 * COMMITMENT + CONFIRMED if task.output.answers else super().sends(task, sizes)
