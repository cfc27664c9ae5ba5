"""What a circuit of XOR and AND costs under half gates, counted by itself."""

from __future__ import annotations

from accord.secure.garbled.boolean import Boolean, Gate


def half_gates(circuit: Boolean) -> int:
    """Two for an AND, one for an AND with a bit that a party knows."""
    gates = [circuit.what(wire) for wire in circuit.needed]
    ands = [gate for gate in gates if isinstance(gate, Gate) and gate.kind == "and"]
    known = sum(any(not isinstance(circuit.what(w), Gate) for w in gate.wires) for gate in ands)
    return 2 * len(ands) - known
