"""psi-expand: PSI with expansion [HMFS17, §2.2]; one side lists every value that the rule accepts.

For each record one side lists the ball around it (balls.py), the other asks for its values. The rest is in
`accord/protocols/intersection.py`: the asker learns for each of its own values which records it matches, and
not where in their balls it lies, so no distance. Values beyond a range are random ones. If both sides listed
half a ball, which for Hamming distances is far cheaper, each would see *which* values they share, and so the
distance and more: that is why one side lists it all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from accord.errors import UsageError
from accord.protocols.base import Blockings, Fault, Options, Task
from accord.protocols.intersection import MOST_LINES, Intersecting, Listing
from accord.rules.rule import Rule
from accord.rules.thresholds import Fields
from accord.side import Side
from reproduction.protocols.balls import Balls, ball_faults, expansion


class PsiExpand(Intersecting):
    """PSI with expansion [HMFS17, §2.2]: one side lists every value that the rule accepts; ε = 0."""

    name: Literal["psi-expand"]

    @classmethod
    def draft(cls, epsilon: str, delta: str, noise: Mapping[Side, str]) -> Options:
        return {"name": "psi-expand"}

    def listing(self, task: Task, side: Side) -> Listing:
        return Balls(task.rule, task.fields, side)

    def expansion(self, task: Task) -> int:
        return expansion(task.rule, task.fields)

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
