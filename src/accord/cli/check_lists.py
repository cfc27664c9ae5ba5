"""What `accord check` says of lists of frequencies: their digests and classes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from accord.agreement.document import Agreement
    from accord.table.layout import Layout
    from accord.table.sources.opening import Place


def print_digest(listed: str, as_json: bool) -> None:
    """Print what an agreement names a list by: one that ships, by its name, or that of a file."""
    from accord.fields.frequencies import SHIPPED, find_list

    found = find_list(listed, None if listed in SHIPPED else listed)
    facts = {"digest": found.digest, "values": len(found.values), "total": found.total, "rest": found.rest}
    typer.echo(json.dumps(facts) if as_json else found.digest)


def facts_of_lists(agreement: Agreement, layout: Layout, data: Place | None) -> list[dict[str, Any]]:
    """How many values each class of each field has; raises all faults of lists.

    Without data a list need not be here: an agreement is also read by people who have neither.
    """
    from accord.fields.frequencies import SHIPPED, find_classes
    from accord.fields.schema import FrequencyField

    specs = {name: spec for name, spec in agreement.fields.items() if isinstance(spec, FrequencyField)}
    known = {n: s for n, s in specs.items() if data or s.list in SHIPPED or s.list in layout.lists}
    found = find_classes(known, layout.list_files)
    return [
        {"field": name, "list": spec.list, "classes": found[name].sizes() if name in found else None}
        for name, spec in specs.items()
    ]
