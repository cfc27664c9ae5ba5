"""What a run is expected to take, shown where it is decided about: `check`, and the consent to a linkage.

Sizes are those that the agreement expects, or else the partner is taken to be as large as oneself, which is
said. Time is this machine's own: as it was measured, or, where the work is small and nothing was measured
yet, as on a slow machine; only work that takes a while is worth a measurement.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from accord.agreement.document import Agreement, OtOptions
from accord.errors import AccordError
from accord.network import Network
from accord.planning.figures import Plan, Warning, lasting
from accord.planning.plan import NETWORKS, Own, Question, price_agreed
from accord.records.columns import Records
from accord.session.speed import Speedometer
from accord.side import Side
from accord.wording import sized

_WORTH_MEASURING = 1 << 21
"""Comparisons."""


@dataclass(frozen=True)
class Outlook:
    """What a run of the agreement as it stands comes to, and what to know of it."""

    plan: Plan
    assumed: bool
    """Whether the partner's size is a guess."""

    @property
    def warning(self) -> Warning | None:
        """The most important one; that matches may be missed is said of the blocking anyway."""
        return next((one for one in self.plan.warnings if one.code != "recall-unknown"), None)

    def describe(self, whose: str = "yours") -> str:
        """In one line."""
        agreed = self.plan.agreed
        low, high = (lasting(end) for end in (agreed.seconds.low, agreed.seconds.high))
        unit = "values to encrypt" if agreed.protocol.startswith("psi") else "comparisons"
        guess = f"; the partner's table is taken to be as large as {whose}" if self.assumed else ""
        return (
            f"{agreed.comparisons.expected:,.0f} {unit}, {sized(round(agreed.bytes.expected))}, "
            f"{low} to {high}{guess}"
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
            "warning": None if warning is None else {"code": warning.code, "text": warning.text},
        }


def look_ahead(
    agreement: Agreement, side: Side | None, records: Records | None, folder: Path | None
) -> Outlook | None:
    """What a run will take, as far as sizes are known; None where they are not, or nothing can be said."""
    own = Own(side, records) if side is not None and records is not None else None
    sizes = _sizes(agreement, side, records)
    if sizes is None:
        return None
    question = Question(sizes, agreed_network(agreement))
    try:
        meter = Speedometer(folder, measure=False)
        found = price_agreed(agreement, question, meter, own)
        if meter.guessed and found.agreed.comparisons.expected >= _WORTH_MEASURING:
            found = price_agreed(agreement, question, Speedometer(folder), own)
    except AccordError:
        # What is wrong with such sizes is said when the partner's is known; nothing rests on this.
        return None
    return Outlook(found, agreement.expected is None)


def agreed_network(agreement: Agreement) -> Network:
    """What lies between the parties, as they agree."""
    engine = agreement.engine
    return engine.settings.network if isinstance(engine, OtOptions) else NETWORKS["wan"]


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
