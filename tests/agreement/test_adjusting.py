"""Other settings: each protocol has its own, and what two of them share is kept."""

from __future__ import annotations

from typing import Any

import pytest

from accord.agreement.adjusting import adjust
from accord.datasets.starter import starter
from accord.errors import AgreementError, UsageError


def test_a_protocol_without_bins_has_no_blocking_and_there_is_a_way_back() -> None:
    agreed = starter("products")
    free = adjust(agreed, protocol="all-pairs", greedy=False)
    assert (free.protocol.name, free.passes) == ("all-pairs", ())
    assert (free.rule, free.fields) == (agreed.rule, agreed.fields)
    back = adjust(free.model_copy(update={"blocking": agreed.blocking}), protocol="laplace")
    assert (back.protocol.name, back.passes) == ("laplace", agreed.passes)
    assert back.model_dump()["protocol"]["greedy"] is False, "both have it"


@pytest.mark.parametrize(
    ("protocol", "options"),
    [
        ("all-pairs", {"epsilon": "1"}),
        ("psi", {"greedy": True}),
        ("routed", {"prune": 5}),
        ("laplace", {"cap": 3}),
    ],
)
def test_options_that_a_protocol_does_not_have(protocol: str, options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=f"{protocol} has no option {next(iter(options))}"):
        adjust(starter("products"), protocol=protocol, **options)


def test_a_fault_is_not_in_a_line_of_a_text_that_nobody_sees() -> None:
    with pytest.raises(AgreementError) as caught:
        adjust(starter("products"), records_per_person=0)
    assert [fault.place for fault in caught.value.faults] == [
        f"protocol.{side}.records_per_person" for side in "AB"
    ]
