"""The digest of a list of frequencies, which `accord check` prints."""

from __future__ import annotations

import json

import typer


def print_digest(listed: str, as_json: bool) -> None:
    """Print what an agreement names a list by: one that ships, by its name, or that of a file."""
    from accord.fields.frequencies import SHIPPED, find_list

    found = find_list(listed, None if listed in SHIPPED else listed)
    facts = {"digest": found.digest, "values": len(found.values), "total": found.total, "rest": found.rest}
    typer.echo(json.dumps(facts) if as_json else found.digest)
