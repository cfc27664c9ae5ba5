"""A trained model of Splink 4 or later, from its JSON: comparisons, levels, and how often they hold.

Splink's weight of a level is log2(m / u), and so is ours. Levels that say the same here are one, with the sum
of their shares. All faults of a model are told at once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from accord.errors import DataError, Fault, UnreadableError
from accord.learning.patterns import Comparisons, Weights
from accord.learning.splink_sql import NEVER, NoCounterpartError, Translator
from accord.learning.weights import bits_of
from accord.rules.implied import implies
from accord.rules.rule import Level, Levels, Rule
from accord.rules.thresholds import Fields
from accord.table.layout import Layout

_MOST_BYTES = 4 << 20
_SHOWN = 200
"""Letters of a condition that a fault names."""
_SAVE = "Save it with linker.misc.save_model_to_json(PATH)."


@dataclass(frozen=True)
class SplinkModel:
    """What a model says, in words of a rule."""

    comparisons: Comparisons
    weights: Weights
    shares: tuple[tuple[tuple[float, ...], tuple[float, ...]], ...]
    """By comparison: how often its levels hold for matches and for others; those for missing values never."""
    prior: float
    """The share of matches among all pairs."""
    notes: tuple[str, ...]
    """What is near and not the same, and what was left out."""


@dataclass(frozen=True)
class _Weighed:
    """A level with its shares of matches and of others."""

    when: Rule | None
    """None is `otherwise`."""
    m: float
    u: float


def read_splink(path: Path, fields: Fields, layout: Layout) -> SplinkModel:
    """The model in this file, on the agreed fields; raises all that is wrong with it."""
    data = _load(path)
    faults: list[Fault] = []
    to_rule = Translator(fields, layout)
    found = []
    for number, comparison in enumerate(_list(data, "comparisons"), 1):
        name = _name(comparison, number)
        levels = [
            _read_level(name, i, level, to_rule, faults)
            for i, level in enumerate(_list(comparison, "comparison_levels"), 1)
        ]
        sound = [level for level in levels if level is not None]
        if not levels:
            faults.append(Fault(name, "has no levels.", _SAVE))
        elif len(sound) == len(levels):
            if sound[-1].when is not None:
                faults.append(
                    Fault(name, "has no ELSE level at its end.", "Add it in Splink and train again.")
                )
            found.append(_merge(sound))
    prior = data.get("probability_two_random_records_match")
    if not _is_share(prior) or prior in (0, 1):
        faults.append(Fault("probability_two_random_records_match", "is no share.", _SAVE))
    if not found and not faults:
        faults.append(Fault("comparisons", "are not there.", f"Is it a model of Splink? {_SAVE}"))
    if faults:
        raise DataError(str(path), faults)
    useful = [levels for levels in found if len({bits_of(one.m, one.u) for one in levels}) > 1]
    return SplinkModel(
        comparisons=tuple(_comparison(levels) for levels in useful),
        weights=tuple(tuple(_weight(one) for one in levels) for levels in useful),
        shares=tuple(_shares(levels) for levels in useful),
        prior=float(str(prior)),
        notes=(*to_rule.notes, *_frequencies(data)),
    )


def _load(path: Path) -> Mapping[str, Any]:
    try:
        with path.open("rb") as file:
            raw = file.read(_MOST_BYTES + 1)
        if len(raw) > _MOST_BYTES:
            raise UnreadableError(
                path=path, reason="it is larger than 4 MiB", mend="Is it a model of Splink?"
            )
        data = json.loads(raw.decode("utf-8"))
    except OSError as error:
        reason = (error.strerror or "it cannot be opened").lower()
        raise UnreadableError(path=path, reason=reason, mend=_SAVE) from None
    except (ValueError, RecursionError):
        raise UnreadableError(path=path, reason="it is not JSON", mend=_SAVE) from None
    if not isinstance(data, Mapping):
        raise UnreadableError(path=path, reason="it is not a Splink model", mend=_SAVE)
    return data


def _list(of: object, key: str) -> list[Mapping[str, Any]]:
    found = of.get(key) if isinstance(of, Mapping) else None
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []


def _name(comparison: Mapping[str, Any], number: int) -> str:
    return f"comparison '{comparison.get('output_column_name', number)}'"


def _read_level(
    name: str, number: int, level: Mapping[str, Any], to_rule: Translator, faults: list[Fault]
) -> _Weighed | None:
    """A level, or None and its faults."""
    sql = str(level.get("sql_condition", ""))
    place = f"{name}, level {number}, {level.get('label_for_charts') or sql[:_SHOWN]}"
    before = len(faults)
    missing = level.get("is_null_level") is True
    m, u = level.get("m_probability"), level.get("u_probability")
    if not missing and not (_is_share(m) and _is_share(u)):
        faults.append(
            Fault(place, "was not trained: it has no m_probability or u_probability.", "Train it first.")
        )
    when = None
    if sql.strip().lower() != "else":
        try:
            when = to_rule.rule(sql)
        except NoCounterpartError as error:
            mend = "Take the level out of the model, or declare such a field in the draft."
            faults.append(Fault(place, str(error), mend))
    if len(faults) > before:
        return None
    return _Weighed(when, 0.0, 0.0) if missing else _Weighed(when, float(m or 0), float(u or 0))


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _merge(levels: list[_Weighed]) -> list[_Weighed]:
    """The levels that a pair can get to: one that an earlier one covers is part of that."""
    found: list[_Weighed] = []
    for level in levels:
        if level.when == NEVER:
            continue
        over = next((i for i, one in enumerate(found) if _covers(one, level)), None)
        if over is None:
            found.append(level)
        else:
            found[over] = _Weighed(found[over].when, found[over].m + level.m, found[over].u + level.u)
    return found


def _covers(one: _Weighed, level: _Weighed) -> bool:
    return one.when is not None and level.when is not None and implies(level.when, one.when)


def _weight(level: _Weighed) -> int:
    return bits_of(level.m, level.u)


def _comparison(levels: list[_Weighed]) -> Levels:
    whens = tuple(Level(one.when, _weight(one)) for one in levels if one.when is not None)
    return Levels(whens, _weight(levels[-1]))


def _shares(levels: list[_Weighed]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    totals = [sum(one.m for one in levels) or 1.0, sum(one.u for one in levels) or 1.0]
    return tuple(one.m / totals[0] for one in levels), tuple(one.u / totals[1] for one in levels)


def _frequencies(data: Mapping[str, Any]) -> Iterator[str]:
    """That weights are the same for rare and for common values."""
    adjusted = [
        str(level["tf_adjustment_column"])
        for comparison in _list(data, "comparisons")
        for level in _list(comparison, "comparison_levels")
        if level.get("tf_adjustment_column")
    ]
    if adjusted:
        how = "; levels with rarity() of a public list say more"
        names = ", ".join(dict.fromkeys(adjusted))
        yield f"{names}: rare and common values weigh the same; term frequencies are left out{how}."
