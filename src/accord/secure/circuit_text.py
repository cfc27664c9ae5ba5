"""A circuit as text, for who evaluates it in another process and knows nothing of rules.

A node is a JSON list of its name and its fields in order, a tuple is a list of its elements; what begins with
a name is a node. Names are those of circuit.py, and no other is read. Nothing in it is secret.
"""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any, get_args

from accord.secure.circuit import Circuit, Graded, Index, Input, Number, Product, Tally, Value

_KINDS: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (Input, Product, Graded, Index, Number, Tally, *get_args(Value), *get_args(Circuit))
}


def encode_circuit(node: Circuit) -> str:
    """A circuit in words."""
    return json.dumps(_listed(node), separators=(",", ":"))


def decode_circuit(text: str) -> Circuit:
    """The circuit in this text; raises ValueError unless `encode_circuit` could have written it."""
    found = _read(json.loads(text))
    if not isinstance(found, get_args(Circuit)) or encode_circuit(found) != text:
        raise ValueError("not a circuit")
    return found


def _listed(part: object) -> object:
    if type(part).__name__ in _KINDS:
        return [type(part).__name__, *(_listed(getattr(part, f.name)) for f in fields(part))]  # type: ignore[arg-type]
    return [_listed(each) for each in part] if isinstance(part, tuple) else part


def _read(part: Any) -> Any:
    if not isinstance(part, list):
        return part
    if not part or not isinstance(part[0], str):
        return tuple(_read(each) for each in part)
    kind = _KINDS.get(part[0])
    if kind is None or len(part) != 1 + len(fields(kind)):
        raise ValueError("not a circuit")
    return kind(*(_read(each) for each in part[1:]))
