"""What both parties agreed to do, in the terms of a protocol. Public, and the same on both sides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from accord.matching.blocking import Blocking
from accord.matching.lowering import Lowered, lower
from accord.matching.rule import Rule, fields_of
from accord.matching.thresholds import Fields
from accord.protocols.spec import AllPairs, Laplace
from accord.secure.circuit import Side


@dataclass(frozen=True)
class Task:
    """Rule, blocking, protocol and what is disclosed with a match."""

    rule: Rule
    fields: Fields
    blocking: Blocking
    blocking_fields: tuple[str, ...]
    protocol: Laplace | AllPairs
    disclose: Mapping[Side, tuple[str, ...]]

    @cached_property
    def lowered(self) -> Lowered:
        """The circuit that is left of the rule after what the blocking guarantees."""
        return lower(self.rule, self.fields, self.blocking.equal)

    @cached_property
    def shown_fields(self) -> tuple[str, ...]:
        """With greedy: the fields that a disclosed record brings along, encoded, so that the other side can
        check its match, find its other matches and see in which bins it was."""
        if not self.protocol.greedy:
            return ()
        return tuple(dict.fromkeys([*fields_of(self.rule), *self.blocking_fields]))
