"""What the parts of an agreement say about each other, judged on all the parts that have the right shape."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from accord.agreement.document import DisclosedColumns, Parties, RuleText
from accord.agreement.file_shape import Where
from accord.fields.schema import FieldSpec, is_made, is_shown
from accord.protocols.base import OneToOne, Protocol
from accord.protocols.one_to_one import asked_scores
from accord.protocols.parts.output import Output
from accord.protocols.registry import PROTOCOLS, ProtocolOptions
from accord.rules.blocking.base import (
    MOST_BINS,
    MOST_PER_RECORD,
    AnyPart,
    PartSpec,
    PassSpec,
    build_blocking,
    pass_names,
)
from accord.rules.check import rule_faults
from accord.rules.rule import Rule, fields_of
from accord.side import Side


@dataclass
class _Pass:
    """A pass: where its parts stand, what it is called, those of its parts that have the right shape, how
    many there are, and whether it has a cap."""

    place: Where
    name: str | None
    parts: dict[int, AnyPart]
    count: int
    capped: bool = False


@dataclass
class _Salvaged:
    """The parts that have the right shape; None or absent where a part has not."""

    fields: dict[str, FieldSpec]
    broken: frozenset[str]
    rule: Rule | None
    passes: list[_Pass]
    written: bool
    """Whether there are passes at all, be they ever so faulty."""
    name: str
    """Of the protocol."""
    kind: type[Protocol] | None
    protocol: Protocol | None
    greedy: bool
    parties: Parties | None
    disclose: DisclosedColumns | None
    one_to_one: OneToOne
    output: Output | None
    bounded: bool
    """Whether a side shows no more than so many records."""

    @property
    def lists_bins(self) -> bool:
        return self.kind is None or self.kind.lists_bins

    @property
    def blocked(self) -> bool:
        return self.written or any(one.count for one in self.passes)

    @property
    def blocking_fields(self) -> list[str]:
        return [name for one in self.passes for part in one.parts.values() for name in part.names]


# Kept: to make one takes longer than to judge by it, and a plan reads dozens of agreements.
_adapter = cache(TypeAdapter)


def _valid(kind: Any, value: Any) -> Any:
    try:
        return _adapter(kind).validate_python(value)
    except ValidationError:
        return None


def _default(kind: type[Protocol], option: str) -> Any:
    found = kind.model_fields.get(option)
    return None if found is None else found.default


def _salvage(data: Mapping[str, Any]) -> _Salvaged:
    raw_fields = data.get("fields")
    fields = raw_fields if isinstance(raw_fields, Mapping) else {}
    judged = {name: _valid(FieldSpec, spec) for name, spec in fields.items()}
    protocol = raw if isinstance(raw := data.get("protocol"), Mapping) else {}
    kind = PROTOCOLS.get(str(protocol.get("name")))
    return _Salvaged(
        fields={name: spec for name, spec in judged.items() if spec is not None},
        broken=frozenset(name for name, spec in judged.items() if spec is None),
        rule=_valid(RuleText, data.get("rule")),
        passes=_salvage_passes(data.get("blocking")),
        written=isinstance(data.get("blocking"), Mapping),
        name=str(protocol.get("name")),
        kind=kind,
        protocol=_valid(ProtocolOptions, protocol),
        greedy=kind is not None and protocol.get("greedy", _default(kind, "greedy")) is True,
        parties=_valid(Parties, data.get("parties")),
        disclose=_valid(DisclosedColumns, data.get("disclose", {})),
        one_to_one=_valid(OneToOne, data.get("one_to_one")) or False,
        output=_valid(Output, data.get("output", {})),
        bounded="most_matches" in data,
    )


def _salvage_passes(raw: Any) -> list[_Pass]:
    """The passes of a blocking, however it is written."""
    if isinstance(raw, list):
        return [_salvage_pass(("blocking",), None, raw)]
    passes = raw.get("pass") if isinstance(raw, Mapping) else None
    return [
        _salvage_pass(("blocking", "pass", i, "parts"), one.get("name"), one.get("parts"), "cap" in one)
        for i, one in enumerate(passes if isinstance(passes, list) else [])
        if isinstance(one, Mapping)
    ]


def _salvage_pass(place: Where, name: Any, raw: Any, capped: bool = False) -> _Pass:
    parts = raw if isinstance(raw, list) else []
    judged = {i: _valid(PartSpec, part) for i, part in enumerate(parts)}
    kept = {i: part for i, part in judged.items() if part is not None}
    return _Pass(place, name if isinstance(name, str) else None, kept, len(parts), capped)


def meaning_faults(data: Mapping[str, Any], simulated: bool) -> Iterator[tuple[Where, str]]:
    """Parts that do not fit each other."""
    found = _salvage(data)
    if found.parties:
        yield from _party_faults(found.parties)
    yield from _id_faults(found)
    yield from _output_faults(found)
    yield from _source_faults(found.fields)
    of_rule = rule_faults(found.rule, found.fields, found.broken) if found.rule is not None else []
    yield from ((("rule",), fault) for fault in of_rule)
    yield from _blocking_faults(found)
    yield from _protocol_faults(found, simulated)
    if found.rule is not None and found.protocol is not None and not of_rule:
        known = not found.broken.intersection(fields_of(found.rule))
        fields = found.fields if known else None
        blocking = [list(one.parts.values()) for one in found.passes]
        yield from found.protocol.faults(found.rule, fields, blocking, simulated)


def _party_faults(parties: Parties) -> Iterator[tuple[Where, str]]:
    if parties.A == parties.B:
        yield ("parties", "B"), "the two parties must have different names."
    for side, name in (("A", parties.A), ("B", parties.B)):
        if name in ("A", "B", "a", "b"):
            yield ("parties", side), "a party needs a name of its own; A and B name the sides."


def _id_faults(found: _Salvaged) -> Iterator[tuple[Where, str]]:
    """No column is called id: what a record is called says `output`."""
    if not found.disclose or "id" not in found.disclose.A + found.disclose.B:
        return
    if found.output is not None and found.output.ids == "pseudonyms":
        yield ("disclose",), "with pseudonyms no id is disclosed; remove 'id', or take ids = \"own\"."
    else:
        yield ("disclose",), "the id of a matching record is always disclosed; remove 'id'."


def _output_faults(found: _Salvaged) -> Iterator[tuple[Where, str]]:
    """What cannot come out, or not by this protocol."""
    output = found.output
    if output is None:
        return
    yield from ((("output",), fault) for fault in output.faults())
    yield from _hiding_faults(found, output)
    hidden = "an answer" if output.answers else "a result for one side" if output.learner is not None else ""
    if hidden and found.one_to_one:
        yield ("one_to_one",), f"{hidden} cannot be chosen from by both sides; remove one_to_one."
    if hidden and found.bounded:
        yield ("most_matches",), f"with {hidden} nobody counts what it shows; remove most_matches."
    if output.answers and found.disclose is not None and found.disclose.A + found.disclose.B:
        yield ("disclose",), "an answer shows nobody; remove disclose."


def _hiding_faults(found: _Salvaged, output: Output) -> Iterator[tuple[Where, str]]:
    """Answers, or a result for one side, that the protocol does not have."""
    if found.kind is not None and not found.kind.shares_matches:
        if output.answers and not found.kind.answers_exactly:
            problem = f"{found.name} shows who matches, and bounds by nothing how many a record does"
            yield ("output", "answer"), f"{problem}; answers need protocol 'routed'."
        elif output.answers and not output.exact:
            problem = "with all-pairs a record may match every other, and noise would have to hide them all"
            yield ("output", "epsilon"), f"{problem}; take protocol 'routed', or exact = true."
        if output.learner is not None:
            yield ("output", "to"), f"with {found.name} both sides see matches; take protocol 'routed'."
    if output.learner is not None and getattr(found.protocol, "asks", None) not in (None, output.to):
        yield ("protocol", "asks"), f"the side that learns the pairs asks, here {output.to}; remove asks."


def _source_faults(fields: Mapping[str, FieldSpec]) -> Iterator[tuple[Where, str]]:
    """A name is a column or a field that is made of others, never both: else nobody could tell which."""
    for name, spec in fields.items():
        for column in spec.sources:
            if column != name and is_made(column, fields):
                of = ", ".join(fields[column].sources)
                problem = f"'{column}' is a field made of {of}, and a field is made of columns."
                yield ("fields", name, "from"), f"{problem} Name the columns themselves."


def _blocking_faults(found: _Salvaged) -> Iterator[tuple[Where, str]]:
    sound = True
    for one in found.passes:
        faults = list(_pass_faults(one, found))
        yield from faults
        known = all(name in found.fields for part in one.parts.values() for name in part.names)
        sound = sound and not faults and known and len(one.parts) == one.count > 0
    names = pass_names([one.name for one in found.passes])
    for i, name in enumerate(names):
        if name in names[:i]:
            problem = f"another pass is also called '{name}'; reports could not tell them apart."
            yield (*found.passes[i].place[:-1], "name"), f"{problem} Choose another name."
    if sound and found.passes and found.lists_bins:
        yield from _bin_faults(found)


def _pass_faults(one: _Pass, found: _Salvaged) -> Iterator[tuple[Where, str]]:
    if one.capped and found.lists_bins:
        yield (*one.place[:-1], "cap"), "only routed has caps; remove it, or take protocol 'routed'."
    used: set[str] = set()
    for i, part in one.parts.items():
        place = (*one.place, i)
        for name in part.names:
            if name in used:
                yield place, f"'{name}' is used by another part of the blocking; remove one."
        used.update(part.names)
        unknown = [name for name in part.names if name not in found.fields]
        for name in unknown:
            if name not in found.broken:
                yield place, f"'{name}' is not an agreed field. Declare it under [fields.{name}]."
        if not unknown:
            yield from ((place, fault) for fault in part.faults(found.fields, found.lists_bins))


def _bin_faults(found: _Salvaged) -> Iterator[tuple[Where, str]]:
    passes = [PassSpec(parts=tuple(one.parts.values())) for one in found.passes]
    built = [build_blocking([one], found.fields) for one in passes]
    each = [one.bins for one in built]
    most = max(sum(one.per_record(side) for one in built) for side in Side)
    if most > MOST_PER_RECORD:
        problem = (
            f"a record would fall into {most:,} bins, but noise can hide it in at most {MOST_PER_RECORD}"
        )
        yield ("blocking",), f"{problem}. Take fewer passes or tables, or larger cells."
    if sum(each) > MOST_BINS:
        largest = each.index(max(each))
        problem = f"the blocking has {sum(each):,} bins, but at most {MOST_BINS:,} can be padded."
        if len(each) > 1:
            problem += f" This pass has {each[largest]:,} of them."
        place = found.passes[largest].place
        mend = "Take larger cells, shorter ranges or buckets."
        yield (*place, 0) if len(place) == 1 else place, f"{problem} {mend}"


def _protocol_faults(found: _Salvaged, simulated: bool) -> Iterator[tuple[Where, str]]:
    if found.kind is not None and found.kind.leaky and not simulated:
        problem = f"{found.name} leaks, so no agreement may name it"
        yield ("protocol", "name"), f"{problem}; try it with `accord simulate --set protocol=NAME`."
    if found.kind is not None and found.blocked and not found.kind.blocked:
        problem = f"{found.name} compares everything; remove the blocking or take 'laplace'."
        yield ("blocking",), problem
    if found.kind is not None and found.kind.blocked and not found.blocked:
        yield ("protocol",), f"{found.name} needs a blocking; add [[blocking]] or take 'all-pairs'."
    if found.rule is None or found.disclose is None:
        return
    if found.output is not None and found.output.answers:
        return
    chosen_by = fields_of(found.rule)
    if found.greedy:
        problem = "greedy discloses the fields of rule and blocking of matched records"
        yield from _hidden_faults(found, [*chosen_by, *found.blocking_fields], problem, "greedy = false")
    if found.one_to_one == "score" and not asked_scores(found.rule):
        yield ("one_to_one",), 'the rule does not ask for a score by which to choose; take "pairs".'
    elif found.one_to_one == "score":
        problem = "one_to_one chooses by the score, for which both sides must see the fields of the rule"
        yield from _hidden_faults(found, chosen_by, problem, 'one_to_one = "pairs"')


def _hidden_faults(
    found: _Salvaged, names: Sequence[str], problem: str, otherwise: str
) -> Iterator[tuple[Where, str]]:
    """Fields that matching records must show, and that a side does not disclose."""
    assert found.disclose is not None
    known = [name for name in dict.fromkeys(names) if name in found.fields or name in found.broken]
    for side, columns in (("A", found.disclose.A), ("B", found.disclose.B)):
        hidden = [name for name in known if not is_shown(name, columns, found.fields)]
        if hidden:
            mend = f"add {', '.join(hidden)} to disclose.{side} or set {otherwise}."
            yield ("disclose", side), f"{problem}; {mend}"
