"""Randomness for code that must use what is stored and may not draw again: there is none."""

from __future__ import annotations


class SpentError(Exception):
    """Fresh randomness was asked for where only stored randomness may be used."""


class Spent:
    """No randomness at all: any use raises."""

    def bytes(self, count: int) -> bytes:
        raise SpentError

    def stream(self, name: str) -> Spent:
        return self
