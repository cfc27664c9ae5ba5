"""Yao's garbled circuits over many pairs at once: free-XOR and half gates.

A wire of a pair has two labels of 128 bits, W⁰ and W¹ = W⁰ ⊕ Δ; the garbler has both (it keeps W⁰), the
evaluator the one of the wire's value, which tells it nothing. Their lowest bits differ, since Δ is odd; p is
the lowest bit of W⁰ and s that of the evaluator's label. XOR of labels is XOR of values (Kolesnikov,
Schneider, ICALP'08). An AND takes two tables (Zahur, Rosulek, Evans, Two Halves Make a Whole, EUROCRYPT'15):

    garbler    G = H(A⁰) ⊕ H(A¹) ⊕ p_b·Δ      E = H(B⁰) ⊕ H(B¹) ⊕ A⁰
               C⁰ = H(A⁰) ⊕ p_a·G  ⊕  H(B⁰) ⊕ p_b·(E ⊕ A⁰)
    evaluator  C = H(A) ⊕ s_a·G  ⊕  H(B) ⊕ s_b·(E ⊕ A)

and with a bit v that a party knows, one: the garbler's half with v in the place of p_b, or the evaluator's
half, in which it chooses by v. H is the TMMO of `transfer/permutation.py`, whose tweak numbers every table of
every pair of a session. TMMO is circular correlation robust for labels of any kind and needs only that no
(label, tweak) comes twice; so a row keeps its labels against all rows that it meets in a batch, and the
garbler's own bit b is a wire with W⁰ = b·Δ, whose label at the evaluator is 0: such labels are never sent.

Learns: the evaluator labels, tables that are uniform to it, and what is decoded for it; the garbler nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from accord.secure.garbled.kernels import gather, load, make_tables, open_tables, tweak
from accord.secure.garbled.tape import Tape
from accord.secure.transfer.permutation import GATE, Permutation

Words = NDArray[np.uint64]
Bits = NDArray[np.uint8]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class Feed:
    """What goes into a batch: labels of the evaluator's bits (bits, rows, 2) and which row each pair takes;
    the garbler's bits (bits, rows) likewise. The evaluator has zeros for the garbler's bits."""

    labels: Words
    theirs: Ints
    ours: Bits
    our_rows: Ints


def garble(pi: Permutation, tape: Tape, feed: Feed, delta: Words, number: int, tables: Words) -> Words:
    """Fill the tables and give the answers' W⁰, (pairs, 2).

    Requires: numbers from `number` on, as many as tables and pairs, that were not used in this session.
    """
    return _run(pi, tape, feed, delta, number, tables, np.zeros((1, 1), dtype=np.uint8), 2)


def evaluate(pi: Permutation, tape: Tape, feed: Feed, known: Bits, number: int, tables: Words) -> Words:
    """The answers' labels, (pairs, 2); `known` are the evaluator's own bits (bits, rows)."""
    return _run(pi, tape, feed, np.zeros(2, dtype=np.uint64), number, tables, known, 1)


def colours(labels: Words) -> Bits:
    """The lowest bit of each label."""
    return (labels[:, 0] & np.uint64(1)).astype(np.uint8)


def _run(
    pi: Permutation,
    tape: Tape,
    feed: Feed,
    delta: Words,
    number: int,
    tables: Words,
    known: Bits,
    copies: int,
) -> Words:
    """Step after step; `copies` is how many labels of a wire this side has.

    Table t of pair p has the number `number` + t · pairs + p.
    """
    pairs, done = len(feed.theirs), 0
    labelled, owned = (feed.labels, feed.theirs), (feed.ours, feed.our_rows)
    wires = pi.scratch("wires", tape.places * pairs).reshape(tape.places, 2 * pairs)
    every = tables.reshape(tape.tables, 2 * pairs)
    for step in tape.steps:
        load(step.operations, labelled, owned, delta, wires)
        if not len(step.taken):
            continue
        labels = pi.scratch("labels", copies * len(step.hashed) * pairs).reshape(-1, 2 * pairs)
        gather(step.hashed, wires, delta, labels)
        inner = pi.apply(labels, "inner").reshape(-1, 2 * pairs)
        tweaked = pi.scratch("tweaked", copies * len(step.taken) * pairs).reshape(-1, 2 * pairs)
        first, made = np.uint64(number + done * pairs), every[done : done + len(step.taken)]
        tweak(inner, step.taken, first, np.uint64(pairs), np.uint64(GATE), tweaked)
        outer = pi.apply(tweaked, "outer").reshape(-1, 2 * pairs)
        hashed = labels, inner, outer
        if copies == 2:
            make_tables(step.gates, hashed, owned, delta, made, wires)
        else:
            open_tables(step.gates, hashed, (known, feed.theirs), made, wires)
        done += len(step.taken)
    if tape.output < 0:
        return np.zeros((pairs, 2), dtype=np.uint64)
    return wires[tape.output].reshape(pairs, 2).copy()
