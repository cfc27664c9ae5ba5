"""What a run is expected to take, shown where it is decided about: `check`, and the consent to a linkage.

Sizes are those that the agreement expects, or else the partner is assumed to be as large as oneself. Either
is said beside the figures. Time is this machine's own, as far as a guess of its pace goes (pace.py).
"""

from __future__ import annotations

from dataclasses import dataclass

from accord.agreement.document import Agreement
from accord.errors import AccordError
from accord.fields.columns import Records
from accord.forecast.pace import measure_pace
from accord.network import Network
from accord.planning.figures import Plan, Warning
from accord.planning.plan import OVERLAP, Own, PlanQuestion, agreed_network, price_agreed
from accord.side import Side
from accord.wording import counted, lasting, sized

_MORE = 1.25
"""From where on the network is worth a word beside the processor."""


@dataclass(frozen=True)
class Outlook:
    """What a run of the agreement as it stands comes to, and what to know of it."""

    plan: Plan
    assumed: bool
    """Whether the partner's size is a guess."""
    notes: tuple[str, ...] = ()
    """What else is worth knowing with tables of these sizes."""
    side: Side | None = None
    """Whose table was looked at; None where the agreement alone gives the sizes."""
    overlap: float = OVERLAP
    """The share of the smaller table that is taken to match."""

    @property
    def warning(self) -> Warning | None:
        """The most important one; that matches may be missed is said of the blocking anyway."""
        return next((one for one in self.plan.warnings if one.code != "recall-unknown"), None)

    def describe(self) -> str:
        """In one line, with the sizes that it is for."""
        made = self.plan.agreed.comparisons
        unit = "values to list or ask for" if self.plan.agreed.protocol.startswith("psi") else "comparisons"
        count = f"{made.expected:,.0f} {unit}{made.tell_most()}"
        sent = sized(round(self.plan.agreed.bytes.expected))
        return f"{count}, {sent}, {self._describe_time()}; {self._describe_sizes()}{self._describe_overlap()}"

    def _describe_sizes(self) -> str:
        a, b = self.plan.sizes
        if self.side is None:
            return f"for tables of {a:,} and {b:,} records, as agreed"
        partner = counted(b if self.side is Side.A else a, "record")
        if self.assumed:
            return f"for a partner table of {partner}: it is assumed to be as large as yours"
        return f"for a partner table of {partner}, as agreed"

    def _describe_overlap(self) -> str:
        """Where matches spare comparisons."""
        agreed = self.plan.agreed.agreement
        if not agreed.protocol.cascades(agreed.task):
            return ""
        return f", if {self.overlap:.0%} of the smaller table match"

    def _describe_time(self) -> str:
        """On this machine, and what the line makes of it."""
        work, whole = self.plan.agreed.work, self.plan.agreed.seconds.expected
        network = Network.parse(self.plan.network)
        line = f"a line of {network.megabits:g} Mbit/s and {network.milliseconds:g} ms"
        if whole <= _MORE * work.processor:
            return f"{lasting(whole)} on this machine and {line}"
        return (
            f"{lasting(work.processor)} on this machine; {lasting(whole)} on {line} "
            "(the network takes the time)"
        )

    def to_json(self) -> dict[str, object]:
        """The figures, and the warning by its code."""
        agreed = self.plan.agreed
        warning = self.warning
        return {
            "records": dict(zip(("A", "B"), self.plan.sizes, strict=True)),
            "assumed": self.assumed,
            "comparisons": agreed.comparisons.to_json(),
            "bytes": agreed.bytes.to_json(),
            "seconds": agreed.seconds.to_json(whole=False),
            "seconds_on_this_machine": float(f"{agreed.work.processor:.4g}"),
            "network": self.plan.network,
            "warning": None if warning is None else {"code": warning.code, "text": warning.text},
        }


def look_ahead(
    agreement: Agreement, side: Side | None, records: Records | None, overlap: float | None = None
) -> Outlook | None:
    """What a run will take, as far as sizes are known; None where they are not, or nothing can be said.
    `overlap` is the share of the smaller table that is expected to match."""
    if side is None and records is not None:
        side = _likely_side(agreement, records)
    own = Own(side, records) if side is not None and records is not None else None
    sizes = _sizes(agreement, side, records)
    if sizes is None:
        return None
    try:
        question = PlanQuestion(sizes, agreed_network(agreement), overlap, pace=measure_pace())
        found = price_agreed(agreement, question, own)
    except AccordError:
        # What is wrong with such sizes is said when the partner's is known; nothing rests on this.
        return None
    asked = agreement.protocol.question(agreement.task, sizes) if agreement.output.answers else None
    notes = () if asked is None else tuple(asked.tell_drowned())
    of = None if own is None else side
    return Outlook(found, agreement.expected is None, notes, of, question.share)


def _likely_side(agreement: Agreement, records: Records) -> Side:
    """Whose table it is if nobody says: whichever is expected to be about as large. How records fall into
    bins is much the same on both sides, and tells far more than sizes alone."""
    if agreement.expected is None:
        return Side.A
    a, b = agreement.expected.A, agreement.expected.B
    return Side.A if abs(a - records.size) <= abs(b - records.size) else Side.B


def _sizes(agreement: Agreement, side: Side | None, records: Records | None) -> tuple[int, int] | None:
    if agreement.expected is not None:
        a, b = agreement.expected.A, agreement.expected.B
    elif records is not None:
        a = b = records.size
    else:
        return None
    if records is None or side is None:
        return a, b
    return (records.size, b) if side is Side.A else (a, records.size)
