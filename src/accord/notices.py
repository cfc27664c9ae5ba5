"""Notices: what a run tells whoever started it, while it goes on.

A notice holds public numbers and names and nothing else: no value of a record, no noise, no key. So it may
be shown, logged and piped. In a process it is an object; `--json` prints it as a line, which `decode_notice`
reads in the process that started it.

    reading, … → listening, dropped, … or waiting, … → connected → charged (a new run) → progress, … → done
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from typing import ClassVar


@dataclass(frozen=True)
class Reading:
    """The own table is being read; told of long ones only."""

    event: ClassVar[str] = "reading"
    rows: int
    """So far."""
    done: bool = False
    """Whether these are all."""


@dataclass(frozen=True)
class Listening:
    """This side waits at a port of its own."""

    event: ClassVar[str] = "listening"
    partner: str
    port: int


@dataclass(frozen=True)
class Waiting:
    """The partner is not there yet; this side tries again."""

    event: ClassVar[str] = "waiting"
    partner: str
    host: str
    port: int
    reason: str


@dataclass(frozen=True)
class Dropped:
    """Somebody called who is not the partner; this side waits on."""

    event: ClassVar[str] = "dropped"
    partner: str
    host: str
    reason: str
    """One of a few, in words of our own."""
    dropped: int
    """How many so far; the same reason and host are told once a minute."""


@dataclass(frozen=True)
class Connected:
    """The partner is there, and both have shown the right card."""

    event: ClassVar[str] = "connected"
    partner: str


@dataclass(frozen=True)
class Charged:
    """The ledger holds the run and its cost: 0 for a release that was paid for before, None for an exact
    answer."""

    event: ClassVar[str] = "charged"
    run: str
    charged_epsilon: float | None
    charged_delta: float | None
    unless: str = ""
    """When these do not hold; empty where they always do."""


@dataclass(frozen=True)
class Progress:
    """How far the run has come."""

    event: ClassVar[str] = "progress"
    comparisons: int
    most_comparisons: int
    """What it comes to if nothing more matches."""
    matches: int | None
    """Comparisons that matched: of the same pair there may be several, and fewer pairs in the end."""
    bytes: int
    """Sent and received."""
    seconds: float
    seconds_left: float | None
    """An upper estimate, since matches make later work smaller; None at the start."""
    rates: tuple[int, ...] = ()
    """Comparisons a second of each worker, while it compares; none where this process does it."""


@dataclass(frozen=True)
class Done:
    """The output is written and the receipt is signed; the last notice of a run."""

    event: ClassVar[str] = "done"
    run: str
    matches: int | None
    """None where this side learned no pairs."""
    comparisons: int
    bytes: int
    seconds: float
    epsilon: float | None
    delta: float | None
    """This side's own guarantee; None where nothing is promised."""
    charged_epsilon: float | None
    charged_delta: float | None
    unless: str = ""
    """When these do not hold; empty where they always do."""
    matches_found: int | None = None
    """Of which the matches are a one-to-one set; None where all are kept."""
    peak_mib: tuple[int, ...] = ()
    """The most anonymous memory, in MiB, that this process held, and each worker."""
    answer: tuple[tuple[int, int], ...] | None = None
    """Of each cell of an answer its number, and within how much of the truth that is, 95 times of 100."""


Notice = Reading | Listening | Waiting | Dropped | Connected | Charged | Progress | Done
Tell = Callable[[Notice], None]
"""Told what happens, as it happens, in the thread of the run."""
_KINDS: tuple[type[Notice], ...] = (
    *(Reading, Listening, Waiting, Dropped, Connected, Charged, Progress, Done),
)


def tell_nobody(notice: Notice) -> None:
    """For whoever does not want to know."""


def encode_notice(notice: Notice) -> str:
    """A notice as a JSON object on one line: its event and its facts."""
    return json.dumps({"event": notice.event, **asdict(notice)}, ensure_ascii=False)


def decode_notice(line: str) -> Notice:
    """The notice in a line; raises ValueError unless `encode_notice` could have written it."""
    from pydantic import TypeAdapter

    found = json.loads(line)
    event = found.pop("event", None) if isinstance(found, dict) else None
    kind = next((kind for kind in _KINDS if kind.event == event), None)
    if kind is None or set(found) != {field.name for field in fields(kind)}:
        raise ValueError("not a notice")
    notice: Notice = TypeAdapter(kind).validate_json(line, strict=True)
    return notice
