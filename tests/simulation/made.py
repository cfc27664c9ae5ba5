"""Generated people under a rule with a score and one without, of whom everything is known."""

from __future__ import annotations

import re

import pyarrow as pa

import accord
from accord.agreement.adjusting import adjust
from accord.agreement.document import Agreement
from accord.agreement.file import parse_agreement
from accord.datasets.generated import Generated
from accord.datasets.people import generate_people
from accord.datasets.people_errors import Errors
from accord.datasets.starter import starter_text
from accord.simulation.known import Known
from accord.simulation.pair import Simulation
from accord.simulation.truth import read_truth

SCORE = """score(
    given: dice >= 0.9 -> 6, dice >= 0.5 -> 4, missing -> 0, otherwise -> -3;
    surname: dice >= 0.5 -> 5, missing -> 0, otherwise -> -3;
    birth: same -> 8, missing -> 0, otherwise -> -3;
    email: same -> 6;
) >= 9"""


def text(rule: str = SCORE) -> str:
    """The starter for people with another rule."""
    starter = starter_text("people", "00000000")
    return re.sub(r'rule = """.*?"""', lambda _: f'rule = """{rule}"""', starter, flags=re.S)


def agree(rule: str = SCORE) -> Agreement:
    """With few dummies."""
    return adjust(parse_agreement(text(rule)), epsilon="20")


def people(records: int = 120, seed: int = 1) -> Generated:
    """With more errors than usual."""
    return generate_people(records, 0.6, seed, errors=Errors().scaled(2.5))


def run(agreement: Agreement, made: Generated) -> Simulation:
    return accord.simulate(made.a, made.b, agreement, seed=1)


def know(agreement: Agreement, made: Generated, truth: pa.Table | None = None) -> Known:
    """What was found of what is true."""
    done = run(agreement, made)
    found = done._pairs.rows(0, done.matches)
    true = read_truth(made.truth if truth is None else truth)
    return Known.of(agreement, *done._tables, found, true, done.compared)
