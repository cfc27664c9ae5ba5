"""The stage of the demo: two made-up parties, each with its folder, and what is ready before they begin."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accord.agreement.document import Agreement
    from accord.state.folder import State


class Scene(StrEnum):
    """What is linked; also what each party calls the account of its table."""

    people = "people"
    products = "products"

    @property
    def records(self) -> int:
        """As many a side as take some seconds: registers compare more of a pair than shops."""
        return 1_500 if self is Scene.people else 5_000


@dataclass(frozen=True)
class Actor:
    """A party with its folder; its letter is its side."""

    name: str
    letter: str
    folder: Path

    @property
    def table(self) -> Path:
        return self.folder / f"{self.letter.lower()}.csv"

    @property
    def state(self) -> State:
        """Where `accord` keeps its state if this folder is the user's state folder."""
        from accord.state.folder import State

        return State(self.folder / "accord")

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "XDG_STATE_HOME": str(self.folder)}


@dataclass(frozen=True)
class Stage:
    """What is ready before the two begin."""

    scene: Scene
    agreement: Agreement
    a: Actor
    b: Actor
    truth: Path
