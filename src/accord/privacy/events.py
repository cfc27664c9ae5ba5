"""What was released about a table, as data. Accountants interpret it; the ledger keeps it.

    NoisyCounts   bin counts under a noise: its losses are known exactly
    AllPairs      nothing but the sizes and the result (IND-S2PC): ε = 0, δ = 0
    Intersection  the same, by private set intersection
    Routing       the same, by keys that are brought together in shares: ε = 0, δ = 0, with a condition
    NoisyAnswer   a count, table or sum of a linkage with noise, and nothing else: ε, δ = 0, for every record,
                  matching or not; where full keys are refused, under the condition that the run was not
    ExactAnswer   a count, table or sum without noise: nothing is promised, nothing is spent
    Promise       something of which only its (ε, δ) is known
    PluggedEvent  what a plug-in registers (accord/plugins.py)

The cost of an event is its promise with its condition, or None where nothing is promised. An event's bytes
are canonical JSON with a version, so the same event always has the same bytes.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import ClassVar, Literal, get_args

from accord.errors import UsageError
from accord.exact import text
from accord.privacy.calibration import Setting
from accord.privacy.losses import Losses
from accord.privacy.noise import KINDS, MOST_PER_PERSON, Noise
from accord.privacy.number import exact, show

VERSION = 1
LONGEST = 4096


FullKeys = Literal["", "leave-out", "refuse"]
"""What becomes of a key that more records of a table share than the cap, as far as the partner can notice it:
records are left out, or the run is refused. Empty where the partner notices nothing."""
CROWDED = "shares a key with `cap` or more others"
"""What an uncovered record does."""
UNLESS: Mapping[FullKeys, str] = {
    "": "",
    "leave-out": f"a record {CROWDED}",
    "refuse": (
        "the run is refused for a full key, which the partner sees (the promise compares tables that "
        "both run)"
    ),
}
"""When a promise does not hold: the words for it everywhere [MATHS §10.4]."""
UNPROMISED = "a release without a promise tells of it"
"""When a sum does not hold that also has releases without a promise."""
_OR = ", or "


@dataclass(frozen=True, repr=False)
class Cost:
    """An (ε, δ) guarantee, and when it does not hold."""

    epsilon: Fraction
    delta: Fraction
    unless: str = ""
    """Empty where it always holds."""

    def __repr__(self) -> str:
        return f"<{self.describe()}>"

    def __add__(self, other: Cost) -> Cost:
        # δ = 1 promises nothing, and more than that means nothing.
        delta = min(Fraction(1), self.delta + other.delta)
        return Cost(self.epsilon + other.epsilon, delta, either(self.unless, other.unless))

    def describe(self, up: bool = True) -> str:
        """As people write it, rounded: fractions with a denominator of 2^40 say little."""
        return f"ε = {show(self.epsilon, up)}, δ = {show(self.delta, up)}{tell_unless(self.unless)}"


NO_COST = Cost(Fraction(0), Fraction(0))


def either(*conditions: str) -> str:
    """One condition for several, each named once; empty for none."""
    return _OR.join(dict.fromkeys(part for one in conditions for part in one.split(_OR) if part))


def tell_unless(condition: str) -> str:
    """What follows the numbers of a promise."""
    return f", unless {condition}" if condition else ""


def is_free(cost: Cost | None) -> bool:
    """Whether a budget has nothing to say about it."""
    return cost is None or not (cost.epsilon or cost.delta)


def describe_cost(cost: Cost | None) -> str:
    """A promise in words, also where there is none."""
    return "no promise" if cost is None else cost.describe()


@dataclass(frozen=True)
class NoisyCounts:
    """The noisy size of every bin; a record is in at most `bins_per_record`; `cost` is the promise, for a
    person with up to `records_per_person`."""

    noise: Noise
    bins_per_record: int
    cost: Cost
    records_per_person: int = 1


@dataclass(frozen=True)
class AllPairs:
    """All pairs compared: the partner sees the size of the table and the result, and no noisy count."""

    @property
    def cost(self) -> Cost:
        return NO_COST


@dataclass(frozen=True)
class Intersection:
    """Private set intersection: the partner sees the size of the table and the result."""

    @property
    def cost(self) -> Cost:
        return NO_COST


@dataclass(frozen=True)
class Routing:
    """Records of common keys brought together in shares: the partner sees the size of the table and the
    result, and may notice a full key."""

    full_keys: FullKeys

    @property
    def cost(self) -> Cost:
        return replace(NO_COST, unless=UNLESS[self.full_keys])


@dataclass(frozen=True)
class NoisyAnswer:
    """An answer to which every record may have added; `epsilon` is that of all its cells, for a person with
    up to `records_per_person`. Records that are left out of a full key are in its sensitivity."""

    epsilon: Fraction
    full_keys: Literal["", "refuse"] = ""
    records_per_person: int = 1

    @property
    def cost(self) -> Cost:
        return Cost(self.epsilon, Fraction(0), UNLESS[self.full_keys])


@dataclass(frozen=True)
class ExactAnswer:
    """An answer without noise."""

    @property
    def cost(self) -> None:
        return None


@dataclass(frozen=True)
class Promise:
    """A release that is (ε, δ), however it was made."""

    cost: Cost


class PluggedEvent(ABC):
    """A release of a kind that a plug-in registers: a frozen dataclass, whose name is that of its kind."""

    refusal: ClassVar[str] = ""
    """Why no limit on ε and δ allows it; empty if its cost decides."""
    records_per_person: int | None = None
    """Its cost holds for a person with up to so many records; None for any number."""

    @property
    @abstractmethod
    def cost(self) -> Cost | None:
        """Its promise; None where nothing is promised."""

    @abstractmethod
    def losses(self) -> Losses:
        """Its losses, exactly. *Requires* a cost."""

    @abstractmethod
    def write(self) -> dict[str, object]:
        """Its parameters, as JSON."""

    @classmethod
    @abstractmethod
    def read(cls, body: Mapping[str, object]) -> PluggedEvent:
        """The event with these parameters; may raise `ValueError`, `KeyError` or `TypeError`."""


EVENTS: dict[str, type[PluggedEvent]] = {}
"""Those that plug-ins added, by the names of their classes."""


def register_event(kind: type[PluggedEvent]) -> None:
    """Let ledgers hold this kind of event, in this process."""
    EVENTS[kind.__name__] = kind


Event = NoisyCounts | AllPairs | Intersection | Routing | NoisyAnswer | ExactAnswer | Promise | PluggedEvent


def covered_records(event: Event) -> int | None:
    """The event's cost holds for each person with up to so many records; None where it holds for any."""
    return event.records_per_person if isinstance(event, NoisyCounts | NoisyAnswer | PluggedEvent) else None


def released(setting: Setting) -> NoisyCounts:
    """The event of releasing counts with this setting. A promise that is not kept costs what is true."""
    delta = setting.delta if setting.kept else Fraction(setting.delta_exact)
    cost = Cost(setting.epsilon, delta)
    return NoisyCounts(setting.noise, setting.bins_per_record, cost, setting.records_per_person)


def encode(event: Event) -> bytes:
    """The event's canonical bytes."""
    body: dict[str, object] = {"accord event": VERSION, "kind": type(event).__name__}
    match event:
        case NoisyCounts(noise, bins, cost, people):
            kind = next(name for name, kind in KINDS.items() if kind is type(noise))
            values = {f.name: _write(getattr(noise, f.name)) for f in fields(noise)}
            body |= {"noise": {"kind": kind, **values}, "bins_per_record": bins, **_cost(cost)}
            body |= _people(people)
        case Promise(cost):
            body |= _cost(cost)
        case Routing(full_keys):
            body |= {"full_keys": full_keys}
        case NoisyAnswer(epsilon, full_keys, people):
            body |= {"epsilon": text(epsilon), "full_keys": full_keys, **_people(people)}
        case PluggedEvent():
            body |= event.write()
        case AllPairs() | Intersection() | ExactAnswer():
            pass
        case _:
            raise _unknown(type(event).__name__)
    data = json.dumps(body, sort_keys=True, separators=(",", ":")).encode()
    if len(data) > LONGEST:
        raise UsageError(problem="This release has numbers too long to be kept. Round ε and δ.")
    return data


def decode(data: bytes) -> Event:
    """The event that `encode` made these bytes of; anything else is refused."""
    try:
        if len(data) > LONGEST:
            raise ValueError("too long")
        body = json.loads(data)
        event = _event(body)
        if encode(event) != data:
            raise ValueError("not canonical")
        return event
    except (ValueError, KeyError, TypeError, AttributeError, UsageError):
        raise _unknown("what this version cannot read") from None


def _event(body: dict[str, object]) -> Event:
    match body["kind"]:
        case "NoisyCounts":
            noise, bins = body["noise"], body["bins_per_record"]
            if not isinstance(noise, dict) or not isinstance(bins, int):
                raise ValueError("wrong types")
            drawn = _noise(KINDS[noise["kind"]], noise)
            return NoisyCounts(drawn, bins, _read_cost(body), _read_people(body))
        case "AllPairs":
            return AllPairs()
        case "Intersection":
            return Intersection()
        case "Routing":
            return Routing(_read_full_keys(body))
        case "ExactAnswer":
            return ExactAnswer()
        case "NoisyAnswer":
            full_keys = _read_full_keys(body)
            if full_keys == "leave-out":
                raise ValueError("not of an answer")
            return NoisyAnswer(exact(str(body["epsilon"]), "ε"), full_keys, _read_people(body))
        case "Promise":
            return Promise(_read_cost(body))
        case str(kind) if kind in EVENTS:
            return EVENTS[kind].read(body)
    raise ValueError("no such kind")


def _noise(kind: Callable[..., Noise], body: dict[str, int | str]) -> Noise:
    return kind(**{name: _read(value) for name, value in body.items() if name != "kind"})


def _read_full_keys(body: dict[str, object]) -> FullKeys:
    known: tuple[FullKeys, ...] = get_args(FullKeys)
    return known[known.index(body["full_keys"])]


def _write(value: int | Fraction) -> int | str:
    return value if isinstance(value, int) else text(value)


def _read(value: int | str) -> int | Fraction:
    return value if isinstance(value, int) else exact(value, "a parameter")


def _cost(cost: Cost) -> dict[str, object]:
    return {"epsilon": text(cost.epsilon), "delta": text(cost.delta)}


def _read_cost(body: dict[str, object]) -> Cost:
    return Cost(exact(str(body["epsilon"]), "ε"), exact(str(body["delta"]), "δ"))


def _people(records_per_person: int) -> dict[str, object]:
    """Nothing for one record a person: the bytes are those of before there were more."""
    return {"records_per_person": records_per_person} if records_per_person != 1 else {}


def _read_people(body: dict[str, object]) -> int:
    found = body.get("records_per_person", 1)
    if not isinstance(found, int) or not 1 <= found <= MOST_PER_PERSON:
        raise ValueError("no number of records")
    return found


def _unknown(kind: str) -> UsageError:
    return UsageError(problem=f"No accountant knows the event '{kind}', so its cost cannot be stated.")
