"""Keys and caps for routing: sound, for what they find, and from no table."""

from __future__ import annotations

from accord.agreement.file import require_sound
from accord.datasets.people import generate_people
from accord.datasets.starter import starter
from accord.fields.load import load_records
from accord.network import Network
from accord.planning.plan import Own, PlanQuestion, _Planner, make_plan
from accord.side import Side

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
