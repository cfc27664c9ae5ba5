"""What a draft is made of: the types that an owner confirmed, and the owner's answers. Nothing else is.

This is the border between a table and an agreement: whoever reads `Answers` knows all that a draft can tell
of a table. Fields are in the order of their types, whatever the order of columns; names of columns stay
outside.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

from pydantic import ValidationError

from accord.agreement.document import PARTY_PATTERN
from accord.drafting.kinds import LOCAL, MEANINGS, OF_PEOPLE, PARTS, SEVERAL, ColumnKind, Confirmed
from accord.errors import AgreementError, Fault
from accord.fields.cardinality import CLASSES, Cardinality
from accord.fields.cardinality import MEANINGS as OF_CLASSES
from accord.fields.making import parse_date
from accord.planning.plan import MOST_PLANNED
from accord.protocols.parts.output import Output
from accord.wording import did_you_mean

RANGED = {
    ColumnKind.BIRTH: ("1900-01-01", "2029-12-31"),
    ColumnKind.BIRTH_YEAR: ("1900", "2029"),
    ColumnKind.DATE: ("1900-01-01", "2099-12-31"),
    ColumnKind.YEAR: ("1000", "2099"),
    ColumnKind.PRICE: ("0", "100000"),
    ColumnKind.NUMBER: ("0", "1000000"),
    ColumnKind.LATITUDE: ("-90", "90"),
    ColumnKind.LONGITUDE: ("-180", "180"),
}
"""Types with a range, and the one where nobody says another."""
APART = {
    ColumnKind.DATE: "3",
    ColumnKind.YEAR: "1",
    ColumnKind.NUMBER: "1",
    ColumnKind.LATITUDE: "0.001",
}
"""Types whose values may lie apart, and by how much: days, years, units, degrees for both coordinates."""
LISTED = {ColumnKind.SEX: ("f", "m"), ColumnKind.CATEGORY: (), ColumnKind.YESNO: ("yes", "no")}
"""Types with a list of values; without one a category is hashed."""
_UNCOUNTED = {ColumnKind.MIDDLE, ColumnKind.SEX, ColumnKind.YESNO, ColumnKind.LATITUDE, ColumnKind.LONGITUDE}
COUNTED = frozenset(ColumnKind) - {*LOCAL, *PARTS, *_UNCOUNTED}
"""Types of which the owner says how many different values they have."""
MOST_COPIES = 64
TITLES = ("title", "name", "product", "item", ColumnKind.COMPANY)
"""What a text is called that names a thing or a firm."""
POLICIES = ("differs", "skip", "error")
_RESERVED = re.compile(r"\w+_(?:year|month|day|initial|model|digits|log|sound|start|end|key|code)")
"""Names of what may be made of another field."""


@dataclass(frozen=True)
class Answers:
    """All that a draft follows from, but for its salt."""

    fields: tuple[Confirmed, ...]
    """In the order of their types, each with its agreed name."""
    records: tuple[int, int]
    """That A and B expect: written into the agreement."""
    parties: tuple[str, str] = ("party-a", "party-b")
    disclose: tuple[str, ...] = ()
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ranges: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    within: Mapping[str, str] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    missing_values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    cardinality: Mapping[str, Cardinality] = field(default_factory=dict)
    """How many different values a field has, by class; a field without one is as usual for its type."""
    often_empty: tuple[str, ...] = ()
    """Fields without a value in many records."""
    copies: tuple[int, int] = (1, 1)
    """The most records that one person or thing usually has in the tables of A and of B."""
    overlap: float | None = None
    """The share of the smaller table that is expected to match; None where nobody knows."""
    precision: float | None = None
    """The least share of matches that should be right; None for the best F1."""
    max_time: float | None = None
    """Seconds that a run may take; None for what is usual (planning/choose.py)."""
    count_epsilon: str | None = None
    """ε of a count, where only how many match is asked for; None for the pairs."""
    as_guessed: bool = False
    """Whether some column was taken for what it looks like, and nobody was asked: cells decided then."""

    def __post_init__(self) -> None:
        if faults := [*self._faults()]:
            raise AgreementError("The draft", faults)

    def _faults(self) -> Iterable[Fault]:
        names = [one.name for one in self.fields]
        if not names:
            yield Fault("", "No column is left to compare.", "Give some a type other than id and skip.")
        yield from self._ill_named()
        for option, given, kinds in (
            ("`accord init --field {}.values`", self.values, LISTED),
            ("`accord init --field {}.range`", self.ranges, RANGED),
            ("`accord init --field {}.within`", self.within, APART),
            ("`accord init --field {}.missing`", self.missing, MEANINGS),
            ("`accord init --field {}.missing_values`", self.missing_values, MEANINGS),
            ("`accord init --field {}.cardinality`", self.cardinality, COUNTED),
            ("`accord init --field {}.often_empty`", dict.fromkeys(self.often_empty), MEANINGS),
            ("`accord init --disclose {}`", dict.fromkeys(self.disclose), MEANINGS),
        ):
            for name in given:
                yield from self._named(option, name, kinds)
        yield from self._ill_written()
        if len(self.named(ColumnKind.LATITUDE)) != len(self.named(ColumnKind.LONGITUDE)):
            yield Fault("", "A place has a latitude and a longitude, and one is missing.", "Skip the other.")
        if self.overlap is not None and not 0 < self.overlap <= 1:
            yield Fault("`accord init --overlap`", "is a share of the smaller table, above 0 and at most 1.")
        if self.precision is not None and not 0 < self.precision <= 1:
            yield Fault("`accord init --precision`", "is a share of the matches, above 0 and at most 1.")
        if self.max_time is not None and not 0 < self.max_time < inf:
            yield Fault("`accord init --max-time`", "is a number of seconds above 0.")
        if self.count_epsilon is not None:
            yield from self._ill_counted(self.count_epsilon)
        yield from self._ill_counted_records()

    def _ill_named(self) -> Iterable[Fault]:
        """Names that two fields have, or that are made of another."""
        names = Counter(one.name for one in self.fields)
        once = {one.name for one in self.fields if one.kind not in SEVERAL}
        for name, count in names.items():
            if count > 1 and name in once:
                mend = "Give the others another type, or join the columns in a layout."
                yield Fault(f"field '{name}'", "has more than one column.", mend)
            elif count > 1 or (_RESERVED.fullmatch(name) and name.rpartition("_")[0] in names):
                yield Fault(f"field '{name}'", "needs another name.", "Say it as TYPE:NAME.")

    def _ill_counted_records(self) -> Iterable[Fault]:
        if not all(1 <= copies <= MOST_COPIES for copies in self.copies):
            yield Fault("`accord init --copies`", f"each is a whole number from 1 to {MOST_COPIES}.")
        if not all(1 <= size <= MOST_PLANNED for size in self.records):
            mend = "More cannot be planned: draft for that many, and change [expected] in the draft."
            problem = f"each is a whole number from 1 to {MOST_PLANNED:,}."
            yield Fault("`accord init --records`", problem, mend)
        for name, declared in self.cardinality.items():
            if declared not in CLASSES:
                known = ", ".join(f"{one} ({meaning})" for one, meaning in OF_CLASSES.items())
                place = f"`accord init --field {name}.cardinality={declared}`"
                yield Fault(place, "is unknown.", f"Known are {known}.")

    def _ill_counted(self, epsilon: str) -> Iterable[Fault]:
        try:
            count_of(epsilon)
        except ValidationError:
            problem = "is a number above 0 and at most 64; 1 is usual, and a smaller one protects more."
            yield Fault("`accord init --answer-epsilon`", problem)
        if self.disclose:
            yield Fault(
                "`accord init --disclose`",
                "a count shows nobody.",
                "Leave it out, or `accord init --answer`.",
            )

    def _ill_written(self) -> Iterable[Fault]:
        """Answers that are no names, dates or numbers."""
        kinds = {one.name: one.kind for one in self.fields}
        for name, policy in self.missing.items():
            if policy not in POLICIES:
                yield Fault(
                    f"`accord init --field {name}.missing={policy}`",
                    "is unknown.",
                    f"Known are: {', '.join(POLICIES)}.",
                )
        for name, limits in self.ranges.items():
            is_sound = _is_day if kinds.get(name) in (ColumnKind.BIRTH, ColumnKind.DATE) else _is_number
            if not all(map(is_sound, limits)):
                mend = "Write both with two dots between, such as 1900-01-01..2029-12-31 or 0..500."
                yield Fault(
                    f"`accord init --field {name}.range={limits[0]}..{limits[1]}`",
                    "does not give two days or numbers.",
                    mend,
                )
        for name, far in self.within.items():
            if not _is_number(far) or far.startswith("-"):
                yield Fault(f"`accord init --field {name}.within={far}`", "is not a number of at least 0.")
        if self.parties[0] == self.parties[1]:
            yield Fault("`accord init --parties`", "the two parties must have different names.")
        for party in self.parties:
            place, problem = f"`accord init --parties` '{party}'", "cannot be a party's name."
            if party in ("a", "b", "A", "B"):
                yield Fault(place, problem, "A and B name the sides: say what the organisations are called.")
            elif not re.fullmatch(PARTY_PATTERN, party):
                mend = "Begin with a letter; letters, digits, spaces, dots, - and _ may follow."
                yield Fault(place, problem, mend)

    def _named(self, option: str, name: str, kinds: Iterable[ColumnKind]) -> Iterable[Fault]:
        fit = [one.name for one in self.fields if one.kind in kinds]
        if name not in fit:
            hint = did_you_mean(name, fit, f"It can be: {', '.join(fit) or 'none of your fields'}.")
            yield Fault(option.format(name), "names no such field of the draft.", hint)

    @property
    def about_people(self) -> bool:
        return about_people(self.fields)

    def named(self, kind: ColumnKind) -> list[str]:
        """The fields of a type."""
        return [one.name for one in self.fields if one.kind is kind]

    @property
    def map_(self) -> tuple[tuple[str, str], tuple[str, str]]:
        """What places lie within: from south to north, from west to east."""
        kinds = ColumnKind.LATITUDE, ColumnKind.LONGITUDE
        north, east = (self.ranges.get(kind, RANGED[kind]) for kind in kinds)
        return north, east

    @property
    def title(self) -> str | None:
        """The text that names a thing."""
        return title_of(self.fields)

    def range_of(self, one: Confirmed) -> tuple[str, str]:
        return self.ranges.get(one.name, RANGED[one.kind])

    def within_of(self, one: Confirmed) -> str:
        return self.within.get(one.name, APART[one.kind])

    def values_of(self, one: Confirmed) -> tuple[str, ...]:
        return self.values.get(one.name, LISTED[one.kind])

    @property
    def classes(self) -> tuple[tuple[str, Cardinality], ...]:
        """The classes of all fields that have one."""
        return tuple(sorted(self.cardinality.items()))

    def policy_of(self, name: str) -> str:
        return self.missing.get(name, POLICIES[0])


def count_of(epsilon: str) -> Output:
    """How many pairs match, with so much noise. Raises `ValidationError` for what is no ε."""
    return Output.model_validate({"answer": "count", "epsilon": epsilon})


def title_of(fields: Iterable[Confirmed]) -> str | None:
    """Of texts the one that names a thing: by its name, or else the first."""
    texts = [one.name for one in fields if one.kind in (ColumnKind.COMPANY, ColumnKind.TEXT)]
    return min(texts, key=lambda name: TITLES.index(name) if name in TITLES else len(TITLES), default=None)


def about_people(fields: Iterable[Confirmed]) -> bool:
    """Whether records with these fields are about people."""
    return any(one.kind in OF_PEOPLE for one in fields)


def _is_day(text: str) -> bool:
    return len(text) == 10 and parse_date(text, "%Y-%m-%d") is not None


def _is_number(text: str) -> bool:
    return re.fullmatch(r"-?\d{1,12}(?:\.\d{1,12})?", text) is not None


def name_fields(columns: Sequence[Confirmed]) -> list[Confirmed]:
    """Each column with the agreed name of its field, in the order of columns; local ones without.

    A type that stands several times is numbered: category, category_2.
    """
    seen: Counter[ColumnKind] = Counter()
    found = []
    for one in columns:
        name = one.name
        if not name and one.kind not in LOCAL:
            seen[one.kind] += 1
            number = seen[one.kind]
            name = one.kind.value if number == 1 or one.kind not in SEVERAL else f"{one.kind}_{number}"
        found.append(Confirmed(one.kind, name))
    return found


def in_order(columns: Sequence[Confirmed]) -> tuple[Confirmed, ...]:
    """The fields of an agreement, in the order of types: that of columns tells of a table."""
    places = {kind: place for place, kind in enumerate(ColumnKind)}
    named = [one for one in columns if one.kind not in LOCAL]
    return tuple(sorted(named, key=lambda one: (places[one.kind], one.name)))
