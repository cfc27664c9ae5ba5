"""A piece of the agreement, or of a layout file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticKnownError, core_schema


class Spec(BaseModel):
    """A piece of the agreement: frozen, and nothing unknown is let in."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class OneOf:
    """How pydantic reads a text that is one of the names in a registry, as it is then."""

    def __init__(self, names: Callable[[], Iterable[str]]) -> None:
        self._names = names

    def _validate(self, value: object) -> str:
        quoted = [repr(name) for name in self._names()]
        if not isinstance(value, str) or repr(value) not in quoted:
            expected = " or ".join(filter(None, [", ".join(quoted[:-1]), quoted[-1]]))
            raise PydanticKnownError("literal_error", {"expected": expected})
        return value

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self._validate)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {"enum": list(self._names()), "type": "string"}
