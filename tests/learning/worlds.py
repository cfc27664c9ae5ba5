"""A draft for people, whose weights are to be learnt."""

from __future__ import annotations

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
