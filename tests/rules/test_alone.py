"""Which single values are enough for a match: what is said of a rule is what the rule does."""

from __future__ import annotations

from itertools import product

import numpy as np
import pyarrow as pa
import pytest

from accord.agreement.document import Agreement
from accord.agreement.file import parse_agreement
from accord.fields.load import load_records
from accord.rules.alone import enough_alone
from accord.rules.evaluate import Tables, holds

HEAD = '''
version = 1
salt = "00000000"
engine = "ot"
rule = """RULE"""
[parties]
A = "one"
B = "other"
[protocol]
name = "all-pairs"
greedy = false
'''
FIELDS = """
[fields.given]
type = "text"
encoder = "hash"
missing = "differs"
[fields.surname]
type = "text"
encoder = "hash"
missing = "POLICY"
[fields.birth]
type = "date"
min = 1900-01-01
max = 2029-12-31
missing = "differs"
[fields.birth_year]
type = "number"
from = "birth"
derive = "year"
min = 1900
max = 2029
step = 1
missing = "differs"
[fields.whole]
type = "text"
from = ["given", "surname"]
encoder = "hash"
missing = "differs"
"""
GIVEN = "given: same -> 8, missing -> 0, otherwise -> -2"
SURNAME = "surname: same -> 7, missing -> 0, otherwise -> -5"
THERE = "surname: same -> 7, otherwise -> -5"
BIRTH = "birth: same -> 5, same(birth_year) -> 2, missing -> 0, otherwise -> -3"


def agreed(rule: str, policy: str = "differs") -> Agreement:
    return parse_agreement(HEAD.replace("RULE", rule) + FIELDS.replace("POLICY", policy))


@pytest.mark.parametrize(
    ("rule", "policy", "enough"),
    [
        (f"score({GIVEN}; {SURNAME}; {BIRTH}) >= 7", "differs", {"given": 8, "surname": 7}),
        (f"score({GIVEN}; {SURNAME}; {BIRTH}) >= 9", "differs", {}),
        # What no record lacks differs then, which weighs.
        (f"score({GIVEN}; {THERE}; {BIRTH}) >= 7", "error", {"surname": 7}),
        (f"score({GIVEN}; {THERE}; {BIRTH}) >= 3", "error", {"given": 3, "surname": 7}),
        # Fields of one column agree together.
        (f"score({BIRTH}; same(birth_year) -> 4; {GIVEN}) >= 9", "differs", {"birth": 9}),
        # A field of several columns is the same where both records lack the others.
        ("score(whole: same -> 3; given: same -> 1; birth: same -> 1) >= 4", "differs", {"given": 4}),
        # Something else has to agree, too.
        (f"same(birth) and score({GIVEN}; {SURNAME}) >= 7", "differs", {}),
        # What is accepted without the score is meant so.
        (f"same(given) or score({GIVEN}; {SURNAME}) >= 7", "differs", {"surname": 7}),
        ("same(given) and same(surname) or same(birth)", "differs", {}),
        # It may matter whose record is empty.
        (
            "score(given: same -> 3; missing(birth, A) -> 2, missing(birth, B) -> -9) >= 5",
            "differs",
            {"given": 5},
        ),
    ],
)
def test_a_single_value_is_enough_where_it_is_said(rule: str, policy: str, enough: dict[str, int]) -> None:
    agreement = agreed(rule, policy)
    assert enough_alone(agreement.rule, agreement.fields) == enough
    if policy == "differs" and " or " not in rule:
        assert {column for column in ("given", "surname", "birth") if matches(agreement, column)} == {*enough}


def matches(agreement: Agreement, column: str) -> bool:
    """Whether records match that agree on the column, and of which one or both have nothing else."""
    full = {"given": "anna", "surname": "smith", "birth": "1980-01-31"}
    poor = {name: value if name == column else None for name, value in full.items()}
    other = {"given": "bea", "surname": "jones", "birth": "1975-12-24"} | {column: full[column]}
    rows: list[dict[str, str | None]] = [poor, {**other}]
    records = [
        load_records(
            pa.table({"id": ["1", "2"], **{name: [row[name] for row in rows] for name in full}}),
            agreement.fields,
            agreement.salt,
        )
    ] * 2
    tables = Tables(agreement.fields, records[0].columns, records[1].columns)
    pairs = [pair for pair in product((0, 1), (0, 1)) if pair != (1, 1)]
    left, right = (np.array(each) for each in zip(*pairs, strict=True))
    return bool(holds(agreement.rule, tables, left, right).any())
