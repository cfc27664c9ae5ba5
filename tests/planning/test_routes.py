"""Keys and caps for routing: sound, for what they find, and from no table."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from accord.agreement.document import Agreement, DisclosedColumns
from accord.agreement.file import require_sound
from accord.datasets.people import generate_people
from accord.datasets.starter import starter
from accord.fields.columns import Column, Records, rows_of
from accord.fields.load import load_records
from accord.network import Network
from accord.planning.choose import Wanted
from accord.planning.made_up import make_up_samples
from accord.planning.plan import PlanQuestion, make_plan, route
from accord.planning.routes import _makes_whole
from accord.protocols.parts.output import Output
from accord.protocols.sharing import Sample
from accord.rules.evaluate import Tables, holds
from accord.side import Side
from tests.protocols import worlds

COUNT = Output.model_validate({"answer": "count", "epsilon": 1})
ASKED = PlanQuestion((20_000, 20_000), Network(1000, 0.5))


def test_people_are_routed_by_keys_that_few_share() -> None:
    options = make_plan(starter("people"), ASKED).options
    found = next(one for one in options if one.protocol == "routed")
    require_sound(found.agreement)
    assert found.recall is not None
    assert found.recall > 0.98
    assert found.largest_epsilon == 0
    assert len(found.agreement.passes) > 3
    assert found.comparisons.expected < 20_000 * 20_000 / 1000


@pytest.mark.parametrize("records", [5_000, pytest.param(400_000, marks=pytest.mark.slow)])
def test_a_plan_keeps_the_coverage_and_the_recall_that_it_expects(records: int) -> None:
    """Counted on generated tables that the plan has not seen: of 5,000 records chance moves the share of
    uncovered ones by about .1 %."""
    asked = PlanQuestion((records, records), Network(100, 20))
    found = make_plan(starter("people"), asked)
    choice, agreed = found.choice, found.choice.agreement
    assert choice.protocol == "routed"
    assert choice.covered is not None
    assert choice.recall is not None
    assert choice.covered >= 0.995
    made = generate_people(records, 0.5, 77)
    both = [load_records(table, agreed.fields, agreed.salt) for table in (made.a, made.b)]
    samples = {
        side: Sample.of(side, own.columns, records, records) for side, own in zip(Side, both, strict=True)
    }
    assert agreed.protocol.expect_covered(agreed.task, samples) >= 0.995
    left, right = (_in_order(own, made.truth[name]) for own, name in zip(both, ("id_a", "id_b"), strict=True))
    tables, every = Tables(agreed.fields, left, right), np.arange(len(made.truth))
    accepted = every[holds(agreed.rule, tables, every, every)]
    met = agreed.protocol.meets(agreed.task, tables, accepted, samples)
    assert met.sum() / len(accepted) == pytest.approx(choice.recall, abs=0.005)
    assert met.sum() / len(every) >= 0.98


def _in_order(own: Records, ids: pa.ChunkedArray) -> dict[str, Column]:
    rows = np.asarray(pc.index_in(ids, own.ids))
    return {name: rows_of(column, rows) for name, column in own.columns.items()}


def test_coverage_that_is_asked_for_costs_comparisons() -> None:
    few, many = (
        make_plan(starter("people"), replace(ASKED, wish=Wanted(covered=c))).choice for c in (0.9, 0.999)
    )
    assert few.covered is not None
    assert many.covered is not None
    assert few.covered < 0.999 <= many.covered
    assert few.comparisons.expected < many.comparisons.expected


def test_a_one_sided_result_and_an_answer_need_no_coverage_on_a_side_that_shows_nothing() -> None:
    plain = route(starter("people"), ASKED)
    assert plain is not None
    samples = make_up_samples(plain, (20_000, 20_000), 1 << 20)
    assert samples is not None
    many = samples[Side.A].tables[0]
    repeated = {name: rows_of(column, np.arange(20_000) // 8) for name, column in many.items()}
    crowded = {**samples, Side.A: Sample.of(Side.A, repeated, 20_000, 20_000)}

    def covered(**output: object) -> float:
        task = replace(plain.task, output=Output.model_validate(output))
        return plain.protocol.expect_covered(task, crowded)

    assert covered(answer="count", epsilon=1) == 1
    assert covered() == covered(to="B") < 0.9 < covered(to="A")


def test_a_date_in_its_parts_is_no_second_key() -> None:
    day = {"type": "number", "min": "1", "max": "31", "step": "1", "from": "birth", "derive": "day"}
    month, year = (
        day | {"derive": "month", "max": "12"},
        day | {"derive": "year", "min": "1900", "max": "2029"},
    )
    agreed = starter("people")
    fields = {"birth_month": month, "birth_day": day, "birth_year": year}
    parts = Agreement.model_validate(agreed.model_dump() | {"fields": agreed.model_dump()["fields"] | fields})
    for names, same in (
        (("birth_year", "birth_month", "birth_day"), True),
        (("birth_year", "birth_day"), False),
    ):
        assert _makes_whole(parts, names) == same
    alone = {name: one for name, one in parts.fields.items() if name != "birth"}
    assert not _makes_whole(
        parts.model_copy(update={"fields": alone}), ("birth_year", "birth_month", "birth_day")
    )


def test_an_answer_has_no_pass_that_adds_more_noise_than_pairs() -> None:
    """In small tables a pass for the last few pairs would drown them all."""
    agreed, asked = starter("people"), PlanQuestion((1_000, 1_000), Network(1000, 0.5))
    plain = route(agreed, asked)
    counted = route(agreed.model_copy(update={"output": COUNT}), asked)
    assert plain is not None
    assert counted is not None
    alike = plain.model_copy(update={"output": COUNT})
    widths = [one.protocol.widths(one.task)[0] for one in (counted, alike)]
    assert widths[0] < widths[1] / 2
    assert len(counted.passes) < len(plain.passes)


def test_a_plan_of_an_answer_knows_routing_alone_and_how_near_it_comes() -> None:
    asked = PlanQuestion((100, 100), Network(1000, 0.5))
    routed = route(starter("people").model_copy(update={"output": COUNT}), asked)
    assert routed is not None
    nobody = {"disclose": DisclosedColumns(), "most_matches": None}
    found = make_plan(routed.model_copy(update=nobody), asked)
    assert {one.protocol for one in found.options} == {"routed"}
    (width,) = found.choice.widths
    assert f"Its answer: right within ± {width} in 95 of 100 runs" in found.why
    assert found.to_json()["choice"]["within"] == [width]


def test_an_exact_answer_of_all_pairs_is_priced_without_greedy() -> None:
    """Nothing is disclosed on the way, so nothing is spared."""
    exact = {"output": {"answer": "count", "exact": True}, "disclose": {"A": [], "B": []}}
    agreed = Agreement.model_validate(worlds.agreement(protocol="all-pairs").model_dump(mode="json") | exact)
    found = make_plan(agreed, PlanQuestion((60, 50), Network(1000, 0.5)))
    (whole,) = (one for one in found.options if one.protocol == "all-pairs")
    assert not whole.greedy
    assert whole.comparisons.expected == 60 * 50
