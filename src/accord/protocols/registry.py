"""Every protocol by its name; an agreement names one of them.

laplace            noisy bins, dummies, secure comparison                          laplace.py
routed             keys that few records share; ε = 0 for covered records          routed.py
all-pairs          every pair; ε = 0                                               all_pairs.py
psi                equality of the rule's fields; ε = 0                            psi.py

Plug-ins add others (accord/plugins.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticKnownError, core_schema

from accord.errors import UsageError
from accord.protocols.all_pairs import AllPairs
from accord.protocols.base import Protocol
from accord.protocols.laplace import Laplace
from accord.protocols.psi import Psi
from accord.protocols.routed import Routed

BUILT_IN: Mapping[str, type[Protocol]] = {
    "laplace": Laplace,
    "routed": Routed,
    "all-pairs": AllPairs,
    "psi": Psi,
}
"""Those among which a plan chooses."""
PROTOCOLS: dict[str, type[Protocol]] = dict(BUILT_IN)
"""Those that an agreement may name."""


def register_protocol(name: str, kind: type[Protocol]) -> None:
    """Let agreements name this protocol, in this process."""
    PROTOCOLS[name] = kind


def protocol_named(name: str) -> type[Protocol]:
    """The protocol of this name, or an error that lists all."""
    if name not in PROTOCOLS:
        raise UsageError(problem=f"There is no protocol '{name}'. Protocols: {', '.join(PROTOCOLS)}.")
    return PROTOCOLS[name]


def _validate(value: object) -> Protocol:
    """A protocol as its class reads it, which is told by its name."""
    if isinstance(value, Protocol):
        return value
    if not isinstance(value, Mapping):
        raise PydanticKnownError("dict_type")
    if "name" not in value:
        raise PydanticKnownError("union_tag_not_found", {"discriminator": "'name'"})
    if (name := str(value["name"])) not in PROTOCOLS:
        known = ", ".join(map(repr, PROTOCOLS))
        of = {"discriminator": "'name'", "tag": name, "expected_tags": known}
        raise PydanticKnownError("union_tag_invalid", of)
    return PROTOCOLS[name].model_validate(value)


class _ByName:
    """How pydantic reads a field that holds any registered protocol, and describes it in a JSON schema."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(_validate)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        kinds = {name: kind.__pydantic_core_schema__ for name, kind in PROTOCOLS.items()}
        return handler(core_schema.tagged_union_schema(kinds, discriminator="name"))


ProtocolOptions = Annotated[Protocol, _ByName()]
"""A protocol with its options, as an agreement writes it."""
