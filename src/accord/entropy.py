"""The one door for randomness: where a secret comes from is an argument, never a global.

`System` is for real runs. `Seeded` is for tests and simulation only: whoever knows the seed knows every
mask. `Spent` stands where no randomness may be drawn any more. A named stream never repeats the bytes of
another stream, so noise and masks cannot mix.
"""

from __future__ import annotations

import hashlib
import os
from typing import Protocol


class Entropy(Protocol):
    """A source of uniform bytes that can be split into named, independent streams."""

    def bytes(self, count: int) -> bytes: ...

    def stream(self, name: str) -> Entropy: ...


class System:
    """The operating system's generator."""

    def bytes(self, count: int) -> bytes:
        return os.urandom(count)

    def stream(self, name: str) -> System:
        return self


class Seeded:
    """SHAKE-256 of a seed: the same bytes on every machine."""

    def __init__(self, seed: int | str) -> None:
        self._seed = str(seed)
        self._drawn = 0

    def bytes(self, count: int) -> bytes:
        label = f"accord/entropy/1:{self._drawn}:{self._seed}".encode()
        self._drawn += 1
        return hashlib.shake_256(label).digest(count)

    def stream(self, name: str) -> Seeded:
        return Seeded(f"{self._seed}/{name}")


class Spent:
    """A source that must not be asked."""

    def bytes(self, count: int) -> bytes:
        raise RuntimeError("randomness was asked for where none may be drawn")

    def stream(self, name: str) -> Spent:
        return self
