"""People in an agreement: what is written, and the words for whom a promise is."""

from __future__ import annotations

from fractions import Fraction

import pytest
from pydantic import ValidationError

from accord.protocols.laplace import Privacy
from accord.protocols.parts.people import Protected, whom


def test_whom() -> None:
    assert whom(1) == "each record that matches nothing"
    assert whom(20) == "each person with up to 20 records, none of which matches anything"
    assert whom(2, of_answer=True) == "each person with up to 2 records, whether or not they match"


def test_one_record_a_person_is_left_out_of_what_is_written() -> None:
    assert Protected().model_dump() == Protected(records_per_person=1).model_dump() == {}
    assert Protected(records_per_person=2).model_dump() == {"records_per_person": 2}
    private = Privacy(epsilon=Fraction(1), delta=Fraction("1e-9"), noise="gaussian")
    assert private.model_dump(mode="json") == {"epsilon": "1", "delta": "1e-9", "noise": "gaussian"}


@pytest.mark.parametrize("count", [0, 21, True, 1.0, "2", None])
def test_other_numbers_are_refused(count: object) -> None:
    with pytest.raises(ValidationError):
        Protected.model_validate({"records_per_person": count})
