"""A rule as a circuit, and each side's rows as the circuit's inputs.

    same            Equal(code or hash, bit by bit)
    hamming ≤ t     Hamming ≤ t
    edit ≤ t        Edit of the letters' numbers
    mismatches ≤ t  Mismatches ≤ t of these numbers
    euclidean ≤ θ   SquaredEuclidean ≤ ⌊(θ/step)²⌋
    within t        a − b ≤ t and b − a ≤ t: two differences, which cost no interaction before the comparison
    dice, jaccard   v·(|a| + |b|) − w·⟨a, b⟩ ≤ 0
    cosine          ⟨onehot(|a|), T(·, |b|)⟩ − ⟨a, b⟩ ≤ 0 with T = ⌈c·√(|a|·|b|)⌉

    missing         not (A's value is there and B's is); of one side, the other's bit is always set
    score           Reaches, level by level

What the blocking guarantees is left out. A field that may be missing brings one secret bit a row, and its
comparisons hold only where `Both` bits are set. A crossed predicate is an input that each side computes from
another field, and looks like any other to an engine. Similarities name their filters instead: a field has one
filter in all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from accord.fields.columns import Bits, Columns, Integers
from accord.fields.letters import letters
from accord.fields.schema import Letters, TextField
from accord.rules.implied import without
from accord.rules.rule import (
    And,
    Comparison,
    Edit,
    Euclidean,
    Hamming,
    Levels,
    Mismatches,
    Missing,
    Not,
    OneField,
    Or,
    Rule,
    Same,
    Score,
    Similar,
    Within,
    compared_fields,
)
from accord.rules.thresholds import Fields, cosine_table, linear_weights, squared_steps, within_steps
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
            case Score(comparisons, least):
                return circuit.Reaches(tuple(map(self.graded, comparisons)), least)
            case Missing(field, side):
                return circuit.Not(self.both_present(field, field, side))
            case Same() | Hamming() | Similar() | Edit() | Mismatches() | Within() | Euclidean():
                return self.where_present(rule, self.comparison(rule))
            case _:
                raise TypeError(f"not a rule: {type(rule).__name__}")

    def graded(self, of: Levels) -> circuit.Graded:
        return circuit.Graded(
            tuple((self.node(level.when), level.weight) for level in of.levels), of.otherwise
        )

    def where_present(self, rule: Comparison, node: Node) -> Node:
        """The predicate, and both values of each of its fields that may be missing are there."""
        may_miss = [pair for pair in compared_fields(rule) if self.may_miss(pair)]
        return circuit.And((node, *(self.both_present(*pair) for pair in may_miss))) if may_miss else node

    def both_present(self, of_a: str, of_b: str, only: Side | None = None) -> circuit.Both:
        """A's value and B's value are there; or that of the only side which is asked."""
        name = f"{_named(of_a, of_b)} present{f' in {only.value}' if only else ''}"
        for side, field in ((Side.A, of_a), (Side.B, of_b)):
            self.builders[name, side] = _presence(field) if only in (None, side) else _ones(field)
        return circuit.Both(Input(name, 1, 1))

    def comparison(self, rule: Comparison) -> Node:
        match rule:
            case Same():
                return circuit.Equal(self.bits_of(rule))
            case Hamming(_, bound):
                return circuit.AtMost(circuit.Hamming(self.bits_of(rule)), bound)
            case Edit(_, bound):
                return circuit.Edit(self.letters_of(rule), bound)
            case Mismatches(_, bound):
                return circuit.AtMost(circuit.Mismatches(self.letters_of(rule)), bound)
            case Similar("cosine"):
                return self.cosine(rule)
            case Similar():
                return self.overlap(rule)
            case Within():
                return self.within(rule)
            case Euclidean(names):
                high = max(self.high(name) for name in names)
                point = _point(names)
                of = self.input(f"point {' '.join(names)}", len(names), high, point, point)
                return circuit.AtMost(circuit.SquaredEuclidean(of), squared_steps(rule, self.fields))

    def within(self, rule: Within) -> Node:
        high, bound = self.high(rule.field), within_steps(rule, self.fields)
        of = self.one(rule, "value", 1, high, lambda field: _point((field,)))
        ahead = circuit.Bilinear((), of, 1, -1, -high, high)
        behind = circuit.Bilinear((), of, -1, 1, -high, high)
        return circuit.And((circuit.AtMost(ahead, bound), circuit.AtMost(behind, bound)))

    def overlap(self, rule: Similar) -> Node:
        """v·(|a| + |b|) − w·|a ∧ b| ≤ 0.

        With n bits |a ∧ b| is at most |a| and |b|, so the value is at least n·(2v − w), and at least
        |a| + |b| − n, so it is at most v·n, as w is at least v.
        """
        a, b = self.bits_of(Same(rule.field)), self.bits_of(Same(rule.field_b))
        weight = self.one(rule, "ones", 1, a.length, lambda field: lambda c: _weight(c, field)[:, None])
        w, v = linear_weights(rule)
        low, high = a.length * min(0, 2 * v - w), v * a.length
        products = (circuit.Product(a, b, -w),)
        return circuit.AtMost(circuit.Bilinear(products, weight, v, v, low, high), 0)

    def cosine(self, rule: Similar) -> Node:
        a, b = self.bits_of(Same(rule.field)), self.bits_of(Same(rule.field_b))
        table = cosine_table(rule.bound, a.length)
        size = a.length + 1
        ones = Input(f"{rule.field} onehot", size, 1)
        least = Input(f"{rule.field_b} least for {rule.bound}", size, int(table.max()))
        eye = np.eye(size, dtype=np.int64)
        self.builders[ones.name, Side.A] = lambda c: eye[_weight(c, rule.field)]
        self.builders[least.name, Side.B] = lambda c: table.T[_weight(c, rule.field_b)]
        products = (circuit.Product(ones, least, 1), circuit.Product(a, b, -1))
        return circuit.AtMost(circuit.Bilinear(products, None, 0, 0, -a.length, int(table.max())), 0)

    def bits_of(self, rule: OneField) -> Input:
        """A text's bits, or the binary digits of a code; zeros where it is missing."""
        spec, pair = self.fields[rule.field], (rule.field, rule.field_b)
        length = spec.bits if isinstance(spec, TextField) else max(1, self.high(rule.field).bit_length())
        of = self.one(rule, "bits", length, 1, lambda field: lambda columns: _bits(columns, field, length))
        return replace(of, where=self.both_present(*pair).of) if self.may_miss(pair) else of

    def may_miss(self, pair: tuple[str, str]) -> bool:
        return any(self.fields[name].missing == "differs" for name in pair)

    def letters_of(self, rule: OneField) -> Input:
        """The numbers of a text's letters, 0 behind the last one."""
        spec = self.fields[rule.field]
        if not (isinstance(spec, TextField) and isinstance(spec.encoder, Letters)):
            raise TypeError(f"{rule.field} is no field of letters")
        length, high = spec.encoder.length, len(spec.encoder.alphabet)
        return self.one(rule, "letters", length, high, lambda field: lambda c: _letters(c, field, length))

    def one(self, rule: OneField, what: str, length: int, high: int, build: Callable[[str], Build]) -> Input:
        """An input that each side computes in the same way from its field of the predicate."""
        name = f"{_named(rule.field, rule.field_b)} {what}"
        return self.input(name, length, high, build(rule.field), build(rule.field_b))

    def input(self, name: str, length: int, high: int, of_a: Build, of_b: Build) -> Input:
        self.builders[name, Side.A], self.builders[name, Side.B] = of_a, of_b
        return Input(name, length, high)

    def high(self, field: str) -> int:
        spec = self.fields[field]
        if isinstance(spec, TextField):
            raise TypeError(f"{field} is no field of integers")
        return spec.high


def _named(of_a: str, of_b: str) -> str:
    """No field's name holds a stroke."""
    return of_a if of_a == of_b else f"{of_a}/{of_b}"


def _bits(columns: Columns, field: str, length: int = 0) -> Array:
    column = columns[field]
    if isinstance(column, Bits):
        return column.unpack()
    return (column.values[:, None] >> np.arange(length)) & 1


def _letters(columns: Columns, field: str, length: int) -> Array:
    column = columns[field]
    if not isinstance(column, Bits):
        raise TypeError(f"{field} is no field of letters")
    return letters(column, length)


def _weight(columns: Columns, field: str) -> Array:
    """How many bits of a filter are set."""
    return _bits(columns, field).sum(1)


def _point(names: tuple[str, ...]) -> Build:
    def build(columns: Columns) -> Array:
        return np.stack([c.values for name in names if isinstance(c := columns[name], Integers)], axis=1)

    return build


def _presence(name: str) -> Build:
    return lambda columns: columns[name].present.astype(np.int64)[:, None]


def _ones(name: str) -> Build:
    return lambda columns: np.ones((len(columns[name]), 1), np.int64)
