"""Weights and threshold of a score, learnt on one's own side."""
