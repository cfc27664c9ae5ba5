"""Messages as the command line says them: of options, where Python has arguments.

A message is written once, for whoever calls a function: it names an argument as `force=True` or `snapshot=`,
between backticks and with its equals sign. Nothing else in a message looks so, and here it becomes the option
that is typed instead. How a table is laid out is said to `accord check`, whichever command stumbles over it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from accord.errors import FaultyError, UnreadableError, UsageError

_ARGUMENT = re.compile(r"`(?:reach=accord\.Reach\()?([a-z_]+)=(?:True|…\))?`")
_OF_CHECK = "{} of `accord check`"
_OTHERWISE = {
    "columns": _OF_CHECK.format("--column FIELD=COLUMN"),
    "format": _OF_CHECK.format("--date FIELD=FORMAT"),
    "id": _OF_CHECK.format("--id"),
    "make_ids": _OF_CHECK.format("--make-ids"),
    "person": _OF_CHECK.format("--person"),
    "encoding": _OF_CHECK.format("--encoding"),
    "delimiter": _OF_CHECK.format("--delimiter"),
    "types": "--type",
    "dates": "--date",
    "ranges": "--field NAME.range=MIN..MAX",
    "unlimited": "--epsilon unlimited",
}
"""Where the option is not the argument's name with dashes."""


def as_options(message: object) -> str:
    """The message with options in place of arguments."""
    return _ARGUMENT.sub(lambda found: _option(found[1]), str(message))


def _option(argument: str) -> str:
    return _OTHERWISE.get(argument, f"--{argument.replace('_', '-')}")


def as_own_options(message: object) -> str:
    """The same as a command says it that has the options of a layout itself."""
    return as_options(message).replace(_OF_CHECK.format(""), "")


@contextmanager
def with_own_options() -> Iterator[None]:
    """Faults and wrong answers as such a command says them."""
    try:
        yield
    except FaultyError as error:
        error.faults = tuple(
            replace(f, problem=as_own_options(f.problem), mend=as_own_options(f.mend)) for f in error.faults
        )
        error.mend = as_own_options(error.mend)
        notes = [as_own_options(note) for note in getattr(error, "__notes__", ())]
        error.__notes__ = notes
        raise
    except UsageError as error:
        raise type(error)(problem=as_own_options(error)) from None
    except UnreadableError as error:
        error.args = (as_own_options(error),)
        raise
