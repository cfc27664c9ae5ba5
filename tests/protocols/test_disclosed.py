"""Disclosed records and `[output]`: bytes that give records back, the bound on matches, pseudonyms."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from accord.agreement.document import Agreement
from accord.agreement.file import require_sound
from accord.entropy import Seeded
from accord.errors import AgreementError, PeerError, TooManyMatchesError
from accord.fields.columns import Integers
from accord.protocols.parts import disclosed
from accord.protocols.parts.bound import Most, MostRecords
from accord.protocols.parts.disclosed import Coming, Disclosed, Shape, decode, encode, exchange, take
from accord.protocols.parts.output import Output
from accord.protocols.parts.pseudonyms import under_pseudonyms
from accord.protocols.registry import PROTOCOLS
from accord.secure.party import Party, Receive, Send, run_pair
from accord.side import Side
from tests.protocols import worlds
from tests.protocols.worlds import NOBODY, asking, changed
from tests.rules import worlds as fields

NAMES = ("name", "code", "hour", "birth", "tag")
ROW = fields.EMPTY | {"name": "a", "code": "x"}


# -- bytes -------------------------------------------------------------------------------------------------


def shown(table: list[fields.Row], seed: int = 0) -> tuple[Disclosed, Shape]:
    records = fields.records(table)
    notes = pa.table({"note": pa.array([row["name"] for row in table], pa.large_string())})
    columns, ids, _ = take(records, np.arange(len(table)), NAMES)
    counts = 1 + np.frombuffer(Seeded(seed).bytes(len(table)), np.uint8).astype(np.int64) % 3
    made = Disclosed(counts, np.arange(counts.sum()), columns, ids, notes)
    return made, Shape(fields.FIELDS, NAMES, ("note",), len(table), int(counts.sum()))


@given(fields.tables, st.integers(0, 9), st.data())
def test_bytes_give_the_records_back(table: list[fields.Row], seed: int, data: st.DataObject) -> None:
    """Also where they come in pieces."""
    made, shape = shown(table, seed)
    body = encode(made)
    coming = Coming(len(made), len(body), shape)
    for end in sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=9))):
        coming.look(body[:end])
        assert coming.records is None or end == len(body)
    coming.look(body)
    back = coming.records
    assert back is not None
    assert encode(back) == body
    assert back.ids.to_pylist() == made.ids.to_pylist()
    assert back.columns.to_pylist() == made.columns.to_pylist()
    assert (back.slots.tolist(), [*back.fields]) == (made.slots.tolist(), [*made.fields])


@given(fields.tables.filter(bool), st.binary(max_size=300), st.data())
def test_damaged_bytes_are_refused_or_mean_something_sound(
    table: list[fields.Row], other: bytes, data: st.DataObject
) -> None:
    made, shape = shown(table)
    body = bytearray(encode(made))
    cut = data.draw(st.integers(0, len(body) - 1))
    for wrong in (body[:cut], body + b"x", other, b"accord disclosed 1\n" + other + bytes(1000)):
        with pytest.raises(PeerError):
            decode(bytes(wrong), len(made), shape)
    at = data.draw(st.integers(0, len(body) - 1))
    body[at] ^= data.draw(st.integers(1, 255))
    try:
        back = decode(bytes(body), len(made), shape)
    except PeerError:
        return
    hour = back.fields["hour"]
    assert isinstance(hour, Integers)
    assert hour.values.max() <= 3
    assert back.slots.max() < shape.slots


@pytest.mark.parametrize("start", [bytes(100), b"\xff" * 2000, b"\1\0\0\0" * 500 + bytes(4000)])
def test_a_long_message_is_refused_at_its_first_wrong_byte(start: bytes) -> None:
    """Of what is announced as 500 MiB, a few bytes are enough to know; nothing waits for the rest."""
    made, shape = shown([ROW] * 3)
    tag = b"" if len(start) == 100 else encode(made)[:19]
    coming = Coming(500, 500 << 20, replace(shape, most_records=500, slots=500))
    with pytest.raises(PeerError):
        coming.look(tag + start)


@pytest.mark.parametrize(
    ("count", "size", "limits", "due"),
    [
        (0, 1 << 33, {}, 0),
        (2, 100, {}, 1),
        (2, 100, {"most_records": 1}, 2),
        (2, 1020, {"room": 1000}, 2),
        (2, (4 << 20) + 20, {}, 2),
    ],
)
def test_more_than_is_due_or_fits_is_refused_before_it_comes(
    count: int, size: int, limits: dict[str, int], due: int
) -> None:
    made, shape = shown([ROW, ROW])
    larger: dict[str, Any] = {"room": 1 << 40} | limits

    def swollen() -> Party[None]:
        yield Send(np.array([count, size], "<u8").tobytes())
        yield Receive(16)

    with pytest.raises(PeerError) as caught:
        run_pair(exchange(made, replace(shape, **larger), due), swollen())
    assert str(count) in caught.value.problem


# -- the bound on matches ----------------------------------------------------------------------------------

KINDS: dict[str, Agreement] = {
    "laplace": worlds.agreement(),
    "laplace, candidates": worlds.agreement(rule=worlds.WITHOUT_INDEX),
    "laplace, not greedy": worlds.agreement(greedy=False, style="replicate"),
    "laplace, passes": worlds.agreement(greedy=False, blocking=worlds.passes("grid", "around")),
    "all-pairs": worlds.agreement(protocol="all-pairs"),
    "all-pairs, not greedy": worlds.agreement(protocol="all-pairs", greedy=False),
    "psi": worlds.agreement(protocol="psi", rule="same(x) and same(y)"),
    "routed": worlds.routed("square"),
    "a cascade": worlds.one_to_one(worlds.routed("x", "y", "both", cap=9)),
}
A_ROWS: worlds.Rows = [(1, 1), (4, 9), (9, 9), (13, 3), (6, 6)]
B_ROWS: worlds.Rows = [(1, 1), (4, 9), (9, 9), (13, 3), (1, 1), (0, 15), (15, 15)]
"""Four records of A match, and five of B."""


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_beyond_the_bound_nothing_is_shown(kind: str, swapped: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the tables swapped it is the asker of an intersection that has the bound."""
    names: list[str] = []
    true = disclosed.encode

    def encode(own: Disclosed) -> bytes:
        names.extend(own.ids.to_pylist())
        return true(own)

    monkeypatch.setattr(disclosed, "encode", encode)
    a, b = (B_ROWS, A_ROWS) if swapped else (A_ROWS, B_ROWS)
    with pytest.raises(TooManyMatchesError) as caught:
        worlds.link(changed(KINDS[kind], most_matches={"B" if swapped else "A": 3}), a, b)
    own = [name for name in names if name.startswith("B" if swapped else "A")]
    assert len(set(own)) == len(own) == caught.value.shown <= 3
    assert (caught.value.most, caught.value.exit_code) == (3, 14)
    if "greedy" in kind or kind.startswith(("psi", "laplace, passes")):
        assert not own, "the bits said so before anything was shown"


def test_every_protocol_that_an_agreement_may_name_is_tried() -> None:
    assert {agreed.protocol.name for agreed in KINDS.values()} == set(PROTOCOLS)


@pytest.mark.parametrize(
    ("given", "written", "of_39"),
    [(500, 500, 500), ("5%", "5%", 1), ("5.0 %", "5%", 1), ("1/3%", "1/3%", 1), ("10%", "10%", 3)],
)
def test_a_bound_is_a_number_or_a_share_of_the_own_table(given: object, written: object, of_39: int) -> None:
    """A share is rounded down, and at least one."""
    most = TypeAdapter(MostRecords).validate_python(given)
    assert TypeAdapter(MostRecords).dump_python(most, mode="json") == written
    assert TypeAdapter(MostRecords).validate_python(written) == most
    assert most.of(39) == of_39


@pytest.mark.parametrize("given", [0, -1, True, 2.5, "5", "0%", "101%", "%", "x%", "", None, 1 << 31, [1]])
def test_other_bounds_are_refused(given: object) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(MostRecords).validate_python(given)


def test_each_side_has_its_own_bound() -> None:
    agreed = changed(worlds.agreement(), most_matches={"B": "5%"})
    assert agreed.bounds == {Side.B: Most(share=Fraction(1, 20))}
    assert (agreed.leakage(Side.A).most, agreed.leakage(Side.B).most) == (None, agreed.bounds[Side.B])


# -- the output --------------------------------------------------------------------------------------------

SEX = {"column": "x", "values": ["1", "2"]}
SUM = {"side": "A", "column": "y", "low": 0, "high": 9}
COUNT = {"answer": "count", "epsilon": "1"}
TABLE = {"answer": "table", "epsilon": "1", "by": {"A": SEX | {"column": "sex"}}}
ROUTED = worlds.agreement(protocol="routed", missing="differs", blocking=worlds.passes("x"))
LAPLACE, PLAIN = worlds.agreement(), worlds.agreement(greedy=False)


@pytest.mark.parametrize(
    "output",
    [
        {"epsilon": "1"},
        {"exact": True},
        {"to": "A", "ids": "pseudonyms"},
        {"answer": "count"},
        COUNT | {"exact": True},
        COUNT | {"to": "A"},
        COUNT | {"ids": "pseudonyms"},
        {"answer": "table", "epsilon": "1"},
        COUNT | {"by": {"A": SEX}},
        {"answer": "count", "exact": True, "records_per_person": 2},
        {"answer": "sum", "epsilon": "1"},
        COUNT | {"of": SUM},
    ],
)
def test_what_does_not_go_together_is_one_fault(output: dict[str, Any]) -> None:
    assert len([*Output.model_validate(output).faults()]) == 1


@pytest.mark.parametrize(
    "output",
    [
        {"answer": "counts"},
        {"answer": "table", "by": {}},
        {"answer": "table", "by": {"A": {"column": "x", "values": ["1", "1"]}}},
        {"answer": "table", "by": {"A": {"column": "x", "values": ["other"]}}},
        {"answer": "table", "by": {s: {"column": "x", "values": list(map(str, range(40)))} for s in "AB"}},
        {"answer": "sum", "of": SUM | {"low": 9}},
        *({"records_per_person": count} for count in (0, 21, True, 1.0, "2", None)),
    ],
)
def test_other_outputs_are_refused(output: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Output.model_validate(output)


@pytest.mark.parametrize(
    ("agreed", "place"),
    [
        (changed(LAPLACE, output=COUNT, disclose=NOBODY), "output.answer"),
        (asking(KINDS["all-pairs"], {"answer": "count"}, "1"), "output.epsilon"),
        (changed(LAPLACE, output={"to": "A"}), "output.to"),
        (changed(ROUTED, output=COUNT), "disclose"),
        (changed(ROUTED, output={"to": "A"}, one_to_one="pairs"), "one_to_one"),
        (changed(ROUTED, output={"to": "A"}, most_matches={"A": 3}), "most_matches"),
        (changed(PLAIN, output={"ids": "pseudonyms"}, disclose={"A": ["id"], "B": []}), "disclose"),
        (changed(PLAIN, disclose={"A": ["id"], "B": []}), "disclose"),
    ],
)
def test_an_agreement_that_cannot_be_kept(agreed: Agreement, place: str) -> None:
    with pytest.raises(AgreementError) as caught:
        require_sound(agreed)
    assert [fault.place.rpartition(", ")[2] for fault in caught.value.faults] == [place]


@pytest.mark.parametrize("output", [COUNT, {"answer": "count", "exact": True}, TABLE, {}])
def test_agreements_that_can(output: dict[str, Any]) -> None:
    require_sound(asking(KINDS["all-pairs"], {"answer": "count"}))
    agreed = changed(ROUTED, output=output, disclose=NOBODY)
    require_sound(agreed)
    assert ("output" in agreed.model_dump(mode="json")) == bool(output), "older agreements keep their digest"
    assert ("sex" in agreed.names) == (output == TABLE)


def test_pseudonyms_are_those_of_the_run() -> None:
    records = worlds.records([(i, i) for i in range(9)], LAPLACE)
    one, again, other = (under_pseudonyms(records, key) for key in (b"k" * 32, b"k" * 32, b"l" * 32))
    assert one.ids.equals(again.ids)
    assert len({*one.ids.to_pylist(), *other.ids.to_pylist(), *records.ids.to_pylist()}) == 27
    assert {len(name) for name in one.ids.to_pylist()} == {32}
    assert one.columns is records.columns
    one.ids.validate(full=True)
    assert len(under_pseudonyms(worlds.records([], LAPLACE), bytes(32)).ids) == 0
