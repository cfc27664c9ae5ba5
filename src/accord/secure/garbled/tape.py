"""The order in which a circuit is garbled: steps of gates that can be hashed together, and places in memory.

A step first loads and XORs the labels that its gates read, then hashes them, then makes the gates' tables and
outputs. Gates of one depth share steps, of at most `TABLES` tables each, so that what a step works on stays
in the cache; a place in memory is used again as soon as no later step reads it. An answer that is no AND is
made by a last step without gates.

Which half of an AND with a known bit is needed depends on who garbles, so each side has a tape of its own for
the batches that it garbles and for those that it evaluates: `tape_of(circuit, garbler)` is the same on both.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from accord.secure.garbled.boolean import Boolean, Gate, Source
from accord.side import Side

Codes = NDArray[np.int64]

TABLES = 8
"""Tables that a step makes at most."""

XOR, THEIRS, OURS, MIXED = range(4)
"""Operations (code, place, x, y): XOR of two places; the label of the evaluator's bit x; of the garbler's bit
x; of the XOR of the evaluator's bit x with the garbler's y."""

FULL, GARBLER, EVALUATOR = range(3)
"""Gates: an AND, or one with a bit that the garbler or the evaluator knows. Their columns are code, place of
the output, first table; hash and inversion of the garbler's half, then of the evaluator's half; place and
inversion of the label that the evaluator's half may pass on; number of the known bit. Hashes are numbered in
the step's list. With a bit that the garbler knows, the last inversion is that of the bit."""


@dataclass(frozen=True, eq=False)
class TapeStep:
    """Operations, places whose labels are hashed, which of these hashes each table takes, and gates."""

    operations: Codes
    hashed: Codes
    taken: Codes
    gates: Codes


@dataclass(frozen=True, eq=False)
class Tape:
    """A circuit for one garbler; `theirs` are the bits of the evaluator, `ours` those of the garbler."""

    steps: tuple[TapeStep, ...]
    theirs: tuple[Source, ...]
    ours: tuple[Source, ...]
    places: int
    tables: int
    output: int
    """The place of the answer, or −1 where the answer is always no."""
    inverted: bool

    @property
    def widest(self) -> int:
        """Tables that the largest step makes, or labels that it hashes."""
        return max((max(len(s.taken), len(s.hashed)) for s in self.steps), default=0)


def tapes_of(circuit: Boolean) -> tuple[Tape, Tape]:
    """The tapes of a circuit where A garbles and where B does."""
    return tape_of(circuit, Side.A), tape_of(circuit, Side.B)


def tape_of(circuit: Boolean, garbler: Side) -> Tape:
    """The tape of a circuit."""
    drafts = _Drafter(circuit, garbler).drafts()
    output = circuit.output >> 1
    places = _Places(drafts, output)
    steps = tuple(places.encode(draft) for draft in drafts)
    return Tape(
        steps,
        theirs=circuit.sources(garbler.other),
        ours=circuit.sources(garbler),
        places=places.count,
        tables=sum(len(step.taken) for step in steps),
        output=places.of[output] if output else -1,
        inverted=bool(circuit.output & 1),
    )


class _Draft:
    """A step whose operands are wires."""

    def __init__(self) -> None:
        self.operations: list[tuple[int, int, int, int]] = []
        self.hashed: dict[int, int] = {}
        self.taken: list[int] = []
        self.gates: list[list[int]] = []

    def hash(self, literal: int) -> tuple[int, int]:
        """Take the hash of a literal for the next table: its number in this step, and the inversion."""
        number = self.hashed.setdefault(literal >> 1, len(self.hashed))
        self.taken.append(number)
        return number, literal & 1

    def reads(self) -> set[int]:
        """The wires that the gates read after the operations."""
        return {*self.hashed, *(gate[7] for gate in self.gates if gate[7])}


class _Drafter:
    """The steps of a circuit, in wires."""

    def __init__(self, circuit: Boolean, garbler: Side) -> None:
        self.circuit, self.garbler = circuit, garbler
        sides = circuit.sources(Side.A), circuit.sources(Side.B)
        self.numbers = {of: number for sources in sides for number, of in enumerate(sources)}
        self.made: set[int] = set()

    def drafts(self) -> list[_Draft]:
        """The ANDs, by depth, some at a time."""
        depths, levels = dict[int, int](), dict[int, list[int]]()
        for wire in self.circuit.needed:
            what = self.circuit.what(wire)
            depths[wire] = max(depths[w] for w in what.wires) if isinstance(what, Gate) else 0
            if isinstance(what, Gate) and what.kind == "and":
                depths[wire] += 1
                levels.setdefault(depths[wire], []).append(wire)
        size = TABLES // 2
        cut = [wires[i : i + size] for _, wires in sorted(levels.items()) for i in range(0, len(wires), size)]
        found = [self._draft(wires) for wires in cut]
        output = self.circuit.output >> 1
        if output and output not in self.made:
            # An XOR, or a bit of a side.
            found.append(_Draft())
            self._make(found[-1], output)
        return found

    def _draft(self, ands: list[int]) -> _Draft:
        draft = _Draft()
        for wire in ands:
            gate = self.circuit.what(wire)
            assert isinstance(gate, Gate)
            self._add_gate(draft, wire, *self._sides(gate))
        self.made.update(ands)
        return draft

    def _source(self, wire: int) -> Source | None:
        what = self.circuit.what(wire)
        return None if isinstance(what, Gate) else what

    def _sides(self, gate: Gate) -> tuple[int, int, int]:
        """The kind of an AND and its literals, first the one that is known if there is one."""
        for kind, side in ((GARBLER, self.garbler), (EVALUATOR, self.garbler.other)):
            for known, other in ((gate.left, gate.right), (gate.right, gate.left)):
                source = self._source(known >> 1)
                if source is not None and source.side is side:
                    return kind, known, other
        return FULL, gate.left, gate.right

    def _add_gate(self, draft: _Draft, wire: int, kind: int, left: int, right: int) -> None:
        """Note a gate, after the operations that make the labels it reads."""
        table, source = len(draft.taken), self._source(left >> 1)
        bit = 0 if source is None else self.numbers[source]
        self._make(draft, right >> 1)
        if kind == GARBLER:
            codes = [*draft.hash(right), 0, 0, 0, left & 1]
        elif kind == EVALUATOR:
            self._make(draft, left >> 1)
            codes = [0, 0, *draft.hash(left), right >> 1, right & 1]
        else:
            self._make(draft, left >> 1)
            codes = [*draft.hash(left), *draft.hash(right), left >> 1, left & 1]
        draft.gates.append([kind, wire, table, *codes, bit])

    def _make(self, draft: _Draft, wanted: int) -> None:
        """Add the operations that make a wire's label, operands first."""
        missing, waiting = set[int](), [wanted]
        while waiting:
            wire = waiting.pop()
            if wire not in self.made and wire not in missing:
                missing.add(wire)
                what = self.circuit.what(wire)
                if isinstance(what, Gate) and not self._is_mixed(what):
                    waiting += what.wires
        draft.operations += [self._operation(wire) for wire in sorted(missing)]
        self.made |= missing

    def _is_mixed(self, gate: Gate) -> bool:
        """Whether a gate joins a bit of one side with a bit of the other."""
        x, y = map(self._source, gate.wires)
        return x is not None and y is not None and x.side is not y.side

    def _operation(self, wire: int) -> tuple[int, int, int, int]:
        what = self.circuit.what(wire)
        if not isinstance(what, Gate):
            return OURS if what.side is self.garbler else THEIRS, wire, self.numbers[what], 0
        if not self._is_mixed(what):
            return XOR, wire, *what.wires
        x, y = what.wires if self._theirs(what.wires[0]) else what.wires[::-1]
        return MIXED, wire, self._number_of(x), self._number_of(y)

    def _theirs(self, wire: int) -> bool:
        source = self._source(wire)
        return source is not None and source.side is not self.garbler

    def _number_of(self, wire: int) -> int:
        source = self._source(wire)
        assert source is not None
        return self.numbers[source]


class _Places:
    """Where each wire lies; a place is free again after the last read of its wire."""

    def __init__(self, drafts: list[_Draft], output: int) -> None:
        self.of: dict[int, int] = {}
        self.count = 0
        self._free: list[int] = []
        self._left = Counter(w for d in drafts for code, _, *of in d.operations if code == XOR for w in of)
        self._left.update(w for d in drafts for w in d.reads())
        self._left[output] += 1

    def encode(self, draft: _Draft) -> TapeStep:
        """A step in places. An output never lies where a gate of the same step still reads."""
        operations = [self._operation(*operation) for operation in draft.operations]
        hashed = [self.of[wire] for wire in draft.hashed]
        gates = [[*g[:1], self._new(g[1]), *g[2:7], self.of.get(g[7], 0), *g[8:]] for g in draft.gates]
        for wire in draft.reads():
            self._read(wire)
        return TapeStep(_codes(operations, 4), np.array(hashed), np.array(draft.taken), _codes(gates, 10))

    def _operation(self, code: int, wire: int, x: int, y: int) -> list[int]:
        if code == XOR:
            x, y = self._read(x), self._read(y)
        return [code, self._new(wire), x, y]

    def _new(self, wire: int) -> int:
        if not self._free:
            self._free.append(self.count)
            self.count += 1
        self.of[wire] = self._free.pop()
        return self.of[wire]

    def _read(self, wire: int) -> int:
        self._left[wire] -= 1
        if not self._left[wire]:
            self._free.append(self.of[wire])
        return self.of[wire]


def _codes(rows: list[list[int]], width: int) -> Codes:
    return np.array(rows, dtype=np.int64).reshape(-1, width)
