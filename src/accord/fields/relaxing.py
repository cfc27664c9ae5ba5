"""Fields that read synthetic records: they encode as agreed, and no synthetic error is a fault."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import date
from fractions import Fraction

from accord.fields.schema import DateField, FieldSpec, NumberField

_DAYS = date(1900, 1, 1), date(2099, 12, 31)
_MOST = 10_000
"""Synthetic days are among these, and synthetic numbers from 0 up to this."""


def relax_ranges(specs: Mapping[str, FieldSpec], bound: Collection[str] = ()) -> dict[str, FieldSpec]:
    """The fields for synthetic records, whose days and numbers may lie outside the agreed ranges. What
    the `bound` fields are made of stays within: bins are counted by them."""
    changed, within = {}, {column for name in bound for column in specs[name].columns(name)}
    for name, given in specs.items():
        skip = {"other": "skip"} if getattr(given, "other", "") == "error" else {}
        spec = given.model_copy(update={"missing": "differs"} | skip)
        if not within & {*spec.columns(name)}:
            if isinstance(spec, DateField):
                first, last = min(spec.min, _DAYS[0]), max(spec.max, _DAYS[1])
                spec = spec.model_copy(update={"min": first, "max": last})
            elif isinstance(spec, NumberField) and spec.type == "number" and not spec.is_log:
                most = max(spec.max, spec.step * int(_MOST / spec.step))
                spec = spec.model_copy(update={"min": min(spec.min, Fraction(0)), "max": most})
        changed[name] = spec
    return changed
