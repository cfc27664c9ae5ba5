"""People with several records: what an agreement says of them, and the words for whom a promise is.

A promise of (ε, δ) to a person with up to g records holds when all of these are replaced at once [MATHS
§1.4]. What that takes is the protocol's business; that nobody has more is checked when a table is loaded.
"""

from __future__ import annotations

from typing import Any

from pydantic import Field, SerializerFunctionWrapHandler, StrictInt, model_serializer

from accord.privacy.noise import MOST_PER_PERSON
from accord.spec import Spec


class Protected(Spec):
    """What promises something to people: one side's part of a protocol, or an answer with noise."""

    records_per_person: StrictInt = Field(default=1, ge=1, le=MOST_PER_PERSON)
    """The promise is for each person with up to this many records; 1 is a promise for each record. Above 1
    the owner of the table names the column that says whose record a row is, with `accord check --person`."""

    @model_serializer(mode="wrap")
    def _write(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """One record a person is not written: agreements of before keep their bytes and digests."""
        written: dict[str, Any] = write(self)
        if self.records_per_person == 1:
            written.pop("records_per_person", None)
        return written


def whom(records_per_person: int, of_answer: bool = False) -> str:
    """For whom a promise is, in words. That of an answer is also for what matches."""
    if records_per_person == 1:
        return "each record, whether or not it matches" if of_answer else "each record that matches nothing"
    matches = "whether or not they match" if of_answer else "none of which matches anything"
    return f"each person with up to {records_per_person} records, {matches}"
