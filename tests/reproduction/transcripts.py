"""What passes between two parties under fixed randomness, of what the laboratory plugs in.

`python -m tests.reproduction.transcripts` records all cases anew (tests/transcripts.py).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from accord.agreement.document import Agreement
from tests.protocols import worlds
from tests.reproduction.plugged import plugged
from tests.secure.transfer.encapsulation import given_messages
from tests.transcripts import A_ROWS, B_ROWS, linked, points
from tests.transcripts import IN_THE_CLEAR as ALL_PAIRS

RECORDED = Path(__file__).with_name("transcripts.json")


def _by_key(rule: str = worlds.RULE, **options: Any) -> Agreement:
    """Points with x as the key of sixteen bins."""
    made = worlds.agreement(rule=rule).model_dump(mode="json")
    return Agreement.model_validate(made | {"blocking": [{"kind": "key", "field": "x"}], "protocol": options})


def _protocol(**options: Any) -> Agreement:
    made = worlds.agreement().model_dump(mode="json")
    return Agreement.model_validate(made | {"protocol": options})


def _noise(name: str) -> Agreement:
    privacy = {"epsilon": "1", "delta": "1e-3", "noise": name}
    return worlds.agreement(A=privacy, B=privacy)


def _expand() -> Agreement:
    made = worlds.agreement(protocol="psi").model_dump(mode="json")
    return Agreement.model_validate(made | {"protocol": {"name": "psi-expand"}})


_LOCAL: dict[str, Any] = {"name": "local-dp", "window": 2, "A": {"epsilon": "2"}, "B": {"epsilon": "1"}}
IN_THE_CLEAR: Mapping[str, Callable[[], Agreement]] = {
    "laplace, paper": lambda: _noise("paper"),
    "laplace, negligible": lambda: _noise("negligible"),
    "psi-expand": _expand,
    "local-dp": lambda: _by_key(**_LOCAL),
    "local-dp, candidates": lambda: _by_key(**_LOCAL, rule=worlds.WITHOUT_INDEX),
    "local-dp, one side public": lambda: _by_key(**_LOCAL | {"A": {"public": True}}, greedy=False),
    "blocking": lambda: _protocol(name="blocking"),
    "laplace-suppress": lambda: _protocol(name="laplace-suppress", epsilon="1"),
}


def cases() -> dict[str, Callable[[], dict[str, Any]]]:
    """Every transcript by its name. *Requires* that the plug-ins are loaded."""
    many = points(A_ROWS, "a"), points(B_ROWS, "b")
    found: dict[str, Callable[[], dict[str, Any]]] = {}

    def add(name: str, engine: str, make: Callable[[], Agreement], a: pa.Table, b: pa.Table) -> None:
        found[f"{name}; {engine}"] = lambda: linked(make(), a, b, engine)

    for name, make in IN_THE_CLEAR.items():
        add(name, "ideal", make, *many)
    few = points(A_ROWS[:4], "a"), points(B_ROWS[:3], "b")
    for name in ("all-pairs", "all-pairs, not greedy"):
        for engine in ("paillier", "paillier-packed"):
            add(name, engine, ALL_PAIRS[name], *few)
    add("psi-expand, asked by A", "ot", _expand, *many)
    add("psi-expand, asked by B", "ot", _expand, *many[::-1])
    return {name: given_messages()(make) for name, make in found.items()}


if __name__ == "__main__":
    with plugged():
        recorded = {name: make() for name, make in cases().items()}
    RECORDED.write_text(json.dumps(recorded, indent=1, sort_keys=True) + "\n")
