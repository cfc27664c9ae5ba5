"""Every protocol by its name; an agreement names one of them.

laplace            noisy bins, dummies, secure comparison                          laplace.py
routed             keys that few records share; ε = 0 for covered records          routed.py
all-pairs          every pair; ε = 0                                               all_pairs.py
psi                equality of the rule's fields; ε = 0                            psi.py
psi-expand         psi on every value within the rule's distances; ε = 0           psi_expand.py
local-dp           each record reports a randomised bin                            local_dp.py
blocking           bins as they are: leaky, for `simulate` alone                   leaky.py
laplace-suppress   noise of mean 0, records suppressed: leaky, for `simulate` alone
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from accord.errors import UsageError
from accord.protocols.all_pairs import AllPairs
from accord.protocols.base import Protocol
from accord.protocols.laplace import Laplace
from accord.protocols.leaky import PlainBlocking, Suppress
from accord.protocols.local_dp import LocalDp
from accord.protocols.psi import Psi
from accord.protocols.psi_expand import PsiExpand
from accord.protocols.routed import Routed

AnyProtocol = Laplace | Routed | AllPairs | LocalDp | PlainBlocking | Suppress | Psi | PsiExpand
ProtocolOptions = Annotated[AnyProtocol, Field(discriminator="name")]
"""A protocol with its options, as an agreement writes it."""

PROTOCOLS: Mapping[str, type[Protocol]] = {
    "laplace": Laplace,
    "routed": Routed,
    "all-pairs": AllPairs,
    "psi": Psi,
    "psi-expand": PsiExpand,
    "local-dp": LocalDp,
    "blocking": PlainBlocking,
    "laplace-suppress": Suppress,
}


def protocol_named(name: str) -> type[Protocol]:
    """The protocol of this name, or an error that lists all."""
    if name not in PROTOCOLS:
        raise UsageError(problem=f"There is no protocol '{name}'. Protocols: {', '.join(PROTOCOLS)}.")
    return PROTOCOLS[name]
