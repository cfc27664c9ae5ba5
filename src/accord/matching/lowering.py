"""A rule as a circuit, and each side's rows as the circuit's inputs.

    same            Equal(code or hash, bit by bit)
    hamming ≤ t     Hamming ≤ t
    euclidean ≤ θ   SquaredEuclidean ≤ ⌊(θ/step)²⌋
    within t        a − b ≤ t and b − a ≤ t: two differences, which cost no interaction before the comparison
    dice, jaccard   v·(|a| + |b|) − w·⟨a, b⟩ ≤ 0
    cosine          ⟨onehot(|a|), T(·, |b|)⟩ − ⟨a, b⟩ ≤ 0 with T = ⌈c·√(|a|·|b|)⌉

What the blocking guarantees is left out. A field that may be missing brings one secret bit a row, and its
predicates hold only where `Both` bits are set.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from accord.matching.implied import without
from accord.matching.rule import And, Euclidean, Hamming, Not, Or, Rule, Same, Similar, Within, fields_of
from accord.matching.thresholds import Fields, cosine_table, linear_weights, squared_steps, within_steps
from accord.records.columns import Bits, Columns, Integers
from accord.records.schema import TextField
from accord.secure import circuit
from accord.secure.circuit import Input, Node
from accord.side import Side

Array = NDArray[np.int64]
Build = Callable[[Columns], Array]


@dataclass(frozen=True)
class Lowered:
    """A circuit and, for each of its inputs, how a side computes it from its own columns."""

    node: Node
    builders: dict[tuple[str, Side], Build]

    def inputs(self, side: Side, columns: Columns) -> dict[str, Array]:
        """This side's rows: one array of shape (records, length) for each input of the circuit."""
        needed = circuit.inputs(self.node, side)
        return {of.name: self.builders[of.name, side](columns) for of in needed}


def lower(rule: Rule, fields: Fields, equal: frozenset[str] = frozenset()) -> Lowered:
    """Lower a rule for pairs that the blocking guarantees to agree on the fields in `equal`."""
    lowering = _Lowering(fields)
    return Lowered(lowering.node(without(rule, equal)), lowering.builders)


class _Lowering:
    def __init__(self, fields: Fields) -> None:
        self.fields = fields
        self.builders: dict[tuple[str, Side], Build] = {}

    def node(self, rule: Rule) -> Node:
        match rule:
            case And(parts):
                return circuit.And(tuple(self.node(part) for part in parts))
            case Or(parts):
                return circuit.Or(tuple(self.node(part) for part in parts))
            case Not(part):
                return circuit.Not(self.node(part))
            case _:
                return self.where_present(rule, self.predicate(rule))

    def where_present(self, rule: Rule, node: Node) -> Node:
        """The predicate, and both values of each of its fields that may be missing are there."""
        may_miss = [name for name in fields_of(rule) if self.fields[name].missing == "differs"]
        marks = [self.input(f"{name} present", 1, 1, _presence(name)) for name in may_miss]
        return circuit.And((node, *map(circuit.Both, marks))) if marks else node

    def predicate(self, rule: Rule) -> Node:
        match rule:
            case Same(field):
                return circuit.Equal(self.bits_of(field))
            case Hamming(field, bound):
                return circuit.AtMost(circuit.Hamming(self.bits_of(field)), bound)
            case Similar("cosine", field, _):
                return self.cosine(rule, field)
            case Similar(_, field, _):
                return self.overlap(rule, field)
            case Within(field, _, _):
                return self.within(rule, field)
            case Euclidean(names):
                high = max(self.high(name) for name in names)
                of = self.input(f"point {' '.join(names)}", len(names), high, _point(names))
                return circuit.AtMost(circuit.SquaredEuclidean(of), squared_steps(rule, self.fields))
            case _:
                raise TypeError(f"not a rule: {type(rule).__name__}")

    def within(self, rule: Within, field: str) -> Node:
        high, bound = self.high(field), within_steps(rule, self.fields)
        of = self.input(f"{field} value", 1, high, _point((field,)))
        ahead = circuit.Bilinear((), of, 1, -1, -high, high)
        behind = circuit.Bilinear((), of, -1, 1, -high, high)
        return circuit.And((circuit.AtMost(ahead, bound), circuit.AtMost(behind, bound)))

    def overlap(self, rule: Similar, field: str) -> Node:
        """v·(|a| + |b|) − w·|a ∧ b| ≤ 0; since |a ∧ b| ≤ |a|, |b|, the value is at least bits·(2v − w)."""
        bits = self.bits_of(field)
        weight = self.input(f"{field} ones", 1, bits.length, lambda c: _bits(c, field).sum(1, keepdims=True))
        w, v = linear_weights(rule)
        low, high = bits.length * min(0, 2 * v - w), 2 * v * bits.length
        products = (circuit.Product(bits, bits, -w),)
        return circuit.AtMost(circuit.Bilinear(products, weight, v, v, low, high), 0)

    def cosine(self, rule: Similar, field: str) -> Node:
        bits = self.bits_of(field)
        table = cosine_table(rule.bound, bits.length)
        size = bits.length + 1
        ones = Input(f"{field} onehot", size, 1)
        least = Input(f"{field} least for {rule.bound}", size, int(table.max()))
        eye = np.eye(size, dtype=np.int64)
        self.builders[ones.name, Side.A] = lambda c: eye[_bits(c, field).sum(1)]
        self.builders[least.name, Side.B] = lambda c: table.T[_bits(c, field).sum(1)]
        products = (circuit.Product(ones, least, 1), circuit.Product(bits, bits, -1))
        return circuit.AtMost(circuit.Bilinear(products, None, 0, 0, -bits.length, int(table.max())), 0)

    def bits_of(self, field: str) -> Input:
        """A text's bits, or the binary digits of a code."""
        spec = self.fields[field]
        length = spec.bits if isinstance(spec, TextField) else max(1, self.high(field).bit_length())
        return self.input(f"{field} bits", length, 1, lambda columns: _bits(columns, field, length))

    def input(self, name: str, length: int, high: int, build: Build) -> Input:
        """An input that both sides compute in the same way."""
        self.builders[name, Side.A] = self.builders[name, Side.B] = build
        return Input(name, length, high)

    def high(self, field: str) -> int:
        spec = self.fields[field]
        if isinstance(spec, TextField):
            raise TypeError(f"{field} is no field of integers")
        return spec.high


def _bits(columns: Columns, field: str, length: int = 0) -> Array:
    column = columns[field]
    if isinstance(column, Bits):
        return column.unpack()
    return (column.values[:, None] >> np.arange(length)) & 1


def _point(names: tuple[str, ...]) -> Build:
    def build(columns: Columns) -> Array:
        return np.stack([c.values for name in names if isinstance(c := columns[name], Integers)], axis=1)

    return build


def _presence(name: str) -> Build:
    return lambda columns: columns[name].present.astype(np.int64)[:, None]
