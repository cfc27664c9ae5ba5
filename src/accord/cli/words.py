"""Messages as the command line says them: of options, where Python has arguments.

A message is written once, for whoever calls a function: it names an argument as `force=True` or `snapshot=`,
between backticks and with its equals sign. Nothing else in a message looks so, and here it becomes the option
that is typed instead.
"""

from __future__ import annotations

import re

_ARGUMENT = re.compile(r"`(?:reach=accord\.Reach\()?([a-z_]+)=(?:True|…\))?`")
_OTHERWISE = {
    "columns": "--column FIELD=COLUMN",
    "format": "--date FIELD=FORMAT",
    "lists": "--list NAME=FILE",
}
"""Where the option is not the argument's name with dashes."""


def as_options(message: object) -> str:
    """The message with options in place of arguments."""
    return _ARGUMENT.sub(lambda found: _option(found[1]), str(message))


def _option(argument: str) -> str:
    return _OTHERWISE.get(argument, f"--{argument.replace('_', '-')}")
