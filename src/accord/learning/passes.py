"""Passes and caps for a learned rule, chosen on the pairs that it was learned from.

Keys are made of the draft's own fields and of what can be derived of its texts: a hash of the whole, how it
sounds, how it begins and ends. Planning tries them (planning/routes.py): on known matches that the learned
rule accepts instead of synthetic pairs, and on the tables behind these instead of synthetic ones. What comes
out is the draft, routed, with the fields that its passes read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import log

import pyarrow as pa

from accord.agreement.document import Agreement
from accord.errors import UsageError
from accord.fields.columns import Records, rows_of
from accord.fields.recipe import Derive, Prefix, Suffix
from accord.fields.schema import CategoryField, DateField, FieldSpec, Hash, NumberField, TextField
from accord.learning.patterns import Pairs
from accord.planning.choose import COVERED
from accord.planning.routes import routed_variant
from accord.protocols.all_pairs import AllPairs
from accord.protocols.sharing import Sample
from accord.rules.blocking.base import PassSpec, build_blocking
from accord.rules.blocking.key import KeySpec
from accord.rules.evaluate import Indices, Tables
from accord.rules.rule import fields_of
from accord.side import Side

_MADE: dict[str, Derive | None] = {
    "key": None,
    "sound": "soundex",
    "start": Prefix(prefix=6),
    "end": Suffix(suffix=6),
}
"""What is derived of a text, by the end of its name."""
_SPELLED = "letters only"
"""Without blanks there is one word, and the sound of a name is that of its words."""
_MOST_KEYS = 12
"""Fields of which planning makes keys."""
_RAREST = 1e-6
"""Pairs of strangers that share a value: below, it tells no more."""


@dataclass(frozen=True, eq=False)
class KnownMatches:
    """Two tables and their known matches, of which passes are chosen."""

    a: Records
    b: Records
    pairs: Pairs

    def rows(self) -> tuple[Records, Records]:
        """Match by match the record of A, and that of B."""
        return _take(self.a, self.pairs[0]), _take(self.b, self.pairs[1])

    def samples(self, sizes: tuple[int, int]) -> dict[Side, Sample]:
        """By which it is counted how many records share a key, in tables of these sizes."""
        each = zip(Side, (self.a, self.b), sizes, strict=True)
        return {side: Sample.of(side, own.columns, len(own), size) for side, own, size in each}


def _take(records: Records, rows: Indices) -> Records:
    columns = {name: rows_of(column, rows) for name, column in records.columns.items()}
    return Records(records.ids.take(pa.array(rows)), columns, records.disclosed.slice(0, 0))


def compare_all(draft: Agreement) -> Agreement:
    """The draft without passes, with all fields that may serve as keys."""
    fields = draft.fields | dict(_derive(draft))
    protocol = AllPairs(name="all-pairs", greedy=False)
    return draft.model_copy(update={"fields": fields, "blocking": (), "protocol": protocol})


def _derive(draft: Agreement) -> Iterator[tuple[str, FieldSpec]]:
    for name in fields_of(draft.rule):
        spec = draft.fields[name]
        if not isinstance(spec, TextField) or isinstance(spec.encoder, Hash):
            continue
        made = {"encoder": Hash(kind="hash"), "missing": "differs", "other": "error"}
        for end, derive in _MADE.items():
            if f"{name}_{end}" in draft.fields or (derive and spec.derive):
                continue
            clean = tuple(step for step in spec.clean if end != "sound" or step != _SPELLED)
            changed = {"clean": clean, "sources": spec.columns(name), "derive": derive or spec.derive}
            yield f"{name}_{end}", spec.model_copy(update=made | changed)


def choose_passes(
    draft: Agreement, wide: Agreement, known: KnownMatches, sizes: tuple[int, int], matches: int
) -> Agreement:
    """The draft, routed by keys that bring the known matches together. `wide` has the learned rule, and the
    fields that may be keys."""
    read = {*fields_of(wide.rule), *_most_telling(wide, known)}
    tried = wide.model_copy(update={"fields": {name: s for name, s in wide.fields.items() if name in read}})
    found = routed_variant(tried, known.rows(), known.samples(sizes), COVERED, matches)
    if found is None:
        raise UsageError(problem="No field of the draft serves as a key. Leave out `passes=True`.")
    used = {*draft.fields, *found.blocking_fields}
    fields = {name: spec for name, spec in wide.fields.items() if name in used}
    update = {"fields": fields, "blocking": found.blocking, "protocol": found.protocol}
    return draft.model_copy(update=update)


def _most_telling(wide: Agreement, known: KnownMatches) -> list[str]:
    """The fields of which keys are tried: those that matches share and strangers do not."""
    names = [name for name, spec in wide.fields.items() if _may_be_key(spec)]
    worth = {name: _telling(wide, known, name) for name in names}
    return sorted(names, key=lambda name: -worth[name])[:_MOST_KEYS]


def _may_be_key(spec: FieldSpec) -> bool:
    is_hash = isinstance(spec, TextField) and isinstance(spec.encoder, Hash)
    return is_hash or isinstance(spec, CategoryField | DateField | NumberField)


def _telling(wide: Agreement, known: KnownMatches, name: str) -> float:
    """What it tells, in nats, that two records share a value, and how often matches do."""
    spec = PassSpec(parts=(KeySpec(kind="key", field=name),))
    (one,) = build_blocking([spec], wide.fields).passes
    columns, sizes = (known.a.columns, known.b.columns), (len(known.a), len(known.b))
    shared = float(one.compares(Tables(wide.fields, *columns), *known.pairs).mean())
    strangers = one.place_both(columns, sizes).candidates / max(1, sizes[0] * sizes[1])
    return -shared * log(max(strangers, _RAREST))
