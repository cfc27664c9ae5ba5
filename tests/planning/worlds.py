"""What the tests of planning share: questions, small agreements."""

from __future__ import annotations

from accord.agreement.document import Agreement
from accord.datasets.starter import starter
from accord.network import Network
from accord.planning.plan import PlanQuestion

LAN = Network(1000, 0.5)


def question(a: int, b: int, **rest: object) -> PlanQuestion:
    return PlanQuestion((a, b), LAN, **rest)  # type: ignore[arg-type]


def birth_key() -> Agreement:
    """People with a key on the date of birth: a bin for every day of 130 years."""
    people = starter("people")
    return Agreement.model_validate(
        people.model_dump(mode="json") | {"blocking": [{"kind": "key", "field": "birth"}]}
    )
