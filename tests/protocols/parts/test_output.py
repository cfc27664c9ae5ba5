"""[output]: what goes together, and what is said of what does not."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from accord.agreement.document import Agreement
from accord.agreement.file import require_sound
from accord.errors import AgreementError
from accord.protocols.parts.output import Output
from tests.protocols.test_routed import agreement as routed
from tests.protocols.worlds import agreement

SEX = {"column": "x", "values": ["1", "2"]}
SUM = {"side": "A", "column": "y", "low": 0, "high": 9}


@pytest.mark.parametrize(
    ("output", "told"),
    [
        ({"epsilon": "1"}, "epsilon is for answers"),
        ({"exact": True}, "pairs are always exact"),
        ({"to": "A", "ids": "pseudonyms"}, "names that both sides have"),
        ({"answer": "count"}, "needs either epsilon, or exact"),
        ({"answer": "count", "epsilon": "1", "exact": True}, "needs either epsilon, or exact"),
        ({"answer": "count", "epsilon": "1", "to": "A"}, "shows nobody"),
        ({"answer": "table", "epsilon": "1"}, "by is what a table counts by"),
        ({"answer": "count", "epsilon": "1", "by": {"A": SEX}}, "by is what a table counts by"),
        ({"answer": "count", "exact": True, "records_per_person": 2}, "what noise hides together"),
        ({"answer": "sum", "epsilon": "1"}, "of is what a sum adds up"),
        ({"answer": "count", "epsilon": "1", "of": SUM}, "of is what a sum adds up"),
    ],
)
def test_what_does_not_go_together(output: dict[str, Any], told: str) -> None:
    assert any(told in fault for fault in Output.model_validate(output).faults())


@pytest.mark.parametrize(
    "output",
    [
        {"answer": "counts"},
        {"answer": "table", "by": {}},
        {"answer": "table", "by": {"A": {"column": "x", "values": ["1", "1"]}}},
        {"answer": "table", "by": {"A": {"column": "x", "values": ["other"]}}},
        {"answer": "table", "by": {s: {"column": "x", "values": list(map(str, range(40)))} for s in "AB"}},
        {"answer": "sum", "of": SUM | {"low": 9}},
    ],
)
def test_what_is_no_output(output: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Output.model_validate(output)


def changed(agreed: Agreement, **more: Any) -> Agreement:
    return Agreement.model_validate(agreed.model_dump(mode="json") | more)


COUNT = {"answer": "count", "epsilon": "1"}
NOTHING: dict[str, Any] = {"A": [], "B": []}


@pytest.mark.parametrize(
    ("agreed", "told"),
    [
        (changed(agreement(), output=COUNT, disclose=NOTHING), "answers need protocol 'routed'"),
        (changed(agreement(), output={"to": "A"}), "both sides see matches"),
        (changed(routed("x"), output=COUNT), "remove disclose"),
        (changed(routed("x"), output={"to": "A"}, one_to_one="pairs"), "remove one_to_one"),
        (changed(routed("x"), output={"to": "A"}, most_matches={"A": 3}), "remove most_matches"),
        (
            changed(agreement(), output={"ids": "pseudonyms"}, disclose={"A": ["id"], "B": []}),
            "with pseudonyms no id is disclosed; remove 'id'",
        ),
        (changed(agreement(), disclose={"A": ["id"], "B": []}), "always disclosed; remove 'id'"),
    ],
)
def test_an_agreement_that_cannot_be_kept(agreed: Agreement, told: str) -> None:
    with pytest.raises(AgreementError, match=told):
        require_sound(agreed)


@pytest.mark.parametrize("output", [COUNT, {"answer": "count", "exact": True}, {}])
def test_agreements_that_can(output: dict[str, Any]) -> None:
    agreed = changed(routed("x"), output=output, disclose=NOTHING)
    require_sound(agreed)
    assert ("output" in agreed.model_dump(mode="json")) == bool(output), "older agreements keep their digest"


def test_columns_of_an_answer_are_read() -> None:
    table = {"answer": "table", "epsilon": "1", "by": {"A": SEX | {"column": "sex"}}}
    agreed = changed(routed("x"), output=table, disclose=NOTHING)
    assert "sex" in agreed.names
