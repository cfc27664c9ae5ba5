"""Yao's garbled circuits: a circuit of XOR and AND, garbled and evaluated over many pairs at once."""
