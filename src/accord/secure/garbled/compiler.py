"""How a circuit of distances becomes a circuit of XOR and AND, to be garbled.

    Hamming, equality    columns of aᵢ ⊕ bᵢ; equality is an AND of what does not differ
    mismatches           columns of aᵢ ≠ bᵢ
    edits                the recurrence of `edits.py`, a cell at a time
    squared Euclidean    |aᵢ − bᵢ| in the bits of √bound, 'too large' otherwise; their squares in one sum
    bilinear             aᵢbᵢ are ANDs of bits that the parties know; a weight is few shifted sums, minus x is
                         (1 − x) − 1, and all constants join a number that a side adds by itself. Its sign,
                         after the bound was taken off, is the answer
    sum of weights       of the levels of a comparison one holds first, so each bit of its weight is an XOR of
                         such levels, which is free; then one sum, and the sign of (sum − least)
    and, or, not         flags that a side knows of its own row (values present, the row is real) are joined
                         by itself, and come last

Dummies cannot match: 'both rows are real' are two of the flags of the last conjunction.
"""

from __future__ import annotations

from math import gcd, isqrt

from accord.errors import UnsupportedError
from accord.secure.circuit import (
    And,
    AtMost,
    Bilinear,
    Both,
    Edit,
    Equal,
    Graded,
    Hamming,
    Input,
    Mismatches,
    Node,
    Not,
    Or,
    Product,
    Reaches,
    SquaredEuclidean,
    Value,
    leaves,
)
from accord.secure.edits import ends
from accord.secure.garbled.boolean import FALSE, TRUE, Boolean, CircuitBuilder, Element, Flags, OwnNumber
from accord.secure.garbled.numbers import (
    Columns,
    Number,
    add_square,
    at_most,
    columns,
    difference,
    magnitude,
    signed_digits,
    total,
)
from accord.side import Side

WIDEST = 62


def check_supported(node: Node, engine: str) -> None:
    """Refuse, by name, what 64-bit integers cannot hold."""
    for leaf in leaves(node):
        match leaf:
            case AtMost(Hamming(of)) if of.high > 1:
                raise UnsupportedError(engine=engine, node="a Hamming distance of numbers that are not bits")
            case AtMost(SquaredEuclidean() as value) if value.high.bit_length() > WIDEST:
                raise UnsupportedError(
                    engine=engine, node=f"a distance that needs {value.high.bit_length()} bits"
                )
            case AtMost(Bilinear(products, _, weight_a, weight_b, low, high)):
                numbers = (low, high, weight_a, weight_b, *(p.weight for p in products))
                if max(map(abs, numbers)) >= 1 << WIDEST:
                    raise UnsupportedError(engine=engine, node=f"a weight or a bound of over {WIDEST} bits")


def boolean_circuit(node: Node) -> Boolean:
    """The circuit of a node and of 'both rows are real'."""
    compiler = _Compiler()
    return compiler.build.finish(compiler.conjunction([node], real=True))


class _Compiler:
    """A circuit under way."""

    def __init__(self) -> None:
        self.build = CircuitBuilder()

    def literal(self, node: Node) -> int:
        match node:
            case And(parts):
                return self.conjunction(list(parts), real=False)
            case Or(parts):
                return self.build.every([self.literal(part) ^ 1 for part in parts]) ^ 1
            case Not(part):
                return self.literal(part) ^ 1
            case Both():
                return self.conjunction([node], real=False)
            case Equal(of):
                return self.build.every([bit for i in range(of.length) for bit in self._alike(of, i, i)])
            case Edit():
                return self._edit(node)
            case AtMost(value, bound):
                if bound < value.low or bound >= value.high:
                    return FALSE if bound < value.low else TRUE
                return self._at_most(value, bound)
            case Reaches():
                if node.least <= node.low or node.least > node.high:
                    return TRUE if node.least <= node.low else FALSE
                return self._reaches(node)

    def conjunction(self, nodes: list[Node], real: bool) -> int:
        """All of the nodes; their flags are joined by the side that knows them, and come last."""
        literals, flags = [], dict[Input, None]()
        while nodes:
            node = nodes.pop()
            if isinstance(node, And):
                nodes += node.parts
            elif isinstance(node, Both):
                flags[node.of] = None
            else:
                literals.append(self.literal(node))
        result = self.build.every(literals)
        if flags or real:
            of = tuple(sorted(flags, key=lambda flag: flag.name))
            for side in Side:
                result = self.build.both(result, self.build.source(Flags(side, of, real)))
        return result

    def _reaches(self, node: Reaches) -> int:
        """Whether sum − least is not negative; weights count from that of no level, which is a constant."""
        constant = sum(part.otherwise for part in node.parts) - node.least
        width = 1 + max(node.high - node.least, node.least - node.low - 1).bit_length()
        terms = columns()
        for place in range(width):
            terms[place].append(TRUE if constant >> place & 1 else FALSE)
        for part in node.parts:
            first = self._first(part)
            for place in range(width):
                bit = FALSE
                for literal, (_, weight) in zip(first, part.levels, strict=True):
                    if (weight - part.otherwise) >> place & 1:
                        bit = self.build.xor(bit, literal)
                terms[place].append(bit)
        return total(self.build, terms, width)[-1] ^ 1

    def _first(self, part: Graded) -> list[int]:
        """For each level, whether it is the first that holds."""
        found, before = [], FALSE
        for when, _ in part.levels:
            holds = self.literal(when)
            found.append(self.build.both(holds, before ^ 1))
            before = self.build.xor(before, found[-1])
        return found

    def _element(self, side: Side, of: Input, index: int) -> Number:
        return [self.build.source(Element(side, of, index, bit)) for bit in range(of.bits)]

    def _alike(self, of: Input, of_a: int, of_b: int) -> list[int]:
        """For each bit of an element of A and one of B, whether they have it alike."""
        a, b = self._element(Side.A, of, of_a), self._element(Side.B, of, of_b)
        return [self.build.xor(x, y) ^ 1 for x, y in zip(a, b, strict=True)]

    def _edit(self, node: Edit) -> int:
        """The recurrence of `edits.py`; a text is short if its first place that does not fit holds a 0."""
        of, build = node.of, self.build

        def make(i: int, d: int, before: int | None, others: tuple[int, ...]) -> int:
            equal = build.every(self._alike(of, i - 1, i + d - 1))
            neither = build.every([equal ^ 1, *(other ^ 1 for other in others)])
            return build.both(TRUE if before is None else before, neither ^ 1)

        found = []
        for d, reached in ends(of.length, node.bound, make, {}).items():
            side = Side.A if d > 0 else Side.B
            beyond = self._element(side, of, of.length - abs(d)) if d else []
            found.append(build.every([int(reached), *(bit ^ 1 for bit in beyond)]))
        return build.every([literal ^ 1 for literal in found]) ^ 1

    def _at_most(self, value: Value, bound: int) -> int:
        match value:
            case Hamming(of) | Mismatches(of):
                bits = columns()
                bits[0] = [self.build.every(self._alike(of, i, i)) ^ 1 for i in range(of.length)]
                return at_most(self.build, total(self.build, bits), bound)
            case SquaredEuclidean(of):
                return self._near(of, bound)
            case Bilinear():
                return self._bilinear(value, bound)

    def _near(self, of: Input, bound: int) -> int:
        """Whether the squared distance is within the bound; no coordinate differs by more than its root."""
        squares, fine = columns(), []
        bits = min(of.bits, isqrt(bound).bit_length())
        for i in range(of.length):
            number, sign = difference(self.build, self._element(Side.A, of, i), self._element(Side.B, of, i))
            size, beyond = magnitude(self.build, number, sign, bits)
            fine.append(beyond ^ 1)
            add_square(self.build, size, squares)
        return self.build.every([*fine, at_most(self.build, total(self.build, squares), bound)])

    def _bilinear(self, value: Bilinear, bound: int) -> int:
        """The sign of (value − bound − 1), after a common factor of the weights was taken out."""
        offsets = (value.weight_a, value.weight_b) if value.offset is not None else (0, 0)
        shared = gcd(*offsets, *(p.weight for p in value.products))
        if not shared:
            return TRUE if bound >= 0 else FALSE
        bound, low, high = bound // shared, -(-value.low // shared), value.high // shared
        if bound >= high:
            return TRUE
        width = 1 + max(bound - low, high - bound - 1).bit_length()
        terms, constant = columns(), -bound - 1
        for product in value.products:
            constant += self._add_product(product, product.weight // shared, terms)
        owners = [(s, w // shared) for s, w in zip(Side, offsets, strict=True) if w]
        for number, (side, weight) in enumerate(owners):
            assert value.offset is not None
            own = OwnNumber(side, value.offset, weight, constant if number == 0 else 0, 0)
            for bit in range(width):
                terms[bit].append(self.build.source(OwnNumber(own.side, own.of, own.weight, own.add, bit)))
        if not owners:
            for bit in range(width):
                terms[bit].append(TRUE if constant >> bit & 1 else FALSE)
        return total(self.build, terms, width)[-1]

    def _add_product(self, product: Product, weight: int, to: Columns) -> int:
        """Put weight · Σ aᵢbᵢ into columns, but for a constant, which is returned."""
        terms, constant = columns(), 0
        for i in range(product.left.length):
            for low, a in enumerate(self._element(Side.A, product.left, i)):
                for high, b in enumerate(self._element(Side.B, product.right, i)):
                    terms[low + high].append(self.build.both(a, b))
        digits = signed_digits(weight)
        if len(digits) > 1:
            summed = total(self.build, terms)
            terms = columns()
            for place, literal in enumerate(summed):
                terms[place] = [literal]
        for exponent, sign in digits:
            for place, literals in terms.items():
                to[place + exponent] += [literal ^ (sign < 0) for literal in literals]
                constant -= len(literals) << (place + exponent) if sign < 0 else 0
        return constant
