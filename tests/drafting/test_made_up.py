"""Records of nobody: a column for every type, and true pairs that are alike."""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc
import pytest

from accord.drafting.answers import in_order, name_fields
from accord.drafting.kinds import LOCAL, PARTS, ColumnKind, Confirmed
from accord.drafting.made_up import RECORDS, make_up

RANGES = (("40", "42"), ("-75", "-73"))


def fields(*kinds: ColumnKind) -> tuple[Confirmed, ...]:
    return in_order(name_fields([Confirmed(kind) for kind in kinds]))


@pytest.mark.parametrize("kind", [kind for kind in ColumnKind if kind not in LOCAL | PARTS])
def test_every_type_has_cells_that_agree_more_often_than_chance(kind: ColumnKind) -> None:
    made = make_up(fields(kind), RANGES)
    rows = [
        np.asarray(pc.index_in(made.truth[name], value_set=table["id"].combine_chunks()))
        for name, table in (("id_a", made.a), ("id_b", made.b))
    ]
    a, b = (table[kind].take(at).to_pylist() for table, at in zip((made.a, made.b), rows, strict=True))
    piece = {"sex": slice(0, 1), "phone": slice(-4, None)}.get(kind, slice(0, 4))
    folded = [[(cell or "").lower()[piece] for cell in cells] for cells in (a, b)]
    same = sum(x == y != "" for x, y in zip(*folded, strict=True))
    by_chance = sum(x == y != "" for x, y in zip(folded[0], folded[1][1:], strict=False))
    assert same > by_chance


def test_equal_fields_give_equal_records() -> None:
    asked = fields(ColumnKind.SURNAME, ColumnKind.TEXT, ColumnKind.SURNAME_2)
    assert make_up.__wrapped__(asked, RANGES).a.equals(make_up(asked, RANGES).a)
    assert RECORDS > 1_000


def test_some_records_have_a_name_and_little_else() -> None:
    made = make_up(fields(ColumnKind.NAME, ColumnKind.BIRTH_YEAR, ColumnKind.YEAR, ColumnKind.TEXT), RANGES)
    lacks = made.a["text"].is_null().to_numpy()
    assert 0.05 < lacks.mean() < 0.4
    assert not (lacks & made.a["name"].is_null().to_numpy()).mean() > 0.05


def test_hundreds_of_days_lie_near_each_other() -> None:
    made = make_up(fields(ColumnKind.DATE), RANGES, (("date", "hundreds"),))
    days = np.array(made.a["date"].drop_null().to_pylist(), "datetime64[D]")
    assert 80 < len(np.unique(days)) <= (days.max() - days.min()).astype(int) < 150


def test_towns_lie_in_regions_and_postcodes_in_towns() -> None:
    for who in (ColumnKind.SURNAME, ColumnKind.COMPANY):
        asked = in_order(
            [
                *fields(who, ColumnKind.CITY, ColumnKind.POSTCODE),
                Confirmed(ColumnKind.CATEGORY, "region"),
            ]
        )
        classes = (("city", "hundreds"), ("postcode", "hundreds"), ("region", "few"))
        table = make_up(asked, RANGES, classes).a.drop_null()
        for inner, outer in (("city", "region"), ("postcode", "city")):
            together = table.group_by([inner, outer]).aggregate([([], "count_all")])
            most = together.group_by(inner).aggregate([("count_all", "max"), ("count_all", "sum")])
            often = most.filter(pc.greater(most["count_all_sum"], 2))
            assert pc.sum(often["count_all_max"]).as_py() > 0.8 * pc.sum(often["count_all_sum"]).as_py()
