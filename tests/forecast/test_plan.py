"""`accord.plan`: from the numbers of records; nothing is spent."""

from __future__ import annotations

import pytest

import accord
from accord.agreement.document import Agreement
from accord.errors import UsageError
from tests.protocols.worlds import agreement


def test_counts_are_enough() -> None:
    found = accord.plan(agreement(), records=(100, 80), network="lan")
    assert isinstance(found, accord.Plan)
    assert (found.sizes, found.network) == ((100, 80), "1000/0.5")


def test_sizes_come_from_the_agreement_where_it_has_them() -> None:
    plain = agreement().model_dump(mode="json") | {"expected": {"A": 7, "B": 9}}
    assert accord.plan(Agreement.model_validate(plain)).sizes == (7, 9)
    with pytest.raises(UsageError, match="Say how many records A and B have"):
        accord.plan(agreement())


@pytest.mark.parametrize(
    "wish",
    [
        *({"recall": 1.5}, {"max_time": 0}, {"max_bytes": -1}, {"overlap": 2.0}, {"network": "fast"}),
        *({"max_epsilon": -1}, {"max_epsilon": float("nan")}),
    ],
)
def test_a_wish_that_means_nothing_is_refused(wish: dict[str, float]) -> None:
    with pytest.raises(UsageError):
        accord.plan(agreement(), records=(5, 5), **wish)  # type: ignore[arg-type]
