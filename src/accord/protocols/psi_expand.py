"""psi-expand: PSI with expansion [HMFS17, §2.2]; one side lists every value that the rule accepts.

What it does, and what each side learns of it, stands in intersection.py; what a ball holds, in balls.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from accord.errors import UsageError
from accord.protocols.balls import MOST_LINES, ball_faults, expansion
from accord.protocols.base import Blockings, Fault, Options
from accord.protocols.intersection import Intersecting
from accord.rules.rule import Rule
from accord.rules.thresholds import Fields
from accord.side import Side


class PsiExpand(Intersecting):
    """PSI with expansion [HMFS17, §2.2]: one side lists every value that the rule accepts; ε = 0."""

    name: Literal["psi-expand"]

    @classmethod
    def draft(cls, epsilon: str, delta: str, noise: Mapping[Side, str]) -> Options:
        return {"name": "psi-expand"}

    def sought(self, rule: Rule) -> Rule:
        return rule

    def faults(
        self, rule: Rule, fields: Fields | None, blocking: Blockings, simulated: bool
    ) -> Iterator[Fault]:
        shapeless = list(ball_faults(rule))
        yield from ((("rule",), fault) for fault in shapeless)
        if shapeless or fields is None:
            return
        try:
            size = expansion(rule, fields)
        except UsageError as error:
            yield ("rule",), str(error)
            return
        if size > MOST_LINES:
            problem = f"the rule accepts {size:,} values for every record"
            mend = "Take a smaller threshold or another protocol."
            yield (
                ("rule",),
                f"{problem}, but psi-expand lists at most {MOST_LINES:,} for a whole table. {mend}",
            )
