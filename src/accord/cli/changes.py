"""`--set OPTION=VALUE`: another protocol, options or answer than the agreed, to see what they would do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from accord.errors import UsageError
from accord.wording import did_you_mean

_NUMBERS = ("records_per_person", "prune", "cap")
_TEXTS = ("protocol", "epsilon", "delta", "noise", "answer", "answer_epsilon")
_FLAGS = {"true": True, "false": False}
_KNOWN = (*_TEXTS, *_NUMBERS, "greedy")


def read_changes(pairs: Iterable[str]) -> dict[str, Any]:
    """What was typed, by option, each a value of its kind."""
    found: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = (part.strip() for part in pair.partition("="))
        if not (name and equals and value):
            raise UsageError(problem=f"An option is set as --set OPTION=VALUE, not as '{pair}'.")
        if name not in _KNOWN:
            hint = did_you_mean(name, _KNOWN, f"There are: {', '.join(_KNOWN)}.")
            raise UsageError(problem=f"--set knows no option '{name}'. {hint}")
        found[name] = _read(name, value)
    return found


def _read(name: str, value: str) -> object:
    if name == "greedy":
        if value not in _FLAGS:
            raise UsageError(problem="--set greedy is true or false.")
        return _FLAGS[value]
    if name in _NUMBERS:
        if not value.isdecimal():
            raise UsageError(problem=f"--set {name} is a whole number.")
        return int(value)
    return value
