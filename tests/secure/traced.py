"""A permutation that remembers what it was applied to: no tweak may come twice."""

from __future__ import annotations

import numpy as np

from accord.secure.transfer.permutation import Permutation, Words


class Traced(Permutation):
    """π that remembers what it was applied to, but for π(x) of the hash, which is made anew when needed."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Words] = []

    def apply(self, source: Words, name: str) -> Words:
        if name != "inner":
            self.seen.append(np.array(source).reshape(-1, 2))
        return super().apply(source, name)

    def repeated(self) -> int:
        inputs = np.concatenate(self.seen)
        return len(inputs) - len(np.unique(inputs, axis=0))
