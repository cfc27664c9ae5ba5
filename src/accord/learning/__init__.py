"""Weights and thresholds of a score, learnt on one's own side: from a Splink model, labels or made-up errors."""
