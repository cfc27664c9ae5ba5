"""Messages as the command line says them: of options, where Python has arguments.

A message is written once, for whoever calls a function: it names an argument as `force=True` or `snapshot=`,
between backticks and with its equals sign. Nothing else in a message looks so, and here it becomes the option
that is typed instead. How a table is laid out is said to `accord check`, whichever command stumbles over it.
"""

from __future__ import annotations

import re

_ARGUMENT = re.compile(r"`(?:reach=accord\.Reach\()?([a-z_]+)=(?:True|…\))?`")
_OF_CHECK = "{} of `accord check`"
_OTHERWISE = {
    "columns": _OF_CHECK.format("--column FIELD=COLUMN"),
    "format": _OF_CHECK.format("--date FIELD=FORMAT"),
    "lists": _OF_CHECK.format("--list NAME=FILE"),
    "id": _OF_CHECK.format("--id"),
    "make_ids": _OF_CHECK.format("--make-ids"),
    "person": _OF_CHECK.format("--person"),
    "encoding": _OF_CHECK.format("--encoding"),
    "delimiter": _OF_CHECK.format("--delimiter"),
    "unchanged_only": "--accept unchanged-only",
    "mostly_new": "--accept mostly-new",
    "let_wait": "--accept let-wait",
    "unlimited": "--epsilon unlimited",
}
"""Where the option is not the argument's name with dashes."""


def as_options(message: object) -> str:
    """The message with options in place of arguments."""
    return _ARGUMENT.sub(lambda found: _option(found[1]), str(message))


def _option(argument: str) -> str:
    return _OTHERWISE.get(argument, f"--{argument.replace('_', '-')}")
