"""The stage of the demo: two made-up shops, each with its folder, and what is ready before they begin."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accord.agreement.document import Agreement
    from accord.session.state import State

ACCOUNT = "products"
"""What each shop calls the account of its table."""


@dataclass(frozen=True)
class Shop:
    """A party with its folder; its letter is its side."""

    name: str
    letter: str
    folder: Path

    @property
    def state(self) -> State:
        """Where `accord` keeps its state if this folder is the user's state folder."""
        from accord.session.state import State

        return State(self.folder / "accord")

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "XDG_STATE_HOME": str(self.folder)}


@dataclass(frozen=True)
class Stage:
    """What is ready before the two begin."""

    agreement: Agreement
    a: Shop
    b: Shop
    truth: Path
