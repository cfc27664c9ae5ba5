"""A plan: every sensible option priced, one of them chosen, with reasons. Nothing is spent, nobody is called.

variants.py   from one agreement the others
spread.py     how records fall into bins: three guesses, or one's own table
costs.py      what each comes to, by the prices of protocols and engines
saved.py      what matches spare
recall.py     what the blocking lets through
choose.py     which to take, and what to warn of
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accord.agreement.document import Agreement, OtOptions
from accord.agreement.file import require_sound
from accord.errors import AccordError, UsageError
from accord.fields.columns import Records
from accord.network import Network
from accord.planning import costs, saved
from accord.planning.choose import ANY, Wanted, choose, explain, is_as_good, warn
from accord.planning.costs import ALL, Drawn, Spared, Terms, is_greedy
from accord.planning.figures import Option, Plan, cost
from accord.planning.machine import Speed, speed_of
from accord.planning.made_up import NO_SALT, make_up_pairs, make_up_samples
from accord.planning.recall import recall_of, shares_met
from accord.planning.routes import map_grid, routed_variant
from accord.planning.spread import (
    CROWDED,
    EVEN,
    UNLISTED,
    USUAL,
    Spread,
    from_sizes,
    from_table,
    make_alike,
)
from accord.planning.variants import (
    EPSILONS,
    blockings,
    greedy_variants,
    other_protocols,
    tell_blocking,
    with_epsilon,
)
from accord.protocols.base import Release, Task
from accord.protocols.sharing import Sample
from accord.secure.engine import AtOnceEngine
from accord.side import Side

Floats = NDArray[np.float64]

NETWORKS = {"lan": Network(1000, 0.5), "wan": Network(100, 20)}
OVERLAP = 0.3
"""Of the smaller table, if nobody says."""
MOST_PLANNED = 20_000_000
"""Records of a side. A plan goes through the bins of each option, of which large tables have as many as
records: beyond this it takes minutes, and more memory than many machines have."""

MARGIN = 0.1
"""By how much a partner that is taken to be alike may differ, in comparisons."""

_MOST_COUNTED, _FEW_COUNTED = 1 << 20, 1 << 15
"""The most rows of a synthetic table by which it is counted how many share a key: where keys are chosen or
compared, and where costs alone are shown."""
_ROUTED_PAIRS = 6_000
"""Synthetic pairs on which keys are chosen; what they find is estimated on others."""
_FEW_PAIRS = 250_000
"""All of these are compared in seconds, so no keys are looked for."""
_MOST_ROUTES = 16
_routes: dict[str, tuple[Any, Any] | None] = {}
"""Blocking and protocol of what is routed, by fields, rule and sizes."""
_MOST_SETTLED = 4
"""Plans that are made one of the other's choice."""
_MOST_WALKED = 1 << 24
"""Comparisons up to which rounds are priced one by one; in more the short ones do not count."""


@dataclass(frozen=True)
class PlanQuestion:
    """What is asked: sizes of A and B, what lies between them, how many records both have, what is wanted."""

    sizes: tuple[int, int]
    network: Network
    overlap: float | None = None
    """The share of the smaller table that matches something; None where nobody knows."""
    wish: Wanted = ANY
    workers: int = 1
    """That share the comparisons on each side."""
    pace: float = 1.0
    """How many times as long this machine takes as the one whose times are written down: for times that are
    shown, and for no choice."""

    def __post_init__(self) -> None:
        if min(self.sizes) < 1:
            raise UsageError(problem="`records=` are the records of A and of B, at least 1 each.")
        if max(self.sizes) > MOST_PLANNED:
            problem = f"At most {MOST_PLANNED:,} records per side can be planned, by `records=` or as agreed."
            raise UsageError(
                problem=f"{problem} Plan for that many: the cost of more grows at least in proportion."
            )
        if not 0 <= self.share <= 1:
            raise UsageError(problem="`overlap=` is the share of the smaller table that matches: 0 to 1.")
        if self.wish.recall is not None and not 0 <= self.wish.recall <= 1:
            raise UsageError(problem="`recall=` is the share of all matches to be found: 0 to 1.")

    @property
    def share(self) -> float:
        """Of the smaller table, what is expected to match."""
        return OVERLAP if self.overlap is None else self.overlap


@dataclass(frozen=True)
class Own:
    """One's own table."""

    side: Side
    records: Records


def make_plan(agreement: Agreement, question: PlanQuestion) -> Plan:
    """The plan from the numbers of records alone."""
    require_sound(agreement)
    return _Planner(agreement, question, None, whole=True).plan()


def settle(agreement: Agreement, question: PlanQuestion) -> Plan:
    """The plan of what such plans choose again: for drafts and templates."""
    require_sound(agreement)
    known: dict[str, list[Option]] = {}
    found = _Planner(agreement, question, None, whole=True, known=known).plan()
    for _ in range(_MOST_SETTLED - 1):
        if found.choice.agreed:
            break
        found = _Planner(found.choice.agreement, question, None, whole=True, known=known).plan()
    return found


def route(agreement: Agreement, question: PlanQuestion) -> Agreement | None:
    """The agreement with routing, for tables of these sizes; None where nothing serves as a key."""
    return _Planner(agreement, question, None, whole=False).routed()


def price_agreed(agreement: Agreement, question: PlanQuestion, own: Own | None = None) -> Plan:
    """The agreement as it stands, and beside it what needs no blocking: shown where decisions are made. With
    one's own table its records are counted as they fall into bins."""
    planner = _Planner(agreement, question, own, whole=False)
    options = planner.options([agreement])
    options += planner.options([one for one in other_protocols(agreement) if not one.passes])
    return planner.decide(options)


def agreed_network(agreement: Agreement) -> Network:
    """What lies between the parties, as they agree."""
    engine = agreement.engine
    return engine.settings.network if isinstance(engine, OtOptions) else NETWORKS["wan"]


class _Planner:
    """Prices agreements under one question; the whole plan also chooses among them."""

    def __init__(
        self,
        agreement: Agreement,
        question: PlanQuestion,
        own: Own | None,
        *,
        whole: bool,
        known: dict[str, list[Option]] | None = None,
    ) -> None:
        """`known`: what planners of the same fields, rule and question have priced, by digest."""
        self._known = {} if known is None else known
        self._agreement, self._asked, self._own, self._whole = agreement, question, own, whole
        matches = round(question.share * min(question.sizes))
        self._terms = Terms(question.sizes, question.network, matches, question.workers, question.pace)
        self._priced: set[str] = set()

    def plan(self) -> Plan:
        agreed = self._agreement
        fewer = self._asked.wish.recall is not None
        others = blockings(agreed, self._asked.sizes, fewer)
        routed = self._routed()
        if routed is not None and _has_same_passes(routed, agreed):
            routed = None
        found = self.options([agreed, *other_protocols(agreed), *others, *([routed] if routed else [])])
        found += self.options(self._other_epsilons(found))
        return self.decide(found)

    def _routed(self) -> Agreement | None:
        """The agreement with routing, for tables that are not small, or if nothing else will do."""
        agreed, sizes = self._agreement, self._asked.sizes
        if sizes[0] * sizes[1] <= _FEW_PAIRS and not agreed.output.hides:
            return None
        return self.routed()

    def routed(self) -> Agreement | None:
        """The agreement with routing; None where nothing serves as a key. Keys and caps come from made-up
        records alone, whatever table there is: who agrees on them tells nothing of it. So it is the same for
        all that have its fields and its rule, and found once."""
        agreed, sizes = self._agreement, self._asked.sizes
        known = agreed.model_dump_json(include={"fields", "rule"})
        covered = self._asked.wish.covered
        known += repr((sizes, agreed.expected, map_grid(agreed), agreed.output, self._terms.matches, covered))
        if known not in _routes:
            while len(_routes) >= _MOST_ROUTES:
                _routes.pop(next(iter(_routes)))
            # Under one salt for all, on which no choice may depend.
            plain = agreed.model_copy(update={"salt": NO_SALT})
            pairs = make_up_pairs(plain, _ROUTED_PAIRS)
            samples = make_up_samples(plain, sizes, _MOST_COUNTED)
            found = routed_variant(plain, pairs, samples, covered, self._terms.matches)
            _routes[known] = None if found is None else (found.blocking, found.protocol)
        kept = _routes[known]
        return kept and agreed.model_copy(update={"blocking": kept[0], "protocol": kept[1]})

    def decide(self, options: list[Option]) -> Plan:
        wish = self._asked.wish.no_worse_than(next(option for option in options if option.agreed))
        choice, missed = choose(options, wish)
        return Plan(
            options=tuple(options),
            choice=choice,
            why=explain(options, choice, missed, wish),
            warnings=tuple(warn(options, choice, self._asked.sizes)),
            sizes=self._asked.sizes,
            network=str(self._asked.network),
            workers=self._asked.workers,
            missed=tuple(miss.name for miss in missed),
        )

    def _other_epsilons(self, options: list[Option]) -> list[Agreement]:
        """The cheapest of the agreed protocol that finds as much, at other ε."""
        agreed = next(one for one in options if one.agreed)
        same = [one for one in options if one.protocol == agreed.protocol]
        best = min((one for one in same if is_as_good(one, agreed)), key=cost, default=agreed)
        return [other for epsilon in EPSILONS if (other := with_epsilon(best.agreement, epsilon)) is not None]

    def options(self, agreements: list[Agreement]) -> list[Option]:
        """Each agreement with and without greedy, as far as it can be priced."""
        found = []
        for one in agreements:
            if one.digest in self._priced:
                continue
            try:
                found += self._price(one)
            except AccordError:
                # No noise keeps the promise, or the tables are too large for it: no option.
                if one is self._agreement:
                    raise
        return found

    def _price(self, agreement: Agreement) -> list[Option]:
        """With and without greedy; one that was priced before, alone."""
        if known := self._known.get(agreement.digest):
            self._priced.update(one.agreement.digest for one in known)
            return [replace(one, agreed=one.agreement == self._agreement) for one in known]
        found = self._price_anew(agreement)
        if self._own is None and len(found) == len(greedy_variants(agreement)):
            self._known[agreement.digest] = found
        return found

    def _price_anew(self, agreement: Agreement) -> list[Option]:
        sizes, task = self._asked.sizes, agreement.task
        for side, own, other in ((Side.A, *sizes), (Side.B, *sizes[::-1])):
            if problem := task.protocol.refuse_sizes(task, side, own, other):
                raise UsageError(problem=problem)
        told = costs.releases_of(task, sizes)
        fresh = [one for one in greedy_variants(agreement) if one.digest not in self._priced] or [agreement]
        self._priced.update(one.digest for one in fresh)
        spreads = self._spreads(task)
        foreseen = costs.foresee(task, told, spreads, sizes)
        _require_at_once(agreement, foreseen[0][0].comparisons)
        speed = speed_of(task.protocol.circuit(task, sizes), agreement.engine.name)
        return [self._option(one, one.task, told, foreseen, spreads, speed) for one in fresh]

    def _spreads(self, task: Task) -> list[Spread]:
        """As expected, then the least and the most that records may meet."""
        if not task.protocol.lists_bins:
            return [UNLISTED]
        if self._own is None:
            return [from_sizes(task.blocking, self._asked.sizes, skew) for skew in (USUAL, EVEN, CROWDED)]
        own = self._own
        partner = self._asked.sizes[1 if own.side is Side.A else 0]
        alike = make_alike(len(own.records), partner, self._asked.share)
        return [from_table(task.blocking, own.side, own.records, alike, tuple(task.blocking_fields))]

    def _spared(
        self, agreement: Agreement, task: Task, drawn: Drawn, spread: Spread, met: Floats | None
    ) -> Spared:
        """Which share of the comparisons is made, and what rounds of greedy cost. `met`: the shares of the
        matches that first meet in each pass."""
        if task.protocol.cascades(task):
            return saved.cascade(task, self._asked.sizes, self._terms.matches, met)
        if not is_greedy(agreement):
            return ALL
        share = saved.share_made(task, drawn, spread, self._asked.sizes, self._asked.share)
        price = costs.price_rounds(agreement, task)
        if price is None or not 0 < drawn.comparisons <= _MOST_WALKED:
            return Spared(share)
        return Spared(share, saved.price_schedule(task, drawn, price))

    def _option(
        self,
        agreement: Agreement,
        task: Task,
        told: dict[Side, Release],
        foreseen: list[list[Drawn]],
        spreads: list[Spread],
        speed: Speed,
    ) -> Option:
        # Without bins all follows from sizes.
        margin = MARGIN if self._own is not None and task.protocol.lists_bins else 0.0
        lossy = bool(task.blocking.losses(task.rule)) or task.protocol.share_found(task) is None
        met, covered = self._expect(task, lossy)
        spared = self._spared(agreement, task, foreseen[0][0], spreads[0], met)
        costed = costs.bill(agreement, task, foreseen, spared, speed, self._terms, margin)
        return Option(
            agreement=agreement,
            agreed=agreement == self._agreement,
            protocol=agreement.protocol.name,
            blocking=tell_blocking(agreement),
            greedy=is_greedy(agreement),
            all_pairs=not agreement.passes
            and task.protocol.compared(task, foreseen[0][0].counts) is not None,
            epsilon={side: _number(agreement.leakage(side).epsilon) for side in Side},
            unless={side: agreement.leakage(side).unless for side in Side},
            delta={side: _delta(agreement, told[side]) for side in Side},
            recall=recall_of(task, None if met is None else float(met.sum())),
            estimated=lossy,
            covered=covered,
            bins=task.blocking.bins if agreement.passes else 0,
            dummies=costed.dummies,
            comparisons=costed.comparisons,
            bytes=costed.bytes,
            rounds=costed.rounds,
            memory=costed.memory,
            seconds=costed.seconds,
            usual=costed.usual,
            work=costed.work,
            widths=tuple(task.protocol.widths(task)),
        )

    @cached_property
    def _pairs(self) -> tuple[Records, Records] | None:
        """Synthetic records, and row by row what they may look like at the partner's."""
        return make_up_pairs(self._agreement)

    @cached_property
    def _samples(self) -> dict[Side, Sample] | None:
        """By which it is told how many records share a key: one's own table, or synthetic ones."""
        sizes = self._asked.sizes
        if self._own is None:
            return make_up_samples(self._agreement, sizes, _MOST_COUNTED if self._whole else _FEW_COUNTED)
        columns, rows = self._own.records.columns, len(self._own.records)
        return {side: Sample.of(side, columns, rows, size) for side, size in zip(Side, sizes, strict=True)}

    def _expect(self, task: Task, lossy: bool) -> tuple[Floats | None, float | None]:
        """The shares of synthetic matches that first meet in each pass, and of synthetic records that are
        covered."""
        if task.protocol.lists_bins:
            return (self._met(task, {}) if lossy else np.ones(1)), 1.0
        if self._samples is None:
            return None, None
        return self._met(task, self._samples), task.protocol.expect_covered(task, self._samples)

    def _met(self, task: Task, samples: Mapping[Side, Sample]) -> Floats | None:
        return None if self._pairs is None else shares_met(task, *self._pairs, samples)


def _has_same_passes(one: Agreement, other: Agreement) -> bool:
    """Whether both route by the same keys and caps, in whatever order."""

    def passes(agreement: Agreement) -> set[str]:
        return {part.model_dump_json(exclude={"name"}) for part in agreement.passes}

    return one.protocol == other.protocol and passes(one) == passes(other)


def _number(value: Fraction | None) -> float | None:
    return None if value is None else float(value)


def _delta(agreement: Agreement, release: Release) -> float | None:
    """As it exactly is."""
    if release.setting is not None:
        return release.setting.delta_exact
    return _number(agreement.leakage(release.side).delta)


def _require_at_once(agreement: Agreement, comparisons: int) -> None:
    """Raise if the engine compares everything at once, and these are too many for it."""
    engine = agreement.engine.build()
    if not isinstance(engine, AtOnceEngine):
        return
    most = engine.most_pairs(agreement.task.lowered.node)
    if comparisons > most:
        problem = f"'{engine.name}' compares all at once, at most {most:,} pairs, not {comparisons:,}"
        raise UsageError(problem=f"{problem}. Agree on a finer blocking or on another engine.")
