"""What is known of pairs agrees with the cells that the records have."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from accord.rules.text import parse_rule
from accord.simulation.known import Weighed, split
from tests.simulation.made import SCORE, agree, know, people


def test_true_pairs_are_rows_and_those_of_nobody_are_counted() -> None:
    made = people()
    more = pa.table({"id_a": ["A1", "nobody", "A1"], "id_b": ["nobody", "B1", "nobody"]})
    pairs = made.truth.select(["id_a", "id_b"])
    known = know(agree(), made, pa.concat_tables([pairs, pairs.slice(0, 9), more.cast(pairs.schema)]))
    left, right = known.rows(known.true)
    found = zip(known.a.ids.take(left).to_pylist(), known.b.ids.take(right).to_pylist(), strict=True)
    assert set(found) == set(zip(*(pairs[name].to_pylist() for name in pairs.column_names), strict=True))
    assert (len(known.true), known.unknown, known.true_pairs) == (72, 2, 74)
    assert sorted({*known.missed, *known.found}) == sorted({*known.true, *known.false})


def test_a_pair_is_told_of_without_its_values() -> None:
    made = people()
    known = know(agree(), made)
    told = known.describe(known.true)
    cells = [
        dict(zip(table["id"].to_pylist(), table["email"].to_pylist(), strict=True))
        for table in (made.a, made.b)
    ]
    agrees = 0
    for pair in told:
        one, other = cells[0][pair.id_a], cells[1][pair.id_b]
        assert ("email" in pair.lacks) == (one is None or other is None)
        same = one is not None and other is not None and one.lower() == other.lower()
        assert ("email" in pair.differs) == (not same and "email" not in pair.lacks)
        assert not set(pair.differs) & set(pair.lacks)
        assert pair.levels[3] == Weighed(("email",), *(("same(email)", 6) if same else ("otherwise", 0)))
        assert pair.score == sum(level.weight for level in pair.levels)
        assert pair.accepted == (pair.score >= 9)
        agrees += same
        assert all(value not in repr(pair) for value in (one, other) if value is not None)
    assert 0 < agrees < len(told)
    assert [pair.true for pair in told] == [True] * len(told)
    found = {key for key, pair in zip(known.true.tolist(), told, strict=True) if pair.found}
    assert found == set(known.found.tolist()) & set(known.true.tolist())
    assert found < set(known.true.tolist())


def test_fields_set_pairs_apart() -> None:
    known = know(agree(), people())
    keys = np.arange(len(known.a) * len(known.b))
    told = known.describe(keys[:500])
    assert known.count_apart(keys[:500]).tolist() == [len(pair.differs) + len(pair.lacks) for pair in told]
    assert known.fields == ("given", "surname", "birth", "email")


def test_a_rule_without_a_score_weighs_nothing() -> None:
    known = know(agree("same(birth) and dice(given) >= 0.5"), people())
    told = known.describe(known.true)
    assert {(pair.score, pair.levels) for pair in told} == {(None, ())}
    assert {pair.accepted for pair in told} == {True, False}


def test_the_score_of_a_conjunction_is_found_and_no_other() -> None:
    assert split(parse_rule("same(birth)")) is None
    assert split(parse_rule(f"same(birth) or {SCORE}")) is None
    assert split(parse_rule(f"not {SCORE}")) is None
    found = split(parse_rule(f"same(birth) and {SCORE} and same(email)"))
    assert found is not None
    assert (found[0], found[1]) == (parse_rule(SCORE), parse_rule("same(birth) and same(email)"))
    alone = split(parse_rule(SCORE))
    assert alone is not None
    assert str(alone[1]) == ""
