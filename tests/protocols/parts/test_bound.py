"""`most_matches`: no protocol shows more records than agreed, and within the bound nothing changes."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from accord.agreement.document import Agreement
from accord.errors import TooManyMatchesError
from accord.protocols.parts import disclosed
from accord.protocols.parts.bound import Most, MostRecords
from accord.protocols.registry import PROTOCOLS
from accord.side import Side
from tests.protocols import worlds

KINDS: dict[str, dict[str, Any]] = {
    "laplace": {},
    "laplace, candidates": {"rule": worlds.WITHOUT_INDEX},
    "laplace, not greedy": {"greedy": False, "style": "replicate"},
    "laplace, passes": {"greedy": False, "blocking": worlds.passes("grid", "around")},
    "all-pairs": {"protocol": "all-pairs"},
    "all-pairs, not greedy": {"protocol": "all-pairs", "greedy": False},
    "psi": {"protocol": "psi", "rule": "same(x) and same(y)"},
    "routed": {"protocol": "routed", "style": "replicate"},
}
A_ROWS: worlds.Rows = [(1, 1), (4, 9), (9, 9), (13, 3), (6, 6)]
B_ROWS: worlds.Rows = [(1, 1), (4, 9), (9, 9), (13, 3), (1, 1), (0, 15), (15, 15)]
"""Four records of A match, and five of B."""


def bounded(kind: str, **most: object) -> Agreement:
    return Agreement.model_validate(worlds.agreement(**KINDS[kind]).model_dump() | {"most_matches": most})


@pytest.mark.parametrize("kind", KINDS)
def test_within_the_bound_nothing_changes(kind: str) -> None:
    free = worlds.link(worlds.agreement(**KINDS[kind]), A_ROWS, B_ROWS)
    held = worlds.link(bounded(kind, A=4, B="80%"), A_ROWS, B_ROWS)
    assert held[2].digest == free[2].digest
    assert worlds.pairs_of_a(held[0]) == worlds.pairs_of_a(free[0])


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_beyond_the_bound_nothing_is_shown(kind: str, swapped: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The side with the bound shows no record beyond it; with the tables swapped it is the asker of an
    intersection that has one."""
    shown: list[str] = []
    true = disclosed.encode

    def encode(own: disclosed.Disclosed) -> bytes:
        shown.extend(own.ids.to_pylist())
        return true(own)

    monkeypatch.setattr(disclosed, "encode", encode)
    a, b = (B_ROWS, A_ROWS) if swapped else (A_ROWS, B_ROWS)
    with pytest.raises(TooManyMatchesError) as caught:
        worlds.link(bounded(kind, **{"B" if swapped else "A": 3}), a, b)
    own = [name for name in shown if name.startswith("B" if swapped else "A")]
    assert len(set(own)) == len(own) == caught.value.shown <= 3
    assert caught.value.most == 3
    assert caught.value.exit_code == 14
    if "greedy" in kind or kind.startswith(("psi", "laplace, passes")):
        assert not own, "the bits said so before anything was shown"


def test_a_share_is_one_of_the_own_table_rounded_down_and_at_least_one() -> None:
    assert [Most(share=Fraction(1, 20)).of(n) for n in (1, 39, 40, 1000)] == [1, 1, 2, 50]
    assert Most(number=500).of(3) == 500


SPELLINGS = [
    (500, 500, "500"),
    ("5%", "5%", "5%"),
    ("5.0 %", "5%", "5%"),
    ("1/3%", "1/3%", "1/3%"),
    (12345, 12345, "12,345"),
]


@pytest.mark.parametrize(("given", "written", "said"), SPELLINGS)
def test_spellings(given: object, written: object, said: str) -> None:
    most = TypeAdapter(MostRecords).validate_python(given)
    assert TypeAdapter(MostRecords).dump_python(most, mode="json") == written
    assert str(most) == said
    assert TypeAdapter(MostRecords).validate_python(written) == most


@pytest.mark.parametrize("given", [0, -1, True, 2.5, "5", "0%", "101%", "%", "x%", "", None, 1 << 31, [1]])
def test_what_is_no_bound_is_refused(given: object) -> None:
    with pytest.raises(ValidationError, match=r"must be a number of records"):
        TypeAdapter(MostRecords).validate_python(given)


def test_each_side_has_its_own() -> None:
    agreed = bounded("laplace", B="5%")
    assert agreed.bounds == {Side.B: Most(share=Fraction(1, 20))}
    assert agreed.leakage(Side.A).most is None
    assert str(agreed.leakage(Side.B).most) == "5%"


def test_every_protocol_that_an_agreement_may_name_is_tried() -> None:
    tried = {worlds.agreement(**options).protocol.name for options in KINDS.values()}
    assert tried == set(PROTOCOLS)
