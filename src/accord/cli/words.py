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


_OF_A_SIDE = {
    "columns": "--column-{} FIELD=COLUMN",
    "id": "--id-{}",
    "id_row": "id_row = true in the file of --columns-{}",
    "format": "format in the file of --columns-{}",
}
"""Where a command reads the tables of both sides, and has an option for either."""


def as_options(message: object, sides: str = "") -> str:
    """The message with options in place of arguments; about the tables of these sides, if of any."""
    return _ARGUMENT.sub(lambda found: _option(found[1], sides), str(message))


def _option(argument: str, sides: str) -> str:
    if sides and argument in _OF_A_SIDE:
        return " or ".join(_OF_A_SIDE[argument].format(side.lower()) for side in sides)
    return _OTHERWISE.get(argument, f"--{argument.replace('_', '-')}")
