"""Keys and caps for routing: sound, for what they find, and from no table."""

from __future__ import annotations

from accord.agreement.document import Agreement, DisclosedColumns
from accord.agreement.file import require_sound
from accord.datasets.people import generate_people
from accord.datasets.starter import starter
from accord.fields.load import load_records
from accord.network import Network
from accord.planning.plan import Own, PlanQuestion, _Planner, make_plan, route
from accord.planning.routes import _makes_whole
from accord.protocols.parts.output import Output
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


def test_keys_and_caps_say_nothing_of_ones_own_table() -> None:
    agreed = starter("people")
    table = generate_people(1500, None, 1).a
    own = Own(Side.A, load_records(table, agreed.fields, agreed.salt))
    found = [_Planner(agreed, ASKED, one, whole=True)._routed() for one in (None, own)]
    assert found[0] is not None
    assert found[0] == found[1]


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
