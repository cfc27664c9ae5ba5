"""What passes between two parties under fixed randomness, of what the laboratory plugs in.

`python -m tests.reproduction.transcripts` records all cases anew, one line each (tests/transcripts.py).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from accord.agreement.document import Agreement
from tests.protocols import worlds
from tests.reproduction.worlds import plugged
from tests.secure.encapsulation import given_messages
from tests.transcripts import A_ROWS, B_ROWS, linked, points

RECORDED = Path(__file__).with_name("transcripts.json")


def _protocol(rule: str = worlds.RULE, blocking: Any = None, **protocol: Any) -> Agreement:
    """Points on a grid, or in another blocking."""
    made = worlds.agreement(rule=rule).model_dump(mode="json")
    blocking = made["blocking"] if blocking is None else blocking
    return Agreement.model_validate(made | {"blocking": blocking, "protocol": protocol})


def _noise(name: str) -> Agreement:
    privacy = {"epsilon": "1", "delta": "1e-3", "noise": name}
    return worlds.agreement(A=privacy, B=privacy)


_BY_KEY = [{"kind": "key", "field": "x"}]
_LOCAL = partial(
    _protocol, blocking=_BY_KEY, name="local-dp", window=2, A={"epsilon": "2"}, B={"epsilon": "1"}
)
_EXPAND = partial(_protocol, blocking=[], name="psi-expand")
IN_THE_CLEAR: Mapping[str, Callable[[], Agreement]] = {
    "laplace, paper": partial(_noise, "paper"),
    "laplace, negligible": partial(_noise, "negligible"),
    "psi-expand": _EXPAND,
    "local-dp": _LOCAL,
    "local-dp, candidates": partial(_LOCAL, rule=worlds.WITHOUT_INDEX),
    "local-dp, one side public": partial(_LOCAL, A={"public": True}, greedy=False),
    "blocking": partial(_protocol, name="blocking"),
    "laplace-suppress": partial(_protocol, name="laplace-suppress", epsilon="1"),
}


def cases() -> dict[str, Callable[[], dict[str, Any]]]:
    """Every transcript by its name. *Requires* that the plug-ins are loaded."""
    many = points(A_ROWS, "a"), points(B_ROWS, "b")
    few = points(A_ROWS[:4], "a"), points(B_ROWS[:3], "b")
    found: dict[str, Callable[[], dict[str, Any]]] = {}

    def add(name: str, engine: str, make: Callable[[], Agreement], a: pa.Table, b: pa.Table) -> None:
        found[f"{name}; {engine}"] = given_messages()(lambda: linked(make(), a, b, engine))

    for name, make in IN_THE_CLEAR.items():
        add(name, "ideal", make, *many)
    for name, greedy in (("all-pairs", True), ("all-pairs, not greedy", False)):
        for engine in ("paillier", "paillier-packed"):
            add(name, engine, partial(worlds.agreement, protocol="all-pairs", greedy=greedy), *few)
    add("psi-expand, asked by A", "ot", _EXPAND, *many)
    add("psi-expand, asked by B", "ot", _EXPAND, *many[::-1])
    return found


def record() -> None:
    """All cases, one line each."""
    with plugged():
        lines = [f"{json.dumps(n)}: {json.dumps(make(), sort_keys=True)}" for n, make in cases().items()]
    RECORDED.write_text("{\n" + ",\n".join(sorted(lines)) + "\n}\n")


if __name__ == "__main__":
    record()
