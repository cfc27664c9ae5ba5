"""Where pairs go: a file, by its ending, or a table of a database, by its address.

A run keeps its target as a text. A file stands there with its path from the root on, so that no file can be
taken for an address.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from accord.arguments import as_path
from accord.table.address import Address, find_address
from accord.table.pairs import PairTable
from accord.table.sinks.database import require_table, write_to_table
from accord.table.sinks.files import require_target, write_table

Target = Path | Address


def as_target(argument: str, given: object) -> Target:
    """The file or the table that a text or a path means."""
    if isinstance(given, Address):
        return given.require_table()
    address = find_address(str(given)) if isinstance(given, str | Path) else None
    return as_path(argument, given) if address is None else address.require_table()


def as_target_or_none(argument: str, given: object) -> Target | None:
    """The same; None where none was given."""
    return None if given is None else as_target(argument, given)


def settled(target: Target) -> str:
    """The target as a run keeps it: the same from whatever folder, and by whatever link."""
    if isinstance(target, Path):
        return str(target.resolve())
    return str(target if target.file is None else replace(target, place=str(target.file.resolve())))


def folder_of(target: Target) -> Path | None:
    """The folder that fills up; None for a server's."""
    file = target if isinstance(target, Path) else target.file
    return None if file is None else file.absolute().parent


def require_free(
    target: Target,
    inputs: Iterable[Path | Address],
    names: Sequence[str],
    *,
    force: bool,
    own: bool = False,
) -> None:
    """Raise before any work if the target could not be written, or if something would be lost by writing it.

    `names` are those of the columns that the pairs will have. By `force` a file is replaced, and no table.
    `own`: what is there is the work of the run that would replace it.
    """
    if isinstance(target, Address):
        require_table(target, names, own=own)
    else:
        files = (given if isinstance(given, Path) else given.file for given in inputs)
        require_target(target, [file for file in files if file is not None], force or own)


def write_pairs(
    pairs: PairTable | pa.Table, target: Target, *, raw: bool, force: bool, own: bool = False
) -> None:
    """Write the pairs, whole or not at all; only where there is nothing, but for a file by `force`, or for
    what is the run's `own` work.

    `raw` is for a csv; no other place holds formulas.
    """
    if isinstance(target, Address):
        write_to_table(pairs, target, own=own)
    else:
        write_table(pairs, target, raw=raw, replace=force or own)
