"""What both parties agreed to do, in the terms of a protocol. Public, and the same on both sides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from accord.matching.blocking import Blocking
from accord.matching.evaluate import Indices
from accord.matching.lowering import Lowered, lower
from accord.matching.rule import Rule, fields_of
from accord.matching.thresholds import Fields
from accord.protocols.spec import AnyProtocol, Binned, LocalDp, Psi, PsiExpand
from accord.side import Side


@dataclass(frozen=True)
class Task:
    """Rule, blocking, protocol and what is disclosed with a match."""

    rule: Rule
    fields: Fields
    blocking: Blocking
    blocking_fields: tuple[str, ...]
    protocol: AnyProtocol
    disclose: Mapping[Side, tuple[str, ...]]
    salt: str

    @property
    def binned(self) -> Binned:
        """The protocol, where it is one that compares bins."""
        if isinstance(self.protocol, Psi | PsiExpand):
            raise TypeError(f"{self.protocol.name} has no bins")
        return self.protocol

    @cached_property
    def lowered(self) -> Lowered:
        """The circuit that is left of the rule after what the blocking guarantees.

        Of a randomised bin nothing follows.
        """
        equal = frozenset[str]() if isinstance(self.protocol, LocalDp) else self.blocking.equal
        return lower(self.rule, self.fields, equal)

    def pairs(self) -> tuple[Indices, Indices]:
        """The pairs (bin of A, bin of B) that are compared, each once."""
        if not isinstance(self.protocol, LocalDp):
            return self.blocking.pairs()
        bins, window = self.blocking.bins, self.protocol.window
        left = np.repeat(np.arange(bins), window)
        return left, (left + np.tile(np.arange(window), bins)) % bins

    @cached_property
    def shown_fields(self) -> tuple[str, ...]:
        """With greedy: the fields that a disclosed record brings along, encoded, so that the other side can
        check its match, find its other matches and see in which bins it was."""
        if isinstance(self.protocol, Psi | PsiExpand) or not self.protocol.greedy:
            return ()
        return tuple(dict.fromkeys([*fields_of(self.rule), *self.blocking_fields]))
