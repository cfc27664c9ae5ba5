"""What the tests of planning share: a machine of known speed, questions, small agreements."""

from __future__ import annotations

from accord.agreement.document import Agreement
from accord.datasets.starter import starter
from accord.network import Network
from accord.planning.machine import PairSeconds, Speed
from accord.planning.plan import PlanQuestion
from accord.protocols.base import Task

SPEED = Speed(PairSeconds(4e-6, 5e-5), PairSeconds(1e-6, 3e-5), 0.4, 3e-4)
LAN = Network(1000, 0.5)


def speeds(agreement: Agreement, task: Task) -> Speed:
    return SPEED


def question(a: int, b: int, **rest: object) -> PlanQuestion:
    return PlanQuestion((a, b), LAN, **rest)  # type: ignore[arg-type]


def birth_key() -> Agreement:
    """People with a key on the date of birth: a bin for every day of 130 years."""
    people = starter("people")
    return Agreement.model_validate(
        people.model_dump(mode="json") | {"blocking": [{"kind": "key", "field": "birth"}]}
    )
