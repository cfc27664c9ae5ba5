"""Evaluating a rule between two parties. A leaf: it knows circuits and bytes, not records or privacy."""
