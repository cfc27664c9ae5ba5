"""Arguments of the public functions: one of a wrong kind is named, with what it should be and what it is.

Python would go on with it and fail somewhere inside, or worse: take a text for true. Types are judged here
and nothing else; whether a value of the right type makes sense is said by whoever uses it.
"""

from __future__ import annotations

import math
import os
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

from accord.errors import UsageError
from accord.exact import share

_PATH = "a path, as a text or a Path"


def require(argument: str, given: object, expected: str, *kinds: type) -> None:
    """Raise unless the argument is of one of these kinds; a truth value is no number."""
    truth = isinstance(given, bool) and bool not in kinds
    if truth or not isinstance(given, kinds):
        raise wrong(argument, given, expected)


def require_text(argument: str, given: object, such_as: str = "") -> None:
    """Raise unless it is a text."""
    require(argument, given, f"a text, such as {such_as!r}" if such_as else "a text", str)


def require_text_or_none(argument: str, given: object, such_as: str = "") -> None:
    """Raise unless it is a text or None."""
    if given is not None:
        require_text(argument, given, such_as)


def require_flag(argument: str, given: object) -> None:
    """Raise unless it is true or false: a text such as 'no' would count as true."""
    require(argument, given, "True or False", bool)


def require_seconds(argument: str, given: object) -> None:
    """Raise unless it is a number of seconds, of which there may be any number above 0."""
    require(argument, given, "a number of seconds", int, float)
    assert isinstance(given, int | float)
    if not 0 < given < math.inf:
        raise UsageError(problem=f"`{argument}=` is a number of seconds above 0.")


def require_share(argument: str, given: object) -> Fraction:
    """The share that a number from 0 to 1 means, or a text such as '99.5%'. Anything else is refused."""
    require(argument, given, "a share, such as 0.01 or '1%'", int, float, str, Fraction, Decimal)
    try:
        return share(given)
    except ValueError as error:
        raise UsageError(problem=f"`{argument}=` {error}.") from None


def require_function(argument: str, given: object, expected: str) -> None:
    """Raise unless it can be called."""
    if not callable(given):
        raise wrong(argument, given, expected)


def as_path(argument: str, given: object) -> Path:
    """The path that a text or a path means."""
    require(argument, given, _PATH, str, os.PathLike)
    return Path(given)  # type: ignore[arg-type]


def as_path_or_none(argument: str, given: object) -> Path | None:
    """The path that a text or a path means; None where none was given."""
    return None if given is None else as_path(argument, given)


def wrong(argument: str, given: object, expected: str) -> UsageError:
    """What is said of an argument of a wrong kind."""
    found = "None" if given is None else _article(type(given).__name__)
    return UsageError(problem=f"`{argument}=` is {expected}, not {found}.")


def _article(kind: str) -> str:
    return f"{'an' if kind[0].lower() in 'aeiou' else 'a'} {kind}"
