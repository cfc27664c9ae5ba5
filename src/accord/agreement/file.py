"""Reading an agreement: the file, or the list of everything that is wrong with it.

Each part is judged by itself, so that a slip in one does not hide the slips in the others: first the shape of
every part, then what the parts say about each other, on all the parts that have the right shape. A fault
names its line and how to mend it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, TypeAdapter, ValidationError

from accord.agreement.document import (
    PARTY_PATTERN,
    SALT_PATTERN,
    Agreement,
    DisclosedColumns,
    Parties,
    RuleText,
)
from accord.agreement.limits import MOST_BYTES, TooMuchError, load_bounded
from accord.arguments import as_path, require, require_flag, require_text
from accord.errors import AgreementError, Fault, UnreadableError
from accord.matching.blocking import (
    MOST_BINS,
    MOST_PER_RECORD,
    PASS_PATTERN,
    AnyPart,
    PartSpec,
    PassSpec,
    build_blocking,
    pass_names,
)
from accord.matching.blocking_lsh import LshSpec
from accord.matching.rule import Rule, fields_of
from accord.matching.rule_check import rule_faults
from accord.protocols.base import Protocol
from accord.protocols.registry import PROTOCOLS, ProtocolOptions
from accord.records.schema import DIGEST_PATTERN, LIST_PATTERN, NAME_PATTERN, FieldSpec, is_made
from accord.side import Side
from accord.spelling import did_you_mean

Path_ = tuple[str | int, ...]
_MOST_FAULTS = 1000
_A_LIST = 'write ["day", "name"]'
_LISTS = {
    "pass": "write [[blocking.pass]] before each",
    "parts": 'write parts = [{ kind = "key", field = "day" }]',
    "shares": 'write shares = ["1/100", "1/1000"]',
    "clean": 'write clean = ["accents", "punctuation"]',
}
"""How lists are written, by what they are of."""
_PATTERNS = {
    PARTY_PATTERN: "should begin with a letter or digit and hold letters, digits, blanks, dots, - and _ only",
    SALT_PATTERN: "should be 8 to 64 hexadecimal digits",
    PASS_PATTERN: "should begin with a letter or digit and hold letters, digits, blanks and , . + - _ only",
    LIST_PATTERN: "should begin with a letter or digit and hold letters, digits, dots, - and _ only",
    DIGEST_PATTERN: "should be sha256: and 64 hexadecimal digits; `accord check --digest-of LIST` prints it",
    NAME_PATTERN: "should begin with a letter and hold letters, digits and _ only",
}


def read_agreement(path: Path | str) -> Agreement:
    """Read and judge an agreement file."""
    path = as_path("path", path)
    try:
        with path.open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
        if len(raw) > MOST_BYTES:
            raise UnreadableError(path=path, reason="it is larger than 4 MiB", mend="Is it an agreement?")
        return parse_agreement(raw.decode("utf-8"), str(path))
    except OSError as error:
        reason = (error.strerror or "it cannot be opened").lower()
        raise UnreadableError(path=path, reason=reason, mend="Start one with: accord init") from None
    except UnicodeDecodeError:
        raise UnreadableError(path=path, reason="it is not UTF-8", mend="Save it as UTF-8.") from None


def parse_agreement(text: str, name: str = "the agreement", simulated: bool = False) -> Agreement:
    """Read an agreement from its text; raise all its faults at once.

    `simulated`: it will never be used between two parties, so that what leaks or misses much may stand in it.
    """
    require_text("text", text)
    require_text("name", name)
    require_flag("simulated", simulated)
    try:
        return _parse(text, name, simulated)
    except RecursionError:
        raise AgreementError(name, [Fault("", "It is nested too deeply.")]) from None


def _parse(text: str, name: str, simulated: bool) -> Agreement:
    try:
        data = load_bounded(text)
    except TooMuchError as error:
        raise AgreementError(name, [Fault("", f"No agreement needs so much: {error}.")]) from None
    except tomllib.TOMLDecodeError as error:
        raise AgreementError(name, [Fault("", f"This is not TOML: {error}.")]) from None
    lines = _lines(text)
    found = [*_shape_faults(data), *_meaning_faults(_salvage(data), simulated)]
    if found:
        ordered = sorted(found, key=lambda fault: _line(lines, fault[0]))
        raise AgreementError(name, [Fault(_place(lines, path), problem) for path, problem in ordered])
    return Agreement.model_validate(data)


def require_sound(agreement: Agreement, simulated: bool = False) -> None:
    """Judge an agreement that was built in Python as one that was read from a file."""
    require("agreement", agreement, "an Agreement, such as accord.read_agreement(PATH) gives", Agreement)
    parse_agreement(agreement.to_toml(), "the agreement", simulated)


# -- the shape of each part -------------------------------------------------------------------------------


def _shape_faults(data: Mapping[str, Any]) -> Iterator[tuple[Path_, str]]:
    try:
        Agreement.model_validate(data)
    except ValidationError as error:
        # Who wrote thousands mends the first of them first; to find the words for each takes its time.
        slips = error.errors(include_url=False, include_input=False)[:_MOST_FAULTS]
        # A list of which every entry is faulty is not too short.
        within = {slip["loc"][:i] for slip in slips for i in range(1, len(slip["loc"]))}
        for slip in slips:
            if slip["type"] == "too_short" and slip["loc"] in within:
                continue
            path = _toml_path(slip["loc"], data, slip["type"] == "missing")
            words = _in_words(slip["type"], slip["msg"], slip.get("ctx", {}), path)
            yield path, _say_one_for_both(path, data) or words


def _toml_path(location: tuple[str | int, ...], data: Any, missing: bool) -> Path_:
    """Pydantic's location without the names of union members, which do not stand in the file."""
    path: list[str | int] = []
    node = data
    for i, step in enumerate(location):
        inside = (isinstance(node, Mapping) and step in node) or (
            isinstance(node, list) and isinstance(step, int) and step < len(node)
        )
        if inside:
            path.append(step)
            node = node[step]
        elif missing and i == len(location) - 1:
            path.append(step)
    return tuple(path)


def _say_one_for_both(path: Path_, data: Mapping[str, Any]) -> str:
    """Of a table for one side, under a protocol that has none: what is wrong; otherwise nothing."""
    if path not in (("protocol", "A"), ("protocol", "B")):
        return ""
    name = data["protocol"].get("name")
    kind = PROTOCOLS.get(str(name))
    if kind is None or path[1] in kind.model_fields:
        return ""
    return f"{name} takes no options for each side. Remove [protocol.{path[1]}]."


def _in_words(kind: str, message: str, context: Mapping[str, Any], path: Path_) -> str:
    name = path[-1] if path else "agreement"
    if kind == "missing":
        return f"'{name}' is missing. Add it."
    if kind == "extra_forbidden":
        known = _all_names()
        fault = "does not belong here" if name in known else "is not known here"
        return f"'{name}' {fault}. {did_you_mean(str(name), known, 'Remove it.')}"
    if kind == "union_tag_invalid":
        return f"'{context['tag']}' is not known here. Known are {context['expected_tags']}."
    if kind == "union_tag_not_found":
        which = f"part {name + 1}" if isinstance(name, int) else f"'{name}'"
        return f"{which} needs the key {context['discriminator']}."
    if kind == "string_too_short":
        return f"'{name}' must not be empty."
    if kind == "too_short":
        return f"'{name}' needs at least one entry."
    if kind == "string_pattern_mismatch":
        return f"'{name}' {_PATTERNS.get(context['pattern'], 'has a form that is not allowed')}."
    if kind in ("tuple_type", "list_type"):
        return f"'{name}' should be a list: {_LISTS.get(str(name), _A_LIST)}."
    plain = message.removeprefix("Value error, ").removeprefix("Input ")
    end = "" if plain.endswith("?") else "."
    return f"'{name}' {plain}{end}" if plain.startswith(("should", "must")) else f"{plain}{end}"


def _all_names() -> list[str]:
    """Every key that can stand in an agreement, for suggestions."""
    names: dict[str, None] = {}
    models: list[Any] = [Agreement]
    while models:
        model = models.pop()
        if isinstance(model, type) and issubclass(model, BaseModel):
            names.update(dict.fromkeys(info.alias or name for name, info in model.model_fields.items()))
            models += [info.annotation for info in model.model_fields.values()]
        else:
            models += [arg for arg in get_args(model) if arg is not model]
    return list(names)


# -- what the parts say about each other ------------------------------------------------------------------


@dataclass
class _Pass:
    """A pass: where its parts stand, what it is called, those of its parts that have the right shape, and how
    many there are."""

    place: Path_
    name: str | None
    parts: dict[int, AnyPart]
    count: int


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
    one_to_one: bool

    @property
    def blocked(self) -> bool:
        return self.written or any(one.count for one in self.passes)

    @property
    def blocking_fields(self) -> list[str]:
        return [name for one in self.passes for part in one.parts.values() for name in part.names]


def _valid(kind: Any, value: Any) -> Any:
    try:
        return TypeAdapter(kind).validate_python(value)
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
        one_to_one=data.get("one_to_one") is True,
    )


def _salvage_passes(raw: Any) -> list[_Pass]:
    """The passes of a blocking, however it is written."""
    if isinstance(raw, list):
        return [_salvage_pass(("blocking",), None, raw)]
    passes = raw.get("pass") if isinstance(raw, Mapping) else None
    return [
        _salvage_pass(("blocking", "pass", i, "parts"), one.get("name"), one.get("parts"))
        for i, one in enumerate(passes if isinstance(passes, list) else [])
        if isinstance(one, Mapping)
    ]


def _salvage_pass(place: Path_, name: Any, raw: Any) -> _Pass:
    parts = raw if isinstance(raw, list) else []
    judged = {i: _valid(PartSpec, part) for i, part in enumerate(parts)}
    kept = {i: part for i, part in judged.items() if part is not None}
    return _Pass(place, name if isinstance(name, str) else None, kept, len(parts))


def _meaning_faults(found: _Salvaged, simulated: bool) -> Iterator[tuple[Path_, str]]:
    if found.parties:
        yield from _party_faults(found.parties)
    if found.disclose and "id" in found.disclose.A + found.disclose.B:
        yield ("disclose",), "the id of a matching record is always disclosed; remove 'id'."
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


def _party_faults(parties: Parties) -> Iterator[tuple[Path_, str]]:
    if parties.A == parties.B:
        yield ("parties", "B"), "the two parties must have different names."
    for side, name in (("A", parties.A), ("B", parties.B)):
        if name in ("A", "B", "a", "b"):
            yield ("parties", side), "a party needs a name of its own; A and B name the sides."


def _source_faults(fields: Mapping[str, FieldSpec]) -> Iterator[tuple[Path_, str]]:
    """A name is a column or a field that is made of others, never both: else nobody could tell which."""
    for name, spec in fields.items():
        for column in spec.sources:
            if column != name and is_made(column, fields):
                of = ", ".join(fields[column].sources)
                problem = f"'{column}' is a field made of {of}, and a field is made of columns."
                yield ("fields", name, "from"), f"{problem} Name the columns themselves."


def _blocking_faults(found: _Salvaged) -> Iterator[tuple[Path_, str]]:
    sound = True
    for one in found.passes:
        faults = list(_pass_faults(one, found))
        yield from faults
        known = all(name in found.fields for part in one.parts.values() for name in part.names)
        sound = sound and not faults and known and len(one.parts) == one.count > 0
    names = pass_names([one.name for one in found.passes])
    for i, name in enumerate(names):
        if name in names[:i]:
            problem = f"another pass is called '{name}', too; reports could not tell them apart."
            yield (*found.passes[i].place[:-1], "name"), f"{problem} Choose another name."
    if sound and found.passes:
        yield from _bin_faults(found)


def _pass_faults(one: _Pass, found: _Salvaged) -> Iterator[tuple[Path_, str]]:
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
            yield from ((place, fault) for fault in part.faults(found.fields))
    hashed = [i for i, part in one.parts.items() if isinstance(part, LshSpec)]
    if len(hashed) > 1:
        yield (*one.place, hashed[1]), "a pass has at most one part of kind lsh; make a pass of this one."


def _bin_faults(found: _Salvaged) -> Iterator[tuple[Path_, str]]:
    passes = [PassSpec(parts=tuple(one.parts.values())) for one in found.passes]
    built = [build_blocking([one], found.fields, "") for one in passes]
    each = [one.bins for one in built]
    most = max(sum(one.per_record(side) for one in built) for side in Side)
    if most > MOST_PER_RECORD:
        problem = f"a record would fall into {most:,} bins, and noise hides it in at most {MOST_PER_RECORD}"
        yield ("blocking",), f"{problem}. Take fewer passes or tables, or larger cells."
    if sum(each) > MOST_BINS:
        largest = each.index(max(each))
        problem = f"the blocking has {sum(each):,} bins, and at most {MOST_BINS:,} can be padded."
        if len(each) > 1:
            problem += f" This pass has {each[largest]:,} of them."
        place = found.passes[largest].place
        mend = "Take larger cells, shorter ranges or buckets."
        yield (*place, 0) if len(place) == 1 else place, f"{problem} {mend}"


def _protocol_faults(found: _Salvaged, simulated: bool) -> Iterator[tuple[Path_, str]]:
    if found.kind is not None and found.kind.leaky and not simulated:
        problem = f"{found.name} leaks, so no agreement may name it"
        yield ("protocol", "name"), f"{problem}; try it with `accord simulate --protocol`."
    if found.kind is not None and found.blocked and not found.kind.blocked:
        problem = f"{found.name} compares everything; remove the blocking or take 'laplace'."
        yield ("blocking",), problem
    if found.kind is not None and found.kind.blocked and not found.blocked:
        yield ("protocol",), f"{found.name} needs a blocking; add [[blocking]] or take 'all-pairs'."
    if found.rule is None or found.disclose is None:
        return
    chosen_by = fields_of(found.rule)
    if found.greedy:
        problem = "greedy discloses the fields of rule and blocking of matched records"
        yield from _hidden_faults(found, [*chosen_by, *found.blocking_fields], problem, "greedy = false")
    if found.one_to_one:
        problem = "one_to_one chooses among matches by the fields of the rule, which both sides must see"
        yield from _hidden_faults(found, chosen_by, problem, "one_to_one = false")


def _hidden_faults(
    found: _Salvaged, names: Sequence[str], problem: str, otherwise: str
) -> Iterator[tuple[Path_, str]]:
    """Fields that matching records must show, and that a side does not disclose."""
    assert found.disclose is not None
    known = [name for name in dict.fromkeys(names) if name in found.fields or name in found.broken]
    for side, columns in (("A", found.disclose.A), ("B", found.disclose.B)):
        hidden = [name for name in known if not _is_shown(name, columns, found.fields)]
        if hidden:
            mend = f"add {', '.join(hidden)} to disclose.{side} or set {otherwise}."
            yield ("disclose", side), f"{problem}; {mend}"


def _is_shown(name: str, disclosed: Sequence[str], fields: Mapping[str, FieldSpec]) -> bool:
    """Whether the value of a field is disclosed: by itself, or with the columns that it is made of."""
    if name in disclosed and (name not in fields or is_made(name, fields)):
        return True
    columns = fields[name].columns(name) if name in fields else (name,)
    return all(column in disclosed for column in columns)


# -- where things stand in the file -----------------------------------------------------------------------

_HEADER = re.compile(r"\s*(\[\[?)\s*([^\]]+?)\s*\]")
_KEY = re.compile(r"""\s*("[^"]*"|'[^']*'|[A-Za-z0-9_.-]+)\s*=""")


def _lines(text: str) -> dict[Path_, int]:
    """The line of every table and key."""
    lines: dict[Path_, int] = {}
    table: Path_ = ()
    seen: dict[Path_, int] = {}
    """The number of the last table of each list of tables."""
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            table = ()
            for name in _split(header[2]):
                # Inside a list of tables a header goes on with the last of them.
                table = (*table, *((seen[table],) if table in seen else ()), name)
            if header[1] == "[[":
                seen[table] = seen.get(table, -1) + 1
                table = (*table, seen[table])
            for depth in range(1, len(table) + 1):
                lines.setdefault(table[:depth], number)
        elif key := _KEY.match(line):
            lines.setdefault((*table, *_split(key[1])), number)
    return lines


def _split(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in dotted.split("."))


def _line(lines: Mapping[Path_, int], path: Path_) -> int:
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path, 0)


def _place(lines: Mapping[Path_, int], path: Path_) -> str:
    dotted = "".join(f"[{step + 1}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")
    line = _line(lines, path)
    return f"line {line}, {dotted}" if line else dotted
