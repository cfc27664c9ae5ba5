"""One choice rule for both sides: what a batch's messages look like, from public sizes and constants alone.

The two parties agree on a network, "MBIT/MS" (bandwidth of each direction, round trip). From its bandwidth,
the program and the sizes of the blocks follow the size of the groups in each block, SoftSpoken's field, and
from where on OTs are made silently; the round trip decides nothing yet. Nothing here is measured when it
runs: two machines that differ must choose alike.

A group of k rows sends 1/k of the corrections and expands 2ᵏ/k times as much, and its tree takes
16·(k − 1) bytes a term, which only a wide block makes up for.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from accord.network import Network
from accord.secure.blocks import LONGEST, Blocks
from accord.secure.ot.program import Program
from accord.secure.transfer.lpn import REAL, Parameters

Ints = NDArray[np.int64]

GROUPS = (1, 2, 4, 6)
BETWEEN = Network(100, 20)
"""A line between two organisations, if they do not say."""

BYTE = 1.0
"""Nanoseconds that a byte of an expanded seed takes, AES and two additions, on a core that is shared."""
NODE = 20.0
"""Nanoseconds that a leaf of a tree takes before it is expanded."""
MANY = 1 << 19
"""From so many OTs in one direction on, a reserve saves more than it costs."""
SLOW = 400
"""Below so many Mbit/s bytes of an OT are worth work: SoftSpoken's largest field, and silent OTs."""


@dataclass(frozen=True)
class Settings:
    """What the parties agree on, and for measurements what would otherwise follow from it."""

    network: Network = BETWEEN
    silent: bool = True
    field: int | None = None
    group: int | None = None
    many: int = MANY
    code: Parameters = REAL

    @property
    def k(self) -> int:
        """SoftSpoken's field has 2ᵏ elements."""
        return self.field or (8 if self.network.megabits < SLOW else 4)

    @property
    def codes(self) -> tuple[Parameters, Parameters]:
        """The codes of silent OTs: of single ones for the distances, of double ones for the lookups."""
        return self.code, replace(self.code, planes=2)

    @property
    def saves(self) -> bool:
        """Whether OTs are silent where they are many."""
        return self.silent and self.network.megabits < SLOW

    def groups(self, program: Program, blocks: Blocks) -> Ints:
        """For each block, how many rows of A share a tree."""
        if self.group is not None:
            return np.full(len(blocks.a_counts), self.group)
        times = np.stack([self._time(program, blocks, k) for k in GROUPS])
        return np.array(GROUPS)[times.argmin(axis=0)]

    def _time(self, program: Program, blocks: Blocks, k: int) -> NDArray[np.float64]:
        """About the nanoseconds that the distances of a pair take, in each block, with groups of k rows."""
        members = np.clip(blocks.a_counts, 1, k)
        width = np.clip(blocks.b_counts, 1, LONGEST)
        corrections = sum(int(share.widths.sum()) for share in program.shares) / 8
        expanded = sum(len(share.form.shifts) * share.lane // 8 for share in program.shares)
        sent = corrections / members + 16 * program.terms * (members - 1) / (members * width)
        leaves = (1 << members) / members
        return (
            sent * 8000 / self.network.megabits
            + BYTE * expanded * leaves
            + NODE * program.terms * leaves / width
        )

    @property
    def hello(self) -> bytes:
        """What both sides must say alike: a digest of all settings."""
        return hashlib.sha256(repr(self).encode()).digest()[:8]


USUAL = Settings()
