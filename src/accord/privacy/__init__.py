"""What a partner may infer from noisy bin sizes, and how it is bounded. Pure.

Read in this order: `window` (a distribution, its steps and its sampler), the three `noise_*` (distributions
with their proofs), `losses` (δ(ε) exactly), `calibration` (the least noise that keeps a promise), `events`
and `accounting` (what was released, and what it adds up to), `budget` (what may still be), `release` (what
counts as the same release), `randomised_response` (bins that records report), `noise_suppress` (a noise that
protects nothing), `definition` (δ from its definition, to check all of this against).
"""
