"""routed: records that share a key are brought together in shares and compared [MATHS §10.4].

      ◄──────────────── commitments ──────────────────────►            (slots.py)
      ◄──────────────── the engine's set-up ──────────────►            (comparers.py)
    asker (A or B)                                           lister
    pass by pass  ── queries, hidden ─────────────────────►
      ◄── a store of payloads ─────────────────────────────            (routing.py)
      ◄──────────────── comparisons on shares ────────────►            (secure/engine.py)
    tokens of what met and matches
      ── the tokens, and which own record matched which ──►            (naming.py)
      ◄──────────────── both disclose what matched ───────►            (disclosed.py)
      ◄──────────────── digest of the output ─────────────►            (confirm.py)

Nobody learns who met, nor a bit of a comparison: what does not match and what did not meet look alike. A pair
that meets in several passes is found in each and listed once. Each pass is a step of the journal, so a run
that was cut goes on with the pass in which it was; that one is done again, all of it, with masks, keys and
oblivious transfers that are fresh. Ranks and tokens are the run's own, from the key of its slots. Which
records a full key leaves out is the same in every run (priorities.py).

A record is *covered* if, in every pass, each of its keys is shared by at most `cap` records of its table,
itself included.

**Theorem** [MATHS §10.4]. Let R be any set of records of a table T that are covered and, whatever the
placing, in no pair of the output, and T⁰ the table with inert rows in their places. If both are run, the
other side's views of T and T⁰ are equal, but for computational terms and 2⁻⁴⁰. The same holds for two
tables T and T′ over one T⁰, however many records they differ in, and for the views of all runs together,
with whatever tables the partner chooses from run to run, if the records are covered and unmatched in each.

*Proof.* All sizes follow from the numbers of records, passes, keys and caps. No record of R has a full key.
So the full keys of T are those of T⁰, with the same records, and which of these are placed follows from
them and the placing key. All other records with a key are placed. The asker's view: stores that are uniform
to it but for the payloads' shares at its own queries, which w makes uniform; the engine's, which shows
nothing but the tokens of its matches. Given the matches, these are random strings; by which ranks a pair
met does not depend on what else has the key: the ranks of placed records are distinct and uniform, however
many they are, and fresh in every run. The lister's view: the function's and the engine's, which show
nothing; the tokens, and the asker's records, of the matches, in an order that follows from them. ∎

Nothing is promised to a record that is not covered: it can take the place of one that matches, and the pair
that is missing there is seen. The promise says so (`events.UNLESS`), and the owner is told how many of its
records it does not cover (`coverage`). Nor is a run that does not begin hidden.

*Learns*: both sides the other's size and the pairs; the asker also in which passes a pair met, and at which
ranks. Semi-honest.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from accord.entropy import Entropy
from accord.errors import DataError, UsageError
from accord.errors import Fault as DataFault
from accord.fields.columns import Records
from accord.privacy import events
from accord.protocols.base import (
    Coverage,
    Guarantee,
    Options,
    PassCoverage,
    Release,
    Slotless,
    Task,
    tell_exactly,
)
from accord.protocols.parts.answers import MOST_BITS, Question, pairs_of_one
from accord.protocols.parts.lanes import Lane, routing_bytes
from accord.protocols.parts.outcome import CONFIRMED, Outcome
from accord.protocols.parts.output import MOST_SEALED
from accord.protocols.parts.own_side import OwnSide
from accord.protocols.parts.people import whom
from accord.protocols.parts.sealed import sealed_bytes, taken_bytes
from accord.protocols.parts.slots import COMMITMENT
from accord.protocols.routed_answers import AnswerPasses, answer_circuit, answer_steps, find_answer
from accord.protocols.routed_pairs import find_for_one, find_pairs
from accord.protocols.routed_passes import held_circuit
from accord.protocols.routing import find_placed
from accord.protocols.sharing import Sample
from accord.rules.blocking.base import Cap
from accord.rules.blocking.passes import Placed
from accord.rules.evaluate import Tables
from accord.secure.circuit import Opened
from accord.secure.engine import Engine, require_holding
from accord.secure.okvs.sizes import MOST
from accord.secure.party import Party
from accord.side import Side
from accord.wording import counted

Ints = NDArray[np.int64]

MOST_RESUMES = 16
"""Attempts at passes that were cut, in one run."""


class Routed(Slotless):
    """Records that share a key are compared, brought together in shares. ε = 0, unless a record shares a key
    with `cap` or more others."""

    lists_bins: ClassVar[bool] = False
    shares_matches: ClassVar[bool] = True
    places: ClassVar[bool] = True
    options: ClassVar[tuple[str, ...]] = ("cap",)

    name: Literal["routed"]
    cap: Cap = 2
    """How many records of a side with one key meet, in passes that do not say it."""
    over: Literal["leave-out", "refuse"] = "leave-out"
    """What becomes of a key with more records: all but so many are left out of that pass, the same ones in
    every run; or the run is refused, before anybody is called."""
    asks: Literal["A", "B"] | None = None
    """Which side asks, and so learns in which passes a pair met; by default that for which it costs less."""

    # -- in an agreement ----------------------------------------------------------------------------------

    @classmethod
    def draft(cls, epsilon: str, delta: str, noise: Mapping[Side, str]) -> Options:
        return {"name": "routed"}

    def records_per_person(self, task: Task, side: Side) -> int | None:
        return None if task.output.epsilon is None else task.output.records_per_person

    # -- before a run -------------------------------------------------------------------------------------

    def release(
        self, task: Task, side: Side, records: int, noise: str | None = None, claimed: bool = False
    ) -> Release:
        return _RoutedRelease(task, side, self._event(task, side))

    def _event(self, task: Task, side: Side) -> events.Routing | events.NoisyAnswer | events.ExactAnswer:
        """A refusal is noticed on either side; records that are left out, not by a partner that learns
        nothing. In a noisy answer these are in the sensitivity."""
        if task.output.epsilon is not None:
            seen: Literal["", "refuse"] = "refuse" if self.over == "refuse" else ""
            return events.NoisyAnswer(task.output.epsilon, seen, task.output.records_per_person)
        if task.output.answers:
            return events.ExactAnswer()
        unseen = self.over == "leave-out" and task.output.learner is side
        return events.Routing("" if unseen else self.over)

    def refuse_records(self, task: Task, side: Side, records: Records) -> None:
        """Raise where a key has more records than the cap and the agreement says to refuse it, or where a row
        takes more than is sealed."""
        if task.output.learner is side.other:
            _require_short(records, task.output.row_bytes)
        if self.over != "refuse":
            return
        faults = [
            DataFault(
                f"pass '{one.name}'",
                f"{counted(one.left_out, 'record')} over the cap of {one.cap:,} for one key.",
            )
            for one in self.coverage(task, side, records).passes
            if one.left_out
        ]
        if faults:
            mend = 'over = "refuse" was agreed. Agree on a higher cap, a finer key, or over = "leave-out".'
            raise DataError("the table", faults, mend)

    def refusals(self, task: Task, side: Side) -> tuple[str, ...]:
        found = list(super().refusals(task, side))
        if self.over == "refuse":
            found.append(f"more than {self._tell_caps(task, side)} of its records share a key")
        elif self.guarantee(task, side).unless:
            found.append("more of its records are not covered by the promise than its owner allows")
        if task.output.learner is side.other:
            most = f"{task.output.row_bytes:,} bytes"
            found.append(f"the id and the disclosed columns of one of its records take more than {most}")
        return tuple(found)

    def coverage(self, task: Task, side: Side, records: Records) -> Coverage:
        """A record is uncovered if in some pass one of its keys has more records than the cap, unless the
        promise has no condition."""
        conditional = bool(self.guarantee(task, side).unless)
        uncovered = np.zeros(len(records), np.bool_)
        passes = []
        apart = np.ones(len(records))
        for one, cap in zip(task.blocking.passes, self.caps(task), strict=True):
            record, key = one.keys(side, records.columns, len(records))
            _, which, counts = np.unique(key, return_inverse=True, return_counts=True)
            over = np.maximum(counts - cap[side], 0)
            here = np.zeros(len(records), np.bool_)
            here[record[over[which] > 0]] = conditional
            uncovered |= here
            passes.append(PassCoverage(one.name, cap[side], int(here.sum()), int(over.sum())))
            np.multiply.at(apart, record, 1 - np.minimum(1, cap[side] / counts[which]))
        placed = float(1 - apart.mean()) if len(records) else 1.0
        return Coverage(uncovered, tuple(passes), placed)

    # -- a run --------------------------------------------------------------------------------------------

    def party(self, task: Task, mine: OwnSide, engine: Engine) -> Party[Outcome]:
        own, partner = mine.records.size, mine.partner_size
        if problem := self.refuse_sizes(task, mine.side, own, partner):
            raise UsageError(problem=problem)
        sizes = (own, partner) if mine.side is Side.A else (partner, own)
        lanes = self.lanes(task, sizes)
        if task.output.answers:
            passes = AnswerPasses(task, lanes, self.question(task, sizes), mine, engine)
            return find_answer(passes, engine)
        find = find_pairs if task.output.learner is None else find_for_one
        return find(task, lanes, mine, engine)

    def place(self, task: Task, a: OwnSide, b: OwnSide) -> list[Placed]:
        """Records over a cap meet nobody."""
        found = []
        for one, caps in zip(super().place(task, a, b), self.caps(task), strict=True):
            both = []
            for mine, (record, key) in ((a, one.a), (b, one.b)):
                assert mine.priority is not None
                kept = find_placed(key, caps[mine.side], mine.priority[record])
                both.append((record[kept], key[kept]))
            found.append(Placed(both[0], both[1], one.bins, one.pairs))
        return found

    def caps(self, task: Task) -> list[dict[Side, int]]:
        return [dict(one.caps or dict.fromkeys(Side, self.cap)) for one in task.blocking.passes]

    def cascades(self, task: Task) -> bool:
        return bool(task.one_to_one) and task.output.learner is None and not task.output.answers

    def made_anew(self, task: Task, step: int) -> bool:
        return task.output.answers and step in answer_steps(len(task.blocking.passes))

    def require_engine(self, task: Task, engine: Engine) -> None:
        require_holding(engine).hold(task.lowered.node)

    def question(self, task: Task, sizes: tuple[int, int]) -> Question:
        """What is asked of tables of these sizes, where an answer is."""
        passes, asker = task.blocking.passes, self.lanes(task, sizes)[0].asker
        entries = [{side: one.per_record(side) for side in Side} for one in passes]
        most = pairs_of_one(entries, self.caps(task))
        return Question(
            task.output, asker, most, dict(zip(Side, sizes, strict=True)), self.over == "leave-out"
        )

    def equal(self, task: Task) -> frozenset[str]:
        """None: one key in 2⁶⁴ is another's by chance."""
        return frozenset()

    def lanes(self, task: Task, sizes: tuple[int, int]) -> list[Lane]:
        """Every pass, for tables of A and of B of these sizes."""
        by_side = dict(zip(Side, sizes, strict=True))
        entries = [{s: by_side[s] * one.per_record(s) for s in Side} for one in task.blocking.passes]
        asker = task.output.learner or self._asker(entries, self.caps(task))
        both = enumerate(zip(entries, self.caps(task), strict=True))
        return [Lane(number, some, caps, asker) for number, (some, caps) in both]

    def _asker(self, entries: list[dict[Side, int]], caps: list[dict[Side, int]]) -> Side:
        """As agreed, or the side with fewer queries, which are what is compared; A if they are as many."""
        if self.asks is not None:
            return Side(self.asks)
        both = list(zip(entries, caps, strict=True))
        asked = {s: sum(some[s] * cap[s.other] for some, cap in both) for s in Side}
        return Side.A if asked[Side.A] <= asked[Side.B] else Side.B

    def refuse_sizes(self, task: Task, side: Side, own: int, partner: int) -> str:
        sizes = (own, partner) if side is Side.A else (partner, own)
        most = max(max(lane.queries, lane.programmed) for lane in self.lanes(task, sizes))
        if most > MOST:
            return (
                f"routed would list {most:,} values in one pass, more than {MOST:,}. Take smaller caps or "
                "tables."
            )
        if task.output.answers and self.question(task, sizes).bits > MOST_BITS:
            return "The answer with its noise may be too large a number. Take a smaller range, or a larger ε."
        return ""

    def refuse_resume(self, task: Task, own_steps: int, partner_steps: int, resumes: int) -> str:
        """After many attempts, unless nothing is to be asked: in each the asker can ask for something else,
        and the lister would not notice."""
        before, passes = 1 if task.output.learner is None else 2, len(task.blocking.passes)
        steps = before + (2 * passes - 1 if self.cascades(task) else passes)
        passes_kept = min(own_steps, partner_steps) >= steps
        if resumes < MOST_RESUMES or passes_kept:
            return ""
        return (
            f"The run was resumed {resumes} times, and each attempt at a pass is another set of questions. "
            "Both start again with `accord link`, which counts as a run."
        )

    # -- what it leaks and costs --------------------------------------------------------------------------

    def guarantee(self, task: Task, side: Side) -> Guarantee:
        cost = self._event(task, side).cost
        if cost is None:
            return tell_exactly(task.output)
        if task.output.answers:
            people = whom(task.output.records_per_person, of_answer=True)
            line = f"{task.output.told}, with noise which hides {people}: {cost.describe()};"
            return Guarantee("answer", cost.epsilon, cost.delta, (line,), unless=cost.unless)
        if task.output.learner is side:
            return Guarantee("nothing", cost.epsilon, cost.delta, unless=cost.unless)
        return Guarantee(
            "nothing",
            cost.epsilon,
            cost.delta,
            self._tell_displaced(task, side),
            self._tell_meeting(task, side),
            cost.unless,
        )

    def _tell_meeting(self, task: Task, side: Side) -> tuple[str, ...]:
        """What the partner learns of the passes in which a pair met."""
        asker = task.output.learner or (None if self.asks is None else Side(self.asks))
        if not self.cascades(task):
            told = ("to the side that asks: in which passes, and at which rank, a matching pair met;",)
            return () if asker is side else told
        first = (
            "in which pass a matching pair first met. Its earlier keys then differ, are missing or are full, "
            "which no disclosed column may say;"
        )
        return (first,) if asker is side else (first, "to the side that asks: at which rank it met there;")

    def _tell_displaced(self, task: Task, side: Side) -> tuple[str, ...]:
        """What the partner can notice of full keys of which records are left out."""
        if self.over == "refuse":
            return ()
        return (
            f"where more than {self._tell_caps(task, side)} of its records share a key: which of these took "
            "part. A record that matches nothing can take the place of one that matches there;",
        )

    def _tell_caps(self, task: Task, side: Side) -> str:
        caps = sorted({cap[side] for cap in self.caps(task)})
        return f"{caps[0]:,}" if len(caps) == 1 else f"{caps[0]:,} to {caps[-1]:,} (by pass)"

    def widths(self, task: Task) -> list[int]:
        # Noise follows from keys and caps alone.
        return self.question(task, (1, 1)).within() if task.output.answers else []

    def advice(self, task: Task) -> list[str]:
        if self.over == "refuse":
            return [
                'Whether a run is refused (over = "refuse"), or a cap was raised, tells something of a table.'
            ]
        return []

    def share_found(self, task: Task) -> float | None:
        """What full keys leave out depends on the data."""
        return None if self.over == "leave-out" else 1.0

    def expected_found(self, task: Task) -> float | None:
        """All of them: what full keys leave out is in `meets`."""
        return 1.0

    def meets(
        self, task: Task, tables: Tables, rows: Ints, samples: Mapping[Side, Sample]
    ) -> NDArray[np.float64]:
        apart, found = np.ones(len(rows)), []
        for one, caps in zip(task.blocking.passes, self.caps(task), strict=True):
            placed = prod(samples[side].sharers(one).placed(caps[side]) for side in Side)
            found.append(apart * placed * one.compares(tables, rows, rows))
            apart = apart - found[-1]
        return np.column_stack(found)

    def expect_covered(self, task: Task, samples: Mapping[Side, Sample]) -> float:
        sides = [side for side in Side if self.guarantee(task, side).unless and not task.output.answers]
        caps = list(zip(task.blocking.passes, self.caps(task), strict=True))
        return min((samples[s].covered((one, of[s]) for one, of in caps) for s in sides), default=1.0)

    def price(self, task: Task, sizes: tuple[int, int], counts: tuple[Ints, Ints]) -> int:
        return sum(lane.bins for lane in self.lanes(task, sizes))

    def sends(self, task: Task, sizes: tuple[int, int]) -> int:
        lanes = self.lanes(task, sizes)
        words, learner = self.circuit(task, sizes).words, task.output.learner
        sealed = 0
        if learner is not None:
            sealed = sealed_bytes(task.output.row_bytes) * sizes[list(Side).index(learner.other)]
        return 2 * COMMITMENT + routing_bytes(lanes, words) + sealed + CONFIRMED

    def circuit(self, task: Task, sizes: tuple[int, int]) -> Opened:
        """What the engine is asked."""
        lanes = self.lanes(task, sizes)
        if task.output.answers:
            return answer_circuit(task, lanes, self.question(task, sizes))
        return held_circuit(task, lanes[0].asker)


def _require_short(records: Records, most: int) -> None:
    """Raise if a record shows more than is sealed of each."""
    taken = taken_bytes(records)
    long = int((taken > most).sum())
    if long:
        problem = f"{counted(long, 'record')} with an id and disclosed columns of more than {most:,} bytes."
        # Rounded: the longest row itself would stand in the agreement, for the partner to read.
        enough = 1 << (int(taken.max()) - 1).bit_length()
        mend = f"Agree on row_bytes = {enough} in [output], or disclose less."
        if enough > MOST_SEALED:
            mend = f"Disclose less: row_bytes is at most {MOST_SEALED:,}."
        raise DataError("the table", [DataFault("", problem)], mend)


class _RoutedRelease(Release):
    """No bins, whose number has no limit here. Noise of an answer is drawn in the run (routed_answers.py)."""

    def draw(self, records: Records, entropy: Entropy) -> Ints:
        return np.zeros(0, np.int64)
