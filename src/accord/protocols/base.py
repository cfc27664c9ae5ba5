"""What a protocol is, and what it is given to work on.

A protocol is one class in one file: its options are the fields that an agreement writes down, and everything
that anybody has to know of it follows from them by the methods below. Nobody else asks which protocol it is.

    in an agreement   its options; `faults`; whether it needs a blocking
    before a run      `release`: what is told of a table of some size, and the noise that hides it; `padding`
    a side            `counts` and `make_slots`: what is fixed before the first message
    a run             `party`; what it needs of the engine, of the two sizes, and to be resumed
    what it leaks     `leakage`, in words and as data; `advice`
    what it costs     `price`, from public numbers

Every protocol ends in an `Outcome`, after both sides have compared a keyed digest of it. Noise is an argument
of whatever needs it, since it is kept: whoever runs a protocol has stored the noise, and paid for it, before
anything is sent.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator

from accord.entropy import KEY, Entropy
from accord.fields.columns import Records
from accord.fields.schema import is_shown
from accord.privacy.calibration import Setting, warnings
from accord.privacy.events import Cost, Event
from accord.protocols.parts.answers import Question
from accord.protocols.parts.bound import Bounds, Most
from accord.protocols.parts.disclosed import Shape
from accord.protocols.parts.lanes import Lane
from accord.protocols.parts.outcome import Outcome
from accord.protocols.parts.output import PAIRS, Output
from accord.protocols.parts.own_side import OwnSide
from accord.protocols.parts.priorities import priorities
from accord.protocols.parts.schedule import Schedule
from accord.protocols.parts.slots import ANY_PADDING, NO_PADDING, Padding, Slots, shuffle_slots
from accord.protocols.sharing import Sample
from accord.rules.blocking.base import AnyPart, Blocking
from accord.rules.blocking.passes import Placed
from accord.rules.evaluate import Tables
from accord.rules.lowering import Lowered, lower
from accord.rules.rule import Rule, fields_of
from accord.rules.thresholds import Fields
from accord.secure.circuit import Circuit
from accord.secure.engine import Engine
from accord.secure.party import Party
from accord.side import Side
from accord.spec import Spec

Ints = NDArray[np.int64]
Blockings = Sequence[Sequence[AnyPart]]
"""The parts of each pass."""
Fault = tuple[tuple[str | int, ...], str]
"""(where in the agreement, what is wrong and what to do)"""


def _chosen_by(value: object) -> object:
    if value is False or value in ("score", "pairs"):
        return value
    raise ValueError('must be false, "score" or "pairs"')


OneToOne = Annotated[Literal[False, "score", "pairs"], BeforeValidator(_chosen_by)]
"""By what both sides keep a one-to-one set of the pairs found (one_to_one.py); False: all are kept."""
Options = dict[str, object]
"""A protocol as an agreement writes it."""


@dataclass(frozen=True)
class Task:
    """What both parties agreed to do, in the terms of a protocol. Public, and the same on both sides."""

    rule: Rule
    fields: Fields
    blocking: Blocking
    blocking_fields: tuple[str, ...]
    placement: bytes
    """Everything on which a record's bins depend, and whether it is left out, in canonical bytes."""
    protocol: Protocol
    disclose: Mapping[Side, tuple[str, ...]]
    salt: str
    one_to_one: OneToOne = False
    most_matches: Bounds = field(default_factory=dict)
    """The most records that each side shows (bound.py); all that match, if it has no bound."""
    output: Output = PAIRS
    """What comes out, and for whom."""

    @cached_property
    def lowered(self) -> Lowered:
        """The circuit that is left of the rule after what the protocol guarantees of compared pairs."""
        return lower(self.rule, self.fields, self.protocol.equal(self))

    @cached_property
    def shown_fields(self) -> tuple[str, ...]:
        """The fields that a disclosed record brings along, encoded."""
        shown = self.protocol.shown_fields(self)
        return tuple(dict.fromkeys([*shown, *self.chosen_by, *self.checked_by]))

    def shape(self, side: Side, records: int, slots: int) -> Shape:
        """Of what a side with so many records and slots discloses."""
        return Shape(self.fields, self.shown_fields, self.disclose[side], records, slots)

    @property
    def chosen_by(self) -> tuple[str, ...]:
        """The fields by which both sides choose among the pairs found."""
        return fields_of(self.rule) if self.one_to_one == "score" else ()

    @property
    def checked_by(self) -> tuple[str, ...]:
        """The fields by which both sides check every match under the rule (disclose.py): all of the rule,
        where both show them in any case. Greedy has checks of its own."""
        hidden = self.protocol.shown_fields(self) or self.output.learner or self.output.answers
        return () if hidden or self.unseen else fields_of(self.rule)

    @property
    def unseen(self) -> tuple[str, ...]:
        """The fields of the rule that a side does not show with a match: without them no match is checked."""
        return tuple(
            name
            for name in fields_of(self.rule)
            if not all(is_shown(name, self.disclose[side], self.fields) for side in Side)
        )


@dataclass(frozen=True)
class Release:
    """What a run tells of one side's table besides its size and its matches. This one: nothing."""

    task: Task
    side: Side
    event: Event | None
    """What the ledger is told; None where nothing is promised, so that no ledger may be asked."""
    setting: Setting | None = None
    """The noise on bin counts, where there is some."""

    def draw(self, records: Records, entropy: Entropy) -> Ints:
        """Fresh noise for this table: what `make_slots` is given."""
        return np.zeros(self.task.blocking.bins, np.int64)

    def foresee(self, counts: Ints, records: int, entropy: Entropy) -> Ints:
        """Bin sizes such as the partner would see, of a table of so many records with these true ones: for
        planning, from randomness of its own, and never sent."""
        return counts

    @property
    def place(self) -> bytes:
        """Where records are placed, in canonical bytes: the blocking with its bins and rules, the side."""
        return self.side.value.encode() + self.task.placement


@dataclass(frozen=True)
class PassCoverage:
    """A pass with a cap, for the owner alone."""

    name: str
    cap: int
    uncovered: int
    """Records that share a key with `cap` or more others, where the promise then does not hold for them."""
    left_out: int
    """Records that find no place in it, each counted for each of its keys."""


@dataclass(frozen=True, eq=False, repr=False)
class Coverage:
    """For which records of a table the promise does not hold, by its condition [MATHS §10.4]. For the owner
    alone: nothing of it is sent, signed or agreed on."""

    uncovered: NDArray[np.bool_]
    """By record."""
    passes: tuple[PassCoverage, ...] = ()
    placed: float | None = None
    """The expected share of all records that find a place in some pass; None without caps."""

    @property
    def count(self) -> int:
        return int(self.uncovered.sum())


@dataclass(frozen=True)
class Guarantee:
    """What is told of all records of a side, those that match nothing included, and what protects them."""

    told: str
    """nothing; an answer to which all add; noisy counts; or what a plug-in tells, in words."""
    epsilon: Fraction | None
    delta: Fraction | None
    """For each record that matches nothing, or each person (`records_per_person`); None without any
    guarantee."""
    of_all: tuple[str, ...] = ()
    """In words: what the partner learns of all records."""
    of_matches: tuple[str, ...] = ()
    """In words: what the bins of a matching record tell of it."""
    unless: str = ""
    """When ε and δ do not hold; empty where they always do."""


NOTHING_TOLD = Guarantee("nothing", Fraction(0), Fraction(0))


def tell_exactly(output: Output, *also: str) -> Guarantee:
    """An answer without noise, of which nothing is promised, and what else is told."""
    line = f"exactly {output.told}, without noise: what that tells of single records, nothing hides;"
    return Guarantee("answer", None, None, (line, *also))


@dataclass(frozen=True)
class Values:
    """What an intersection works on: values that one side lists, and those that the other asks for."""

    listed: int
    asked: int


LearntFrom = Literal["nothing", "another table", "this table"]
"""Which of a side's records the rule was learnt from."""


@dataclass(frozen=True)
class Leakage:
    """Of one side's table the partner learns its size, and this: the whole of it."""

    guarantee: Guarantee
    bins: int
    """Something about so many bins; 0 where nothing is told of them."""
    columns: tuple[str, ...]
    """Of each matching record: its id and these columns."""
    fields: tuple[str, ...]
    """Of each matching record, in encoded form, so that its other matches are found: greedy."""
    beyond_blocking: bool
    """Whether matches that the blocking does not compare are among those found."""
    learnt_from: LearntFrom = "nothing"
    """What weights and threshold of the rule tell of its records, (ε, δ) does not cover."""
    chosen_by: tuple[str, ...] = ()
    """Of each matching record, in encoded form, so that both keep the same pairs: one-to-one by score."""
    one_to_one: OneToOne = False
    checked_by: tuple[str, ...] = ()
    """Of each matching record, in encoded form, so that both can check that it matches."""
    most: Most | None = None
    """How many records are shown at the most; None where all that match are."""

    @property
    def epsilon(self) -> Fraction | None:
        return self.guarantee.epsilon

    @property
    def delta(self) -> Fraction | None:
        return self.guarantee.delta

    @property
    def unless(self) -> str:
        return self.guarantee.unless

    @property
    def cost(self) -> Cost | None:
        """ε and δ with their condition; None where nothing is promised."""
        if self.epsilon is None or self.delta is None:
            return None
        return Cost(self.epsilon, self.delta, self.unless)

    def warnings(self, records: int | None) -> tuple[str, ...]:
        """What a careful person would say about ε and δ, for a table of so many records."""
        if self.epsilon is None or self.delta is None:
            return ()
        return warnings(self.epsilon, self.delta, records)


class Protocol(Spec):
    """What two parties can agree to do."""

    name: str
    blocked: ClassVar[bool] = True
    """Whether it needs a blocking; one that does not need it compares everything and refuses one."""
    lists_bins: ClassVar[bool] = True
    """Whether every bin of its blocking is filled up, so that all must be listed."""
    compares: ClassVar[bool] = True
    """Whether an engine compares records; one that does not has `values`."""
    padded: ClassVar[bool] = False
    """Whether it is one over bins (binned.py), whose slots are the records of every bin and dummies."""
    shares_matches: ClassVar[bool] = False
    """Whether match bits stay shared, and no record is in more pairs than is known: so that there are answers
    without names, and results for one side alone."""
    answers_exactly: ClassVar[bool] = False
    """Whether match bits stay shared where an exact answer is asked for, though a record may be in any number
    of pairs."""
    places: ClassVar[bool] = False
    """Whether a full key leaves records out, by the placing key of the installation (priorities.py)."""
    leaky: ClassVar[str] = ""
    """What it tells and should not: such a plug-in is for simulation and audit alone, and no agreement may
    name it."""
    promises: ClassVar[tuple[str, ...]] = ()
    """Which of epsilon and delta its options name; without either, a protocol that is not leaky has 0."""
    side_options: ClassVar[tuple[str, ...]] = ()
    """The options that each side has of its own."""
    options: ClassVar[tuple[str, ...]] = ()
    """The other options that a simulation may change."""

    # -- in an agreement ----------------------------------------------------------------------------------

    @classmethod
    @abstractmethod
    def draft(cls, epsilon: str, delta: str, noise: Mapping[Side, str]) -> Options:
        """The protocol with usual options and this promise to both sides; a noise may be left open."""

    def faults(
        self, rule: Rule, fields: Fields | None, blocking: Blockings, simulated: bool
    ) -> Iterator[Fault]:
        """What it misses in rule and blocking. *Requires* a rule that fits the fields, which are None where
        not all have the right shape."""
        yield from ()

    def records_per_person(self, task: Task, side: Side) -> int | None:
        """How many records of one person the promise to a side covers at once; None where it holds for any
        number, as at ε = 0, or where nothing is promised."""
        return None

    # -- before a run -------------------------------------------------------------------------------------

    @abstractmethod
    def release(
        self, task: Task, side: Side, records: int, noise: str | None = None, claimed: bool = False
    ) -> Release:
        """What a run tells of a table of so many records.

        `noise` replaces the agreed one. With `claimed` also a noise that does not keep its promise is taken,
        at what is true of it: for simulation and audit.
        """

    def refuse_records(self, task: Task, side: Side, records: Records) -> None:
        """Raise for a table that the agreement refuses, before anybody is called."""

    def refusals(self, task: Task, side: Side) -> tuple[str, ...]:
        """Of a table of this side: when it is refused before anybody is called, which the partner sees."""
        most = self.records_per_person(task, side) or 1
        return (f"a person has more than {most:,} of its records",) if most > 1 else ()

    def coverage(self, task: Task, side: Side, records: Records) -> Coverage:
        """For which records of a table the promise does not hold: none."""
        return Coverage(np.zeros(len(records), np.bool_))

    def padding(self, task: Task, side: Side, records: int) -> Padding:
        """The dummies that a side with so many records can have."""
        return NO_PADDING

    # -- a side -------------------------------------------------------------------------------------------

    @abstractmethod
    def counts(self, task: Task, side: Side, records: Records, noise: Ints) -> Ints:
        """The bin sizes that the partner will see."""

    @abstractmethod
    def make_slots(self, task: Task, side: Side, records: Records, noise: Ints, entropy: Entropy) -> Slots:
        """Fix this side's slots. *Requires* noise that was drawn for this very table."""

    # -- a run --------------------------------------------------------------------------------------------

    def made_anew(self, task: Task, step: int) -> bool:
        """Whether a step of the journal has another answer each time that it is done: shares."""
        return False

    @abstractmethod
    def party(self, task: Task, mine: OwnSide, engine: Engine) -> Party[Outcome]:
        """One side of the protocol."""

    def require_engine(self, task: Task, engine: Engine) -> None:
        """Raise `UnsupportedError` if the engine cannot do what is asked of it."""
        engine.supports(task.lowered.node)

    def refuse_sizes(self, task: Task, side: Side, own: int, partner: int) -> str:
        """Why tables of these sizes cannot be linked; empty where they can."""
        return ""

    def steps_at_once(self, task: Task) -> int:
        """How many steps of the journal may be under way at once (journal.py)."""
        return 1

    def refuse_resume(self, task: Task, own_steps: int, partner_steps: int, resumes: int) -> str:
        """Why a run that was cut after so many steps, and resumed so often, cannot go on; empty if it can."""
        return ""

    def equal(self, task: Task) -> frozenset[str]:
        """Fields on which every compared pair agrees, so that the engine need not compare them."""
        return task.blocking.equal

    def shown_fields(self, task: Task) -> tuple[str, ...]:
        """The fields that the protocol has a disclosed record bring along, encoded."""
        return ()

    # -- what it leaks and costs --------------------------------------------------------------------------

    @abstractmethod
    def guarantee(self, task: Task, side: Side) -> Guarantee:
        """What is told of all records of a side, by the theorem of the protocol's file."""

    def finds_beyond(self, task: Task) -> bool:
        """Whether matches are found that the blocking does not compare."""
        return False

    def leakage(self, task: Task, side: Side) -> Leakage:
        """What running this task reveals about a side, whatever the other side computes from it."""
        guarantee = self.guarantee(task, side)
        return Leakage(
            guarantee=guarantee,
            bins=0 if guarantee.told in ("nothing", "answer") else task.blocking.bins,
            columns=task.disclose[side],
            fields=self.shown_fields(task),
            beyond_blocking=self.finds_beyond(task),
            chosen_by=task.chosen_by,
            one_to_one=task.one_to_one,
            checked_by=() if task.chosen_by else task.checked_by,
            most=task.most_matches.get(side),
        )

    def question(self, task: Task, sizes: tuple[int, int]) -> Question | None:
        """What is asked of tables of A and B of these sizes, where an answer is."""
        return None

    def widths(self, task: Task) -> list[int]:
        """Within how much of the truth each number of an answer is, in 95 of 100 runs; none without one."""
        return []

    def advice(self, task: Task) -> list[str]:
        """What is allowed but worth knowing before signing."""
        return []

    def share_found(self, task: Task) -> float | None:
        """Of the matches that the blocking brings together, the share that is found; None if it depends on
        the data."""
        return 1.0

    def expected_found(self, task: Task) -> float | None:
        """The same of those that are expected to be brought together (`meets`)."""
        return self.share_found(task)

    def meets(
        self, task: Task, tables: Tables, rows: Ints, samples: Mapping[Side, Sample]
    ) -> NDArray[np.float64]:
        """How likely each of these rows of A first meets the row of B of its number in each pass, by row and
        pass, in tables like the samples; in one column where passes are not told apart."""
        return task.blocking.compares(tables, rows, rows).astype(np.float64)[:, None]

    def expect_covered(self, task: Task, samples: Mapping[Side, Sample]) -> float:
        """The expected share of records for which the guarantee holds, the lower of both sides, in tables
        like the samples. 1 where it holds without a condition."""
        return 1.0

    @abstractmethod
    def price(self, task: Task, sizes: tuple[int, int], counts: tuple[Ints, Ints]) -> int:
        """The most secure comparisons that a run makes, or values that it lists and asks for: from the sizes
        of A and B, and their bin sizes as both see them."""

    def values(self, task: Task, sizes: tuple[int, int]) -> Values | None:
        """What there is to intersect in tables of A and B of these sizes; None where records are compared."""
        return None

    def lanes(self, task: Task, sizes: tuple[int, int]) -> Sequence[Lane]:
        """What is routed in each pass for tables of A and of B of these sizes (routing.py); as many pairs as
        there are bins are compared, each by itself."""
        return ()

    def circuit(self, task: Task, sizes: tuple[int, int]) -> Circuit:
        """What the engine is asked."""
        return task.lowered.node

    def compared(self, task: Task, counts: tuple[Ints, Ints]) -> tuple[Ints, Ints] | None:
        """The rows of A and of B in each block that the engine is given, with these bin sizes; None where no
        engine is asked."""
        return None

    def place(self, task: Task, a: OwnSide, b: OwnSide) -> list[Placed]:
        """Who meets whom in a run of these two sides, pass by pass: for simulation, which sees both."""
        columns, sizes = (a.records.columns, b.records.columns), (len(a.records), len(b.records))
        return [one.place_both(columns, sizes) for one in task.blocking.passes]

    def caps(self, task: Task) -> Sequence[Mapping[Side, int]]:
        """By pass, how many records of each side with one key are compared; none where all are."""
        return ()

    def cascades(self, task: Task) -> bool:
        """Whether records that matched in a pass take no part in later ones (routed_pairs.py)."""
        return False

    def schedule(self, task: Task, counts: tuple[Ints, Ints]) -> Schedule | None:
        """What is compared when, with these bin sizes; None where no engine is asked."""
        return None

    @abstractmethod
    def sends(self, task: Task, sizes: tuple[int, int]) -> int:
        """Bytes in both directions, besides those of the engine and of records that match."""


class Slotless(Protocol):
    """A protocol without bins: nothing is fixed before the first message but what binds a side to its table,
    and a key that stays with the run."""

    def counts(self, task: Task, side: Side, records: Records, noise: Ints) -> Ints:
        return np.zeros(0, np.int64)

    def make_slots(self, task: Task, side: Side, records: Records, noise: Ints, entropy: Entropy) -> Slots:
        nothing = np.zeros(0, np.int64)
        return shuffle_slots(nothing, nothing, 0, records, entropy)


def prepare(
    task: Task,
    side: Side,
    records: Records,
    partner_size: int,
    noise: Ints,
    entropy: Entropy,
    released: tuple[Event, ...] = (),
    padding: Padding = ANY_PADDING,
) -> OwnSide:
    """My side of a new run. *Requires* noise that was drawn for this very table, as its release draws it."""
    slots = task.protocol.make_slots(task, side, records, noise, entropy)
    priority = None
    if task.protocol.places:
        # Of an installation that has one run: a linkage takes the key of its state instead.
        priority = priorities(entropy.stream("placing key").bytes(KEY), records.ids)
    own = side, records, partner_size, slots, entropy, released, padding
    return OwnSide(*own, priority=priority)
