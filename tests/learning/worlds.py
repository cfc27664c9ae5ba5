"""A draft for people, whose weights are to be learnt, and a model of Splink for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from accord.datasets.starter import starter_text

RULE = """
score(
    given: dice >= 1 -> 5, dice >= 0.7 -> 3, dice(given, surname) >= 0.9 -> 1, missing -> 0, otherwise -> -3;
    surname: dice >= 1 -> 5, dice >= 0.7 -> 3, dice(surname, given) >= 0.9 -> 1, missing -> 0,
             otherwise -> -3;
    middle: dice >= 1 -> 5, dice >= 0.5 -> 2, missing -> 0, otherwise -> -3;
    birth: same -> 8, same(birth_year) or same(birth_day) -> 2, missing -> 0, otherwise -> -5;
    phone: same -> 7, missing -> 0, otherwise -> -2;
    email: same -> 7, missing -> 0, otherwise -> -2;
    postcode: same -> 5, missing -> 0, otherwise -> -2;
) >= 10
"""


def with_rule(text: str, rule: str) -> str:
    """An agreement's text with another rule."""
    start = text.index('rule = """')
    end = text.index('"""', start + 12) + 3
    return f'{text[:start]}rule = """{rule}"""{text[end:]}'


DRAFT = with_rule(starter_text("people", "00000000"), RULE)


def _with_protocol(text: str, protocol: str) -> str:
    """An agreement's text with other passes and another protocol."""
    return (
        text[: text.index("# Only records that meet")]
        + protocol
        + text[text.index("# What each side shows") :]
    )


ALL_PAIRS = _with_protocol(DRAFT, '[protocol]\nname = "all-pairs"\ngreedy = false\n\n')
ROUTED = _with_protocol(
    DRAFT,
    """
[[blocking.pass]]
name = "birth"
cap = 2
parts = [{ kind = "key", field = "birth" }]

[[blocking.pass]]
name = "names"
cap = {A = 4, B = 2}
parts = [{ kind = "key", field = ["given_sound", "surname_sound"] }]

[[blocking.pass]]
name = "phone"
parts = [{ kind = "key", field = "phone" }]

[protocol]
name = "routed"
cap = 2

""",
)
"""The values of one pass are listed, those of the others are not."""


def level(sql: str, m: float | None = None, u: float | None = None, **more: Any) -> dict[str, Any]:
    shares = {} if m is None else {"m_probability": m, "u_probability": u}
    return {"sql_condition": sql, "label_for_charts": sql, **shares, **more}


def null(column: str) -> dict[str, Any]:
    return level(f'"{column}_l" IS NULL OR "{column}_r" IS NULL', is_null_level=True)


def comparison(column: str, *levels: dict[str, Any]) -> dict[str, Any]:
    return {"output_column_name": column, "comparison_levels": [null(column), *levels]}


def similar(column: str) -> dict[str, Any]:
    """Splink's NameComparison."""
    return comparison(
        column,
        level(f'"{column}_l" = "{column}_r"', 0.8, 0.002, tf_adjustment_column=column),
        level(f'jaro_winkler_similarity("{column}_l", "{column}_r") >= 0.92', 0.1, 0.002),
        level(f'jaro_winkler_similarity("{column}_l", "{column}_r") >= 0.88', 0.04, 0.004),
        level("ELSE", 0.06, 0.992),
    )


def exact(column: str, m: float = 0.8, u: float = 0.0005) -> dict[str, Any]:
    return comparison(column, level(f'"{column}_l" = "{column}_r"', m, u), level("ELSE", 1 - m, 1 - u))


def model(*comparisons: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "link_type": "link_only",
        "probability_two_random_records_match": 0.00025,
        "sql_dialect": "duckdb",
        "comparisons": list(comparisons),
        **more,
    }


PEOPLE = model(
    similar("given"), similar("surname"), exact("birth", 0.92, 0.00005), exact("phone"), exact("postcode")
)


def save(folder: Path, content: object) -> Path:
    path = folder / "model.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path
