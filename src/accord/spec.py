"""A piece of the agreement, or of a layout file."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Spec(BaseModel):
    """A piece of the agreement: frozen, and nothing unknown is let in."""

    model_config = ConfigDict(frozen=True, extra="forbid")
