"""What the laboratory adds to Accord: `accord.plugins.load("reproduction.plugins")`.

local-dp           each record reports a randomised bin                            protocols/local_dp.py
psi-expand         psi on every value within the rule's distances; ε = 0           protocols/psi_expand.py
blocking           bins as they are: leaky, for simulation alone                   protocols/leaky.py
laplace-suppress   noise of mean 0, records suppressed: leaky, for simulation alone

and noises of `laplace` (noises/laplace.py):

paper              the paper's clamped Laplace, with its δ made true
paper-2017         the same as published; for simulation and audit alone
negligible         the same, δ negligible in the number of records

and engines (engines/paillier.py):

paillier           the paper's SecureMatch, a ciphertext for each distance
paillier-packed    the same with several distances in a ciphertext
"""

from __future__ import annotations

from accord.privacy import noise
from accord.privacy.calibration import register_noise
from accord.privacy.events import register_event
from accord.protocols.registry import register_protocol
from accord.secure.engine import register_engine


def register() -> None:
    """Let agreements name them, in this process."""
    from reproduction.engines.paillier import ENGINES
    from reproduction.noises import laplace
    from reproduction.protocols.leaky import PlainBlocking, Suppress
    from reproduction.protocols.local_dp import LocalDp
    from reproduction.protocols.psi_expand import PsiExpand
    from reproduction.protocols.randomised_response import PublicBins, Reports

    noise.KINDS["laplace"] = laplace.Laplace
    for name, kind in laplace.KINDS.items():
        register_noise(name, kind)
    for called, engine in ENGINES.items():
        register_engine(called, engine)
    register_protocol("local-dp", LocalDp)
    register_protocol("psi-expand", PsiExpand)
    register_protocol("blocking", PlainBlocking)
    register_protocol("laplace-suppress", Suppress)
    register_event(Reports)
    register_event(PublicBins)
