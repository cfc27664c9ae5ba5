"""Circuits as text: what is written is read again, and nothing else."""

from __future__ import annotations

import pytest

from accord.datasets.starter import starter
from accord.secure.circuit import And, Both, Edit, Input, Node, Not, Or
from accord.secure.circuit_text import decode_circuit, encode_circuit

X = Input("x", 3, 1)
CIRCUITS: list[Node] = [And(()), Or((Both(X), Not(Edit(Input('a "name"', 12, 27), 2))))]


@pytest.mark.parametrize(
    "node",
    [*CIRCUITS, *(starter(kind).task.lowered.node for kind in ("people", "products"))],
)
def test_a_circuit_is_read_again(node: Node) -> None:
    text = encode_circuit(node)
    assert decode_circuit(text) == node
    assert len(text) < 1 << 20


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        "3",
        "[]",
        '["Input","x",3,1,null]',
        '["Both",["Input","x",3,1]]',
        '["Both"]',
        '["Both",["Input","x",3,1,null],4]',
        '["Path","/"]',
        '["And", []]',
        '["And",[]]]',
    ],
)
def test_what_is_no_circuit_is_refused(wrong: str) -> None:
    with pytest.raises(ValueError):
        decode_circuit(wrong)
