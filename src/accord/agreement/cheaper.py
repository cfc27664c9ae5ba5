"""Similarities whose thresholds cost bytes that a neighbour would spare.

Dice and Jaccard are compared as w·|a ∧ b| ≥ v·(|a| + |b|) with whole numbers that follow from the threshold's
denominator: at 0.7418 = 3709/5000 they have twelve bits more than at 0.75 = 3/4, and every bit is paid for in
every comparison. Priced is the whole rule, as the engine will run it (secure/cost.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np

from accord.agreement.document import Agreement, OtOptions
from accord.exact import text
from accord.rules.lowering import lower
from accord.rules.rule import Rule, Similar, predicates, rebuild
from accord.secure.blocks import Blocks
from accord.secure.cost import price
from accord.secure.ot.settings import USUAL

NEAR = Fraction(1, 100)
_SMALL = (2, 4, 5, 8, 10, 16, 20)
"""Denominators that are cheap, all with at most four decimals."""
_WORTH = 1.25
"""Saved bytes that are worth a word."""
_ROWS = 64
_MOST = 16
"""Costly thresholds of a rule that are priced: each takes the rule to be compiled some times over."""


def cheaper_thresholds(agreement: Agreement) -> list[str]:
    """For each similarity with a costly threshold: what it costs, and the neighbour that costs the least."""
    fine = [p for p in predicates(agreement.rule) if isinstance(p, Similar) and p.measure != "cosine"]
    fine = [p for p in dict.fromkeys(fine) if p.bound.denominator not in (1, *_SMALL)]
    if not fine or agreement.engine.name not in ("ot", "dual"):
        return []
    now, notes = _bytes(agreement, agreement.rule), []
    for one in fine[:_MOST]:
        priced = [(_bytes(agreement, _put(agreement.rule, one, b)), b) for b in _near(one.bound)]
        least, bound = min(priced, key=lambda each: (each[0], abs(each[1] - one.bound)), default=(now, None))
        if bound is not None and now >= _WORTH * least:
            notes.append(
                f"'{one}' makes a comparison cost {now:,.0f} bytes, {now / least:.1f} times as many as "
                f"'{replace(one, bound=bound)}' ({least:,.0f}): {text(one.bound)} has a large denominator."
            )
    return notes


def _near(bound: Fraction) -> Iterator[Fraction]:
    """Thresholds within a hundredth of this one that have a small denominator."""
    tried = {Fraction(round(bound * q) + step, q) for q in _SMALL for step in (-1, 0, 1)}
    yield from (b for b in sorted(tried) if 0 < b <= 1 and abs(b - bound) <= NEAR)


def _put(rule: Rule, old: Similar, bound: Fraction) -> Rule:
    """The rule with another threshold in one of its predicates."""
    return replace(old, bound=bound) if rule == old else rebuild(rule, lambda part: _put(part, old, bound))


def _bytes(agreement: Agreement, rule: Rule) -> float:
    """Of one comparison, in a block of usual size."""
    node = lower(rule, agreement.fields, agreement.protocol.equal(agreement.task)).node
    blocks, engine = Blocks.of_sizes(np.array([_ROWS]), np.array([_ROWS])), agreement.engine
    settings = engine.settings if isinstance(engine, OtOptions) else USUAL
    return price(node, blocks, engine.name, settings).bytes / blocks.pairs
