"""A rule as people write it in the agreement: `same(day) and hamming(name) <= 5`.

    rule      = both { "or" both }
    both      = one { "and" one }
    one       = "not" one | "(" rule ")" | predicate
    predicate = "same" "(" fields ")"
              | "within" "(" fields "," number [ "days" ] ")"
              | measure "(" fields ")" ( "<=" | ">=" ) number
              | "euclidean" "(" field { "," field } ")" "<=" number
              | "missing" "(" field [ "," ( "A" | "B" ) ] ")"
              | "either_way" "(" rule "," field "," field ")"
    fields    = field [ "," field ]

Two fields are A's and B's; for euclidean, coordinates. `str(rule)` writes it back, with `either_way` written
out; reading that gives the same rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import NoReturn

from accord.exact import exact
from accord.matching.either_way import MOST_PREDICATES, either_way
from accord.matching.rule import (
    And,
    Measure,
    Not,
    Or,
    Rule,
    cosine,
    dice,
    euclidean,
    hamming,
    jaccard,
    join,
    missing,
    predicates,
    same,
    within,
)
from accord.side import Side
from accord.spelling import nearest

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+\^-?\d+|\d+/\d+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<word>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<sign><=|>=|==|[<>=(),&|~])"
    r"|(?P<stray>\S))"
)
_MEASURES: dict[str, Callable[..., Measure]] = {
    "hamming": hamming,
    "dice": dice,
    "jaccard": jaccard,
    "cosine": cosine,
    "euclidean": euclidean,
}
_WORDS = ["same", "within", *_MEASURES, "missing", "either_way"]
_SIGNS = {"&": "and", "|": "or", "~": "not"}
_DEEPEST = 50


class RuleSyntaxError(ValueError):
    """The rule cannot be read; the message says where and how to mend it."""


def parse_rule(text: str) -> Rule:
    """Read a rule; raise `RuleSyntaxError` that points at the first thing that cannot be read."""
    reader = _Reader(text)
    rule = reader.rule(0)
    if reader.token != "":
        reader.fail(f"'{reader.token}' is not expected here; join predicates with and, or, not")
    return rule


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._end = 0
        self._predicates = 0
        self.kind = ""
        self.token = ""
        self.advance()

    def advance(self) -> str:
        """Step to the next token and give the one left behind."""
        left = self.token
        found = _TOKEN.match(self._text, self._end)
        if found is None:
            self._at, self.kind, self.token = len(self._text), "end", ""
            return left
        self.kind = found.lastgroup or ""
        self._at, self._end = found.start(self.kind), found.end()
        self.token = _SIGNS.get(found[self.kind], found[self.kind])
        if self.kind == "stray":
            self.fail(f"the sign '{self.token}' has no meaning in a rule")
        return left

    def fail(self, problem: str) -> NoReturn:
        raise RuleSyntaxError(f"at character {self._at + 1} of the rule: {problem}")

    def expect(self, token: str, after: str) -> None:
        if self.token != token:
            self.fail(f"'{token}' is expected {after}")
        self.advance()

    def rule(self, depth: int) -> Rule:
        found = [self.both(depth)]
        while self.token == "or":
            self.advance()
            found.append(self.both(depth))
        return join(Or, found)

    def both(self, depth: int) -> Rule:
        found = [self.one(depth)]
        while self.token == "and":
            self.advance()
            found.append(self.one(depth))
        return join(And, found)

    def one(self, depth: int) -> Rule:
        if depth > _DEEPEST:
            self.fail(f"more than {_DEEPEST} brackets inside each other")
        if self.token == "not":
            self.advance()
            return Not(self.one(depth + 1))
        if self.token == "(":
            self.advance()
            found = self.rule(depth + 1)
            self.expect(")", "to close the bracket")
            return found
        return self.predicate(depth)

    def predicate(self, depth: int) -> Rule:
        if self.kind != "word":
            self.fail(f"a predicate is expected: one of {', '.join(_WORDS)}")
        if self.token not in _WORDS:
            close = nearest(self.token, _WORDS)
            hint = f"did you mean '{close}'?" if close else f"known are {', '.join(_WORDS)}"
            self.fail(f"'{self.token}' is no predicate; {hint}")
        word = self.advance()
        self.count(1)
        self.expect("(", f"after '{word}'")
        match word:
            case "same":
                return same(*self.fields(word))
            case "within":
                return self.within()
            case "missing":
                return self.missing()
            case "either_way":
                return self.either_way(depth)
            case _:
                return self.measure(word)

    def count(self, more: int) -> None:
        """So many predicates more, of which a rule has a limited number: a partner may have written it."""
        self._predicates += more
        if self._predicates > MOST_PREDICATES:
            self.fail(f"the rule has more than {MOST_PREDICATES:,} predicates, once it is written out")

    def within(self) -> Rule:
        fields = [self.field()]
        self.expect(",", "after the field of within(), before the amount")
        if self.kind == "word":
            fields.append(self.field())
            self.expect(",", "after the fields of within(), before the amount")
        amount = self.number()
        days = self.token in ("day", "days")
        if days:
            self.advance()
        self.expect(")", "after the amount of within()")
        return within(*fields, days=amount) if days else within(*fields, amount)

    def missing(self) -> Rule:
        field, side = self.field(), None
        if self.token == ",":
            self.advance()
            if self.token not in ("A", "B"):
                self.fail(f"a side is expected: missing({field}, A) or missing({field}, B)")
            side = Side(self.advance())
        self.expect(")", "after missing(...")
        return missing(field, side)

    def either_way(self, depth: int) -> Rule:
        """Written out, it may stand in two more brackets than here."""
        at, before = self._at, self._predicates
        rule = self.rule(depth + 2)
        self.expect(",", "after the rule of either_way(), before its two fields")
        first = self.field()
        self.expect(",", "between the two fields of either_way()")
        second = self.field()
        self.expect(")", "after the fields of either_way()")
        try:
            both = either_way(rule, first, second)
        except ValueError as error:
            self._at = at
            self.fail(str(error))
        # The word itself was counted, too, and it is gone.
        self.count(len(list(predicates(both))) - (self._predicates - before) - 1)
        return both

    def fields(self, word: str) -> list[str]:
        """The fields of a predicate, and its closing bracket."""
        fields = [self.field()]
        while self.token == ",":
            self.advance()
            fields.append(self.field())
        self.expect(")", f"after the field of {word}()")
        if len(fields) > 2 and word != "euclidean":
            self.fail(f"{word}() takes one field, or A's and B's")
        return fields

    def measure(self, word: str) -> Rule:
        measure = _MEASURES[word](*self.fields(word))
        wanted = "<=" if word in ("hamming", "euclidean") else ">="
        self.expect(wanted, f"after {word}(...)")
        at, bound = self._at, self.number()
        try:
            return measure <= bound if wanted == "<=" else measure >= bound
        except ValueError as error:
            self._at = at
            self.fail(str(error))

    def field(self) -> str:
        if self.kind != "word":
            self.fail("the name of a field is expected")
        return self.advance()

    def number(self) -> Fraction:
        if self.kind != "number":
            self.fail("a number is expected")
        try:
            number = exact(self.token)
        except ValueError as error:
            self.fail(f"'{self.token}' {error}")
        self.advance()
        return number
