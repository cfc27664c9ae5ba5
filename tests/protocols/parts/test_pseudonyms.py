"""Names in place of ids: each record its own, the same in one run, others in another."""

from __future__ import annotations

from accord.protocols.parts.pseudonyms import under_pseudonyms
from tests.protocols import worlds


def test_names_are_those_of_the_run() -> None:
    records = worlds.records([(i, i) for i in range(9)], worlds.agreement())
    one, again, other = (under_pseudonyms(records, key) for key in (b"k" * 32, b"k" * 32, b"l" * 32))
    assert one.ids.equals(again.ids)
    assert len({*one.ids.to_pylist(), *other.ids.to_pylist(), *records.ids.to_pylist()}) == 27
    assert {len(name) for name in one.ids.to_pylist()} == {32}
    assert one.columns is records.columns
    one.ids.validate(full=True)


def test_nobody_has_no_name() -> None:
    records = worlds.records([], worlds.agreement())
    assert len(under_pseudonyms(records, bytes(32)).ids) == 0
