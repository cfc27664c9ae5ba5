"""Output-constrained differential privacy: what a partner may infer besides what it is told. Pure.

A small library by itself, of which Accord is one user. A `Problem` is a function f, told exactly, and the
tables that its owner may have; from these follow the *neighbours* that nobody shall tell apart, and their
`Graph`. A `Mechanism` is what is released. `worst_case` finds the neighbours that it tells apart best, with
their exact δ; `is_kept` says whether what it claims is true. For example, bins of a linkage:

    >>> from accord.privacy import BinCounts, all_tables, calibrate, is_kept, linkage, released, worst_case
    >>> tables = all_tables(range(1, 7), 2)
    >>> problem = linkage(lambda a, b: a == b, (1, 2), tables)
    >>> problem.neighbours((1, 3))
    ((1, 4), (1, 5), (1, 6))
    >>> event = released(calibrate("geometric", epsilon=2, delta="2^-10"))
    >>> counts = BinCounts(problem, event, bins=(0, 1), places=lambda record: (record % 2,))
    >>> is_kept(problem, counts)
    True
    >>> worst = worst_case(problem, counts, epsilon="1.9")
    >>> worst.tables, round(worst.delta, 4)
    (((1, 3), (1, 4)), 0.0408)

`all_tables` lists tables, and `linkage` makes a problem of a rule. `BinCounts` and `Answers` are mechanisms:
noisy bins, and noisy numbers in which nobody is shown. Their noises are `Geometric`, `Gaussian` and
`Laplace`, of which `calibrate` returns one in a `Setting`, and `TwoSided`. What is claimed is an event:
`NoisyCounts` (`released` makes it of a setting), `NoisyAnswer`, `AllPairs` for f alone, or a `Promise` of any
`Cost`. Mechanisms add up `Together`, and `Processed` shows a function of one. `claimed_delta` is what the
accountants prove of all that a mechanism claims; `spent` is the ε of a list of events.

To read, in this order: `window` (a distribution, its steps and its sampler), the three `noise_*` for bins
(distributions with their proofs) and `noise_answers`, `losses` (δ(ε) exactly), `calibration` (the least noise
that keeps a promise), `events` and `accounting` (what was released, and what it adds up to), `budget` (what
may still be), `release` (what counts as the same release), `randomised_response` (bins that records report),
`noise_suppress` (a noise that protects nothing); and to check all of this against, `definition` (δ from its
definition), `problem`, `mechanism` and `instances`.

Names are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accord.privacy.accounting import spent as spent
    from accord.privacy.calibration import Setting as Setting
    from accord.privacy.calibration import calibrate as calibrate
    from accord.privacy.events import AllPairs as AllPairs
    from accord.privacy.events import Cost as Cost
    from accord.privacy.events import NoisyAnswer as NoisyAnswer
    from accord.privacy.events import NoisyCounts as NoisyCounts
    from accord.privacy.events import Promise as Promise
    from accord.privacy.events import released as released
    from accord.privacy.instances import Answers as Answers
    from accord.privacy.instances import BinCounts as BinCounts
    from accord.privacy.instances import linkage as linkage
    from accord.privacy.mechanism import Mechanism as Mechanism
    from accord.privacy.mechanism import Processed as Processed
    from accord.privacy.mechanism import Together as Together
    from accord.privacy.mechanism import claimed_delta as claimed_delta
    from accord.privacy.mechanism import is_kept as is_kept
    from accord.privacy.mechanism import worst_case as worst_case
    from accord.privacy.noise_answers import TwoSided as TwoSided
    from accord.privacy.noise_gaussian import Gaussian as Gaussian
    from accord.privacy.noise_geometric import Geometric as Geometric
    from accord.privacy.noise_laplace import Laplace as Laplace
    from accord.privacy.problem import Graph as Graph
    from accord.privacy.problem import Problem as Problem
    from accord.privacy.problem import all_tables as all_tables

_HOME = {
    "accounting": ("spent",),
    "calibration": ("Setting", "calibrate"),
    "events": ("AllPairs", "Cost", "NoisyAnswer", "NoisyCounts", "Promise", "released"),
    "instances": ("Answers", "BinCounts", "linkage"),
    "mechanism": ("Mechanism", "Processed", "Together", "claimed_delta", "is_kept", "worst_case"),
    "noise_answers": ("TwoSided",),
    "noise_gaussian": ("Gaussian",),
    "noise_geometric": ("Geometric",),
    "noise_laplace": ("Laplace",),
    "problem": ("Graph", "Problem", "all_tables"),
}
_FACE = {name: f"accord.privacy.{module}" for module, names in _HOME.items() for name in names}


if not TYPE_CHECKING:
    # Out of sight of a type checker, as in `accord`.
    def __getattr__(name: str) -> object:
        if name not in _FACE:
            raise AttributeError(f"module 'accord.privacy' has no attribute '{name}'")
        return getattr(import_module(_FACE[name]), name)


def __dir__() -> list[str]:
    return sorted(_FACE)
