"""The agreement: the one document that both parties sign up to.

It holds public facts only: names, fields, rule, blocking, privacy, protocol, what is disclosed with a match,
engine. Version 1 fixes every default, so that two installations never read one file in two ways; the
canonical bytes spell all of them out, and their digest is what the parties compare before anything else.
Comments, the order of keys and the spelling of numbers and of the rule do not change the digest.
"""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction
from typing import Annotated, Literal

import tomli_w
from pydantic import (
    Field,
    PlainSerializer,
    PlainValidator,
    StrictBool,
    StrictInt,
    StringConstraints,
    WithJsonSchema,
)

from accord.matching.blocking import Blocking, PartSpec, build_blocking
from accord.matching.lowering import Lowered, lower
from accord.matching.rule import Rule
from accord.matching.rule_text import parse_rule
from accord.records.schema import Exact, FieldSpec, Name, Spec
from accord.secure.circuit import Side

_DOMAIN = b"accord agreement 1\n"

PARTY_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9 ._-]{0,63}$"
SALT_PATTERN = r"^[0-9a-f]{8,64}$"
PartyName = Annotated[str, StringConstraints(pattern=PARTY_PATTERN)]
ColumnName = Annotated[str, StringConstraints(min_length=1, max_length=128)]


def _rule(value: object) -> Rule:
    if isinstance(value, Rule):
        return value
    if not isinstance(value, str):
        raise ValueError('must be a text such as "same(day) and hamming(name) <= 5"')
    return parse_rule(value)


RuleText = Annotated[
    Rule,
    PlainValidator(_rule),
    PlainSerializer(str, return_type=str),
    WithJsonSchema({"type": "string"}),
]


class Parties(Spec):
    """The two organisations, in the order in which the rule, the blocking and the output name them."""

    A: PartyName
    B: PartyName


class Privacy(Spec):
    """One side's guarantee for its records that match nothing, and the noise that gives it."""

    epsilon: Exact = Field(gt=0, le=64)
    delta: Exact = Field(ge=Fraction(1, 2**128), lt=1)
    noise: Literal["geometric", "gaussian", "paper", "negligible"]


class Laplace(Spec):
    """The Laplace Protocol [HMFS17, §4]: noisy bins, dummies, secure comparison of compared bins."""

    name: Literal["laplace"]
    A: Privacy
    B: Privacy
    sort: StrictBool = True
    prune: StrictInt = Field(default=0, ge=0, le=99)
    """Stop at this percentile of the bins' noisy sizes; 0 compares everything."""
    greedy: StrictBool = True
    """Greedy Match & Clean: matched records are disclosed at once and need no further comparison."""


class AllPairs(Spec):
    """Every record with every record: ε = 0, at the highest cost."""

    name: Literal["all-pairs"]
    greedy: StrictBool = True


class Disclosed(Spec):
    """The columns of its matching records that each side shows to the other."""

    A: tuple[ColumnName, ...] = ()
    B: tuple[ColumnName, ...] = ()


class Agreement(Spec):
    """Everything that must be the same on both sides.

    What follows from it is computed when asked for and never kept: a copy with changes must not remember.
    """

    version: Literal[1]
    salt: Annotated[str, StringConstraints(pattern=SALT_PATTERN)]
    """Public; spreads texts over hashes and filters. Nothing rests on its secrecy."""
    parties: Parties
    fields: dict[Name, FieldSpec] = Field(min_length=1)
    rule: RuleText
    blocking: tuple[PartSpec, ...] = ()
    protocol: Annotated[Laplace | AllPairs, Field(discriminator="name")]
    disclose: Disclosed = Disclosed()
    engine: Literal["ot"]

    def canonical(self) -> bytes:
        """The bytes that are compared: a domain tag, then JSON with sorted keys and every default."""
        plain = self.model_dump(mode="json")
        return _DOMAIN + json.dumps(plain, sort_keys=True, separators=(",", ":")).encode()

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical bytes, in hex."""
        return hashlib.sha256(self.canonical()).hexdigest()

    def to_toml(self) -> str:
        """The agreement as a file; reading it gives this agreement again."""
        return tomli_w.dumps(self.model_dump(mode="json", exclude_none=True))

    @property
    def plan(self) -> Blocking:
        """The blocking, ready to place records."""
        return build_blocking(self.blocking, self.fields)

    def lowered(self) -> Lowered:
        """The circuit that is left of the rule after what the blocking guarantees."""
        return lower(self.rule, self.fields, self.plan.equal)

    def privacy(self, side: Side) -> Privacy | None:
        """A side's budget and noise; none where the protocol reveals no noisy counts."""
        if isinstance(self.protocol, AllPairs):
            return None
        return self.protocol.A if side is Side.A else self.protocol.B

    def disclosed(self, side: Side) -> tuple[str, ...]:
        return self.disclose.A if side is Side.A else self.disclose.B

    def party(self, side: Side) -> str:
        return self.parties.A if side is Side.A else self.parties.B


if __name__ == "__main__":
    print(json.dumps(Agreement.model_json_schema(), indent=2, ensure_ascii=False))  # noqa: T201
