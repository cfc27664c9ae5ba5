"""A partner that lies in one thing: side B's part of the disclosure, changed by a test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from accord.agreement.document import Agreement
from accord.entropy import Seeded
from accord.protocols import linkage
from accord.secure.ideal import IdealEngine
from accord.secure.party import run_pair
from accord.side import Side
from tests.protocols import worlds


def lie(
    agreed: Agreement,
    a: worlds.Rows,
    b: worlds.Rows,
    meddle: Callable[[Any], None],
    engine: Any = None,
) -> None:
    """Run with a side B whose `GreedyClean` or `DiscloseAtEnd` a test has changed; A must notice."""
    entropy, chosen = Seeded(3), engine or IdealEngine()
    own_a = worlds.side(agreed, Side.A, a, entropy, partner=len(b))
    own_b = worlds.side(agreed, Side.B, b, entropy, partner=len(a))

    def lying(honest: Any) -> Callable[..., Any]:
        def make(*args: Any) -> Any:
            made = honest(*args)
            if made._mine.side is Side.B:
                meddle(made)
            return made

        return make

    with pytest.MonkeyPatch.context() as patch:
        for name in ("GreedyClean", "DiscloseAtEnd"):
            patch.setattr(linkage, name, lying(getattr(linkage, name)))
        run_pair(worlds.run(agreed.task, own_a, chosen), worlds.run(agreed.task, own_b, chosen))
