"""What a run is and how far: its manifest, with what its owner had asked for. Kept in the database as JSON.

The agreement in it is a part of its own (runs.py).
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from accord.errors import Ending, UsageError
from accord.table.address import find_address
from accord.table.layout import Layout
from accord.table.sinks.targets import Target, as_target_or_none
from accord.table.sources.opening import Place

_MOST_WRONG = 3
_FOR_GOOD = ("no_table", "unequal", "cut")
"""Endings after which another attempt would tell something."""


@dataclass(frozen=True)
class StoredRequest:
    """What a run was asked for besides agreement, partner and account, in words that mean the same in
    any folder: what `resume` takes where nothing is named anew."""

    data: str
    """Where the table is; empty if Python had it."""
    layout: str
    """How it is laid out, as JSON."""
    out: str
    raw: bool
    snapshot: str | None
    listen: str
    connect: str
    workers: int | str | None
    """Without the owner's word for a cluster, which is for one time."""

    def source(self, run: str) -> Place:
        """Where the data was."""
        if not self.data:
            raise UsageError(problem=f"The run {run} was not given a file. Name the data with `data=`.")
        return find_address(self.data) or Path(self.data)

    @property
    def target(self) -> Target | None:
        """Where the pairs were to go."""
        # A file has its path from the root on, whatever stands in it.
        return Path(self.out) if self.out.startswith("/") else as_target_or_none("out", self.out or None)

    def read_layout(self) -> Layout:
        return Layout.from_json(self.layout)


@dataclass(frozen=True)
class Manifest:
    """What a run is, and how far it is."""

    run: str
    partner: str
    side: str
    dataset: str
    agreement: str
    """The agreement as TOML."""
    records: int
    partner_records: int
    table: str
    """The digest of the own table, in hex."""
    began: str
    request: StoredRequest
    wire: int = 0
    """The version of the protocol whose steps its journal has."""
    done: bool = False
    resumes: int = 0
    """How often the two sides met again to go on."""
    replaces: str = ""
    """The output that the run may replace: what it has written, or what its owner said so of."""
    wrong: int = 0
    """How many answers of the partner did not fit the protocol."""
    ended: Ending = ""
    """Why the run would end again where it has ended, or may not go on; on either side."""
    matches: int | None = None
    """The pairs of the output, once there is a receipt."""
    matches_found: int | None = None
    """The pairs that were found, where only a one-to-one set of them is kept."""
    answer: tuple[tuple[int, int], ...] | None = None
    """What both learned where nobody is shown, once there is a receipt: `answers.decode_answer`."""
    phases: dict[str, float] | None = None
    """Seconds by phase, since the two sides met last; once the run is done."""
    bytes: int | None = None
    """Sent and received, likewise."""
    traffic: dict[str, int] | None = None
    """Of these, by phase; what is left is the greeting, the output's digest and the receipt."""

    @property
    def closed(self) -> bool:
        """Whether the run does not go on: too much was refused, or a second attempt would tell something."""
        return self.wrong >= _MOST_WRONG or self.ended in _FOR_GOOD

    @property
    def state(self) -> Literal["done", "closed", "most_matches", "no_table", "unequal", "cut", "waits"]:
        """How far it is; only a run that waits has something to go on to."""
        if self.done:
            return "done"
        return "closed" if self.closed and self.ended not in _FOR_GOOD else self.ended or "waits"


def encode_manifest(manifest: Manifest) -> dict[str, Any]:
    """The manifest as it is kept, without its agreement, which is a content."""
    return {name: value for name, value in asdict(manifest).items() if name != "agreement"}


_NAMES, _ASKED = ({field.name for field in fields(kind)} for kind in (Manifest, StoredRequest))


@cache
def _as_manifest() -> TypeAdapter[Manifest]:
    """Made once: many runs are read at a time."""
    return TypeAdapter(Manifest)


def decode_manifest(found: object) -> Manifest:
    """The manifest in this JSON; raises ValueError unless it could have been written."""
    if not isinstance(found, dict):
        raise ValueError("not a manifest")
    try:
        manifest = _as_manifest().validate_json(json.dumps(found), strict=True)
        manifest.request.read_layout()
    except (ValidationError, RecursionError):
        raise ValueError("not a manifest") from None
    possible = all(0 <= size < 1 << 63 for size in (manifest.records, manifest.partner_records))
    odd = set(found) - _NAMES or set(found["request"]) - _ASKED
    if odd or manifest.side not in ("A", "B") or not possible:
        raise ValueError("not a manifest")
    return manifest
