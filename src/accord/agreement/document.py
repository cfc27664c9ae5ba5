"""The agreement: the one document that both parties sign up to.

It holds public facts only: names, fields, rule, blocking, privacy, protocol, what is disclosed with a match,
engine. Version 1 fixes every default, so that two installations never read one file in two ways; the
canonical bytes spell them out (but for options that came later, see `one_to_one`, protocols/parts/people.py
and fields/recipe.py), and their digest is what the parties compare before anything else.
Comments, the order of keys and the spelling of numbers and of the rule do not change the digest.
"""

from __future__ import annotations

import hashlib
import html
import json
from dataclasses import replace
from typing import Annotated, Any, Literal

import tomli_w
from pydantic import (
    AfterValidator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    PlainSerializer,
    PlainValidator,
    SerializerFunctionWrapHandler,
    StrictBool,
    StrictInt,
    StringConstraints,
    WithJsonSchema,
    model_serializer,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticKnownError, core_schema

from accord.agreement.learnt import Origin, learnt_about
from accord.errors import UsageError
from accord.fields.recipe import ColumnName
from accord.fields.schema import FieldSpec, Name, Spec, agreed_columns
from accord.network import Network
from accord.privacy.events import describe_cost
from accord.protocols.base import Leakage, OneToOne, Task
from accord.protocols.parts.bound import Bounds, MostRecords
from accord.protocols.parts.output import PAIRS, Output
from accord.protocols.parts.own_side import MOST_RECORDS
from accord.protocols.registry import ProtocolOptions
from accord.rules.blocking.base import (
    Blocking,
    BlockingSpec,
    PassSpec,
    build_blocking,
    passes_of,
)
from accord.rules.breakdown import tell_shortly
from accord.rules.rule import Rule
from accord.rules.text import parse_rule
from accord.secure.engine import Engine
from accord.secure.engines import engine_named, engine_names
from accord.secure.ot.settings import USUAL, Settings
from accord.side import Side
from accord.spec import OneOf

_DOMAIN = b"accord agreement 2\n"

_ENCODED = ("encoder",)
PARTY_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9 ._-]{0,63}$"
SALT_PATTERN = r"^[0-9a-f]{8,64}$"
PartyName = Annotated[str, StringConstraints(pattern=PARTY_PATTERN)]
Columns = Annotated[tuple[ColumnName, ...], Field(max_length=4096)]
"""Bounded, as the receipt names them all: see the limit there."""


MOST_COPIES = 64


def _say_once(fields: dict[str, FieldSpec]) -> dict[str, FieldSpec]:
    """A field that names itself says nothing: it has the same bytes as one that is silent."""
    silent: dict[str, dict[str, object]] = {name: {} for name in fields}
    for name, spec in fields.items():
        if spec.sources == (name,):
            silent[name]["sources"] = ()
    return {name: spec.model_copy(update=silent[name]) for name, spec in fields.items()}


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


class Copies(Spec):
    """The most records that one person or thing usually has in the table of each side."""

    A: StrictInt = Field(default=1, ge=1, le=MOST_COPIES)
    B: StrictInt = Field(default=1, ge=1, le=MOST_COPIES)

    def of(self, side: Side) -> int:
        return self.A if side is Side.A else self.B


class Expected(Spec):
    """How many records each side expects to have: for prices that both see before they begin."""

    A: StrictInt = Field(ge=1, le=MOST_RECORDS)
    B: StrictInt = Field(ge=1, le=MOST_RECORDS)
    copies: Copies = Copies()
    """The most records that one person or thing usually has in a table."""

    @model_serializer(mode="wrap")
    def _write(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Copies only where there are some."""
        return {name: value for name, value in write(self).items() if name != "copies" or self.has_copies}

    @property
    def has_copies(self) -> bool:
        """Whether a table may hold a person or thing several times."""
        return self.copies != Copies()

    @property
    def sizes(self) -> tuple[int, int]:
        return self.A, self.B


class MostMatches(Spec):
    """The most of its own records that each side shows to the other, as a number or a share of its table.

    A share is of the announced size, rounded down, and at least 1. Distinct records count, over all rounds,
    passes and slices; a resumed run goes on counting.
    """

    A: MostRecords | None = None
    B: MostRecords | None = None

    @model_validator(mode="after")
    def _says_something(self) -> MostMatches:
        if self.A is None and self.B is None:
            raise ValueError("most_matches needs A, B or both; without any bound leave it out")
        return self


class DisclosedColumns(Spec):
    """The columns of its matching records that each side shows to the other."""

    A: Columns = ()
    B: Columns = ()


def _deciding(field: dict[str, Any]) -> dict[str, Any]:
    """What decides whether a record with some value of a field, as it is written, is left out: how a value is
    encoded does not, unless the letters of a text are counted and known."""
    encoding = () if field.get("other") == "skip" else _ENCODED
    return {option: value for option, value in field.items() if option not in encoding}


def _network(value: str) -> str:
    try:
        return str(Network.parse(value))
    except UsageError as error:
        raise ValueError(str(error).removesuffix(".")) from None


class OtOptions(Spec):
    """The default engine: what the line between the parties is like, and whether LPN may be assumed."""

    name: Literal["ot"]
    network: Annotated[str, AfterValidator(_network)] = str(USUAL.network)
    """Mbit/s in each direction, by which bytes are traded for work, and milliseconds there and back."""
    silent: StrictBool = USUAL.silent
    """Whether large linkages take their oblivious transfers from LPN, which costs a fraction of the bytes;
    `false` does not assume LPN."""

    @property
    def settings(self) -> Settings:
        return Settings(Network.parse(self.network), self.silent)

    def build(self) -> Engine:
        return engine_named(self.name, self.settings)


class OtherEngine(Spec):
    """An engine without options."""

    name: Annotated[str, OneOf(lambda: engine_names()[1:])]
    """Which engine; `dual` needs a protocol with `greedy = false`."""

    def build(self) -> Engine:
        return engine_named(self.name)


class _ByName:
    """How pydantic reads an engine, by its name or as a table with its options, and describes it."""

    @staticmethod
    def _validate(value: object) -> OtOptions | OtherEngine:
        if isinstance(value, OtOptions | OtherEngine):
            return value
        if not isinstance(value, str | dict):
            raise ValueError('must be a name such as "ot", or a table')
        options: dict[str, object] = {"name": value} if isinstance(value, str) else value
        if "name" not in options:
            raise PydanticKnownError("union_tag_not_found", {"discriminator": "'name'"})
        if (name := str(options["name"])) not in engine_names():
            known = ", ".join(map(repr, engine_names()))
            of = {"discriminator": "'name'", "tag": name, "expected_tags": known}
            raise PydanticKnownError("union_tag_invalid", of)
        return (OtOptions if name == "ot" else OtherEngine).model_validate(options)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            self._validate, serialization=core_schema.plain_serializer_function_ser_schema(_short)
        )

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        tables = handler(
            core_schema.union_schema([kind.__pydantic_core_schema__ for kind in (OtOptions, OtherEngine)])
        )
        return {"anyOf": [*tables["anyOf"], {"enum": list(engine_names()), "type": "string"}]}


def _short(engine: OtOptions | OtherEngine) -> object:
    options = engine.model_dump(exclude_defaults=True)
    return engine.name if len(options) == 1 else options


EngineOptions = Annotated[OtOptions | OtherEngine, _ByName()]


_LATER = (
    "expected",
    "learnt_from",
    "most_matches",
    "one_to_one",
    "output",
)


class Agreement(Spec):
    """Everything that must be the same on both sides.

    What follows from it is computed when asked for and never kept: a copy with changes must not remember.
    """

    version: Literal[2]
    """Of this format. It fixes every default: a later version of Accord reads it in the same way."""
    salt: Annotated[str, StringConstraints(pattern=SALT_PATTERN)]
    """Public; spreads texts over hashes and filters. Nothing rests on its secrecy."""
    parties: Parties
    """The names of the two organisations."""
    fields: Annotated[dict[Name, FieldSpec], AfterValidator(_say_once)] = Field(min_length=1)
    """What records are compared on, by agreed names."""
    rule: RuleText
    """When two records match, such as `same(day) and hamming(name) <= 5`."""
    learnt_from: Origin | None = None
    """What the weights of the rule were learned from, if they were: nobody's (made-up) or public data,
    another table of a party or of both, or the very table that is `linked`. (ε, δ) does not cover what a
    rule tells of that data, and both are told so before they consent."""
    blocking: BlockingSpec = ()
    """Which pairs are compared: by parts that must all agree, or by passes of which one is enough."""
    protocol: ProtocolOptions
    """What travels between the two, and what it promises to each side."""
    output: Output = PAIRS
    """What comes out, and for whom: pairs, or an answer that shows nobody."""
    disclose: DisclosedColumns = DisclosedColumns()
    """Columns that a matching record shows, besides its id."""
    one_to_one: OneToOne = False
    """Keep pairs in which no record appears twice, best first: by `score`, or as `pairs` by their ids.
    `false` keeps all that were found. Dropped pairs were disclosed all the same."""
    most_matches: MostMatches | None = None
    """The most of its own records that each side shows in a run; without it, all that match."""
    engine: EngineOptions
    """How records are compared without being shown: a name, or a table with its options."""
    expected: Expected | None = None
    """How many records each side expects to have: by it a run is priced before it begins."""

    @model_serializer(mode="wrap")
    def _write(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """What was added later is not written at its default: agreements of before keep their digests."""
        later = type(self).model_fields.items()
        unsaid = [name for name, of in later if name in _LATER and getattr(self, name) == of.default]
        return {name: value for name, value in write(self).items() if name not in unsaid}

    def _facts(self) -> dict[str, str]:
        """What is worth seeing at first sight."""
        told = [describe_cost(self.leakage(side).cost) for side in Side]
        called = "pseudonym" if self.output.ids == "pseudonyms" else "id"
        shown = (f"{self.party(side)}: {', '.join((called, *self.disclosed(side)))}" for side in Side)
        ends = {"a match shows": "; ".join(shown)}
        if self.output.answers:
            ends = {"answer": f"{self.output.answer}; nobody is shown"}
        return {
            "parties": f"{self.parties.A} (A) and {self.parties.B} (B)",
            "a match is": tell_shortly(self.rule),
            "blocking": ", ".join(f"{one.name or 'one pass'}" for one in self.passes) or "none",
            "protocol": f"{self.protocol.name}; A: {told[0]}; B: {told[1]}",
            **ends,
            "digest": self.digest,
        }

    def __repr__(self) -> str:
        """From what is written alone: also of an agreement that is not sound."""
        names = f"{self.parties.A} and {self.parties.B}"
        return f"<Agreement: {names}, {self.protocol.name}, digest {self.digest[:16]}…>"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        """For notebooks. Every text is escaped: the partner wrote some of it."""
        rows = (
            f"<tr><th>{name}</th><td>{html.escape(text)}</td></tr>" for name, text in self._facts().items()
        )
        return f"<table>{''.join(rows)}</table>"

    def canonical(self) -> bytes:
        """The bytes that are compared: a domain tag, then JSON with sorted keys and the defaults."""
        plain = self.model_dump(mode="json") | {"engine": self.engine.model_dump(mode="json")}
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
        return build_blocking(self.passes, self.fields)

    @property
    def passes(self) -> tuple[PassSpec, ...]:
        """The passes of the blocking, however it is written; none where everything is compared."""
        return passes_of(self.blocking)

    @property
    def blocking_fields(self) -> tuple[str, ...]:
        """The fields that decide about bins, each once."""
        names = (name for one in self.passes for part in one.parts for name in part.names)
        return tuple(dict.fromkeys(names))

    @property
    def task(self) -> Task:
        """What a protocol needs to know."""
        return Task(
            rule=self.rule,
            fields=self.fields,
            blocking=self.plan,
            blocking_fields=self.blocking_fields,
            placement=self._placement(),
            protocol=self.protocol,
            disclose={side: self.disclosed(side) for side in Side},
            salt=self.salt,
            one_to_one=self.one_to_one,
            most_matches=self.bounds,
            output=self.output,
        )

    def _placement(self) -> bytes:
        """Everything on which a record's bins depend: parts, their fields, the salt where free text is hashed
        with it, what the installed libraries make of texts; and what decides whether a record is left out."""
        # Imported here: reading an agreement needs no Arrow.
        from accord.fields.vectors import texts_digest

        fields, names = self.model_dump(mode="json", include={"fields"})["fields"], set(self.blocking_fields)
        skipping = {n for n, spec in fields.items() if "skip" in (spec.get("missing"), spec.get("other"))}
        # What a pass is called decides nothing; and one pass is one, in whichever way it is written.
        passes = [one.model_dump(mode="json")["parts"] for one in self.passes]
        parts = {
            "blocking": {"pass": passes} if len(passes) > 1 else [part for one in passes for part in one],
            "fields": {name: fields[name] for name in sorted(names)},
            "skip": {n: _deciding(fields[n]) for n in sorted(skipping - names)},
            "salt": self.salt if any(fields[name]["type"] == "text" for name in names) else None,
        }
        if any(fields[name]["type"] in ("text", "category") for name in names | skipping):
            # Else a row with a letter that is read in another way would decide whether noise is drawn anew.
            parts["texts"] = texts_digest().hex()
        return json.dumps(parts, sort_keys=True, separators=(",", ":")).encode()

    def leakage(self, side: Side) -> Leakage:
        """What the partner learns about this side's table."""
        told = self.protocol.leakage(self.task, side)
        return replace(told, learnt_from=learnt_about(self.learnt_from, side))

    @property
    def names(self) -> tuple[str, ...]:
        """Of the columns that fields are made of, and of disclosed ones: what a layout may map."""
        return agreed_columns(self.fields, [name for side in Side for name in self.kept_columns(side)])

    @property
    def bounds(self) -> Bounds:
        """The most records that each side shows, of the sides that have such a bound."""
        said = self.most_matches
        both = {} if said is None else {Side.A: said.A, Side.B: said.B}
        return {side: most for side, most in both.items() if most is not None}

    def disclosed(self, side: Side) -> tuple[str, ...]:
        return self.disclose.A if side is Side.A else self.disclose.B

    def kept_columns(self, side: Side) -> tuple[str, ...]:
        """Columns that are read besides those of fields: what is disclosed, or what an answer is made of."""
        return (*self.disclosed(side), *self.output.columns(side))

    def party(self, side: Side) -> str:
        return self.parties.A if side is Side.A else self.parties.B


if __name__ == "__main__":
    print(json.dumps(Agreement.model_json_schema(), indent=2, ensure_ascii=False))  # noqa: T201
