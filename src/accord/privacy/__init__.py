"""Noise that hides records, what it really promises, and what several releases add up to. Pure.

To read, in this order: `window` (a distribution, its steps and its sampler), the two `noise_*` for bins
(distributions with their proofs) and `noise_answers`, `losses` (δ(ε) exactly), `calibration` (the least noise
that keeps a promise), `events` and `accounting` (what was released, and what it adds up to), `budget` (what
may still be), `release` (what counts as the same release).
"""
