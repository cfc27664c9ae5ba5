"""Two agreements that are not the same: the differences in words that a steward can read out."""

from __future__ import annotations

import re
from typing import Any

from accord.agreement.document import Agreement
from accord.arguments import require


def diff(ours: Agreement, theirs: Agreement) -> list[str]:
    """One sentence for each difference; empty exactly when the digests are equal."""
    for argument, given in (("ours", ours), ("theirs", theirs)):
        require(argument, given, "an Agreement", Agreement)
    return _compare("", ours.model_dump(mode="json"), theirs.model_dump(mode="json"))


def _compare(path: str, ours: Any, theirs: Any) -> list[str]:
    if ours == theirs:
        return []
    if isinstance(ours, dict) and isinstance(theirs, dict):
        sentences = []
        for key in dict.fromkeys([*ours, *theirs]):
            name = f"{path}.{key}" if path else str(key)
            if key not in theirs:
                sentences.append(f"{name} is only in ours: {_show(ours[key])}.")
            elif key not in ours:
                sentences.append(f"{name} is only in theirs: {_show(theirs[key])}.")
            else:
                sentences += _compare(name, ours[key], theirs[key])
        return sentences
    if isinstance(ours, list) and isinstance(theirs, list):
        if all(isinstance(item, str) for item in (*ours, *theirs)):
            return _compare_lists(path, ours, theirs)
        if len(ours) == len(theirs):
            pairs = enumerate(zip(ours, theirs, strict=True), 1)
            return [line for i, (a, b) in pairs for line in _compare(f"{path}[{i}]", a, b)]
        return [f"{path} has {len(ours)} parts in ours and {len(theirs)} in theirs."]
    if path == "rule" and all(len(_parts(rule)) > 1 for rule in (ours, theirs)):
        return _compare_lists(path, _parts(ours), _parts(theirs))
    return [f"{path} is {_show(ours)} in ours and {_show(theirs)} in theirs."]


def _parts(rule: str) -> list[str]:
    """The comparisons of a score, and its threshold; of other rules their whole."""
    return [part.strip() for part in re.split(r";|\)(?= >= -?\d+$)", rule)]


def _compare_lists(path: str, ours: list[str], theirs: list[str]) -> list[str]:
    sentences, known, listed = [], set(ours), set(theirs)
    if only := [item for item in ours if item not in listed]:
        sentences.append(f"{path} lists only in ours: {', '.join(only)}.")
    if only := [item for item in theirs if item not in known]:
        sentences.append(f"{path} lists only in theirs: {', '.join(only)}.")
    return sentences or [f"{path} lists the same in a different order."]


def _show(value: Any) -> str:
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, dict):
        return ", ".join(f"{key} {_show(item)}" for key, item in value.items())
    if isinstance(value, list):
        return ", ".join(map(_show, value)) or "none"
    return f"'{value}'" if isinstance(value, str) else str(value)
