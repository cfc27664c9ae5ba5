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
              | "score" "(" levels { ";" levels } [ ";" ] ")" ">=" whole
    fields    = field [ "," field ]
    levels    = [ fields ":" ] level { "," level }
    level     = ( rule | "otherwise" ) "->" whole

Two fields are A's and B's; for euclidean, coordinates. Where fields stand before levels, predicates on them
may be written without: `given: dice >= 0.9 -> 5, missing -> 0, otherwise -> -3`. `str(rule)` writes all of it
back, with these fields and `either_way` written out; reading that gives the same rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import NoReturn, TypeVar

from accord.exact import exact
from accord.rules.rule import And, Levels, Not, Or, Rule, join, predicates
from accord.rules.words import (
    MOST_PREDICATES,
    Measure,
    compare,
    cosine,
    dice,
    edit,
    either_way,
    euclidean,
    hamming,
    jaccard,
    mismatches,
    missing,
    same,
    score,
    within,
)
from accord.side import Side
from accord.wording import nearest

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+\^-?\d+|\d+/\d+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<word>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<sign><=|>=|==|->|[<>=(),;:&|~-])"
    r"|(?P<stray>\S))"
)
_MEASURES: dict[str, Callable[..., Measure]] = {
    "hamming": hamming,
    "edit": edit,
    "mismatches": mismatches,
    "dice": dice,
    "jaccard": jaccard,
    "cosine": cosine,
    "euclidean": euclidean,
}
_WORDS = ["same", "within", *_MEASURES, "missing", "either_way", "score"]
_SIGNS = {"&": "and", "|": "or", "~": "not"}
_DEEPEST = 50
T = TypeVar("T")


class RuleSyntaxError(ValueError):
    """The rule cannot be read; the message says where and how to mend it."""


@lru_cache(maxsize=16)
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
        self._in_score = False
        self._implied: list[str] = []
        self._unread = False
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
        line, column = self._text.count("\n", 0, self._at), self._at - self._text.rfind("\n", 0, self._at)
        of = f"of line {line + 1} of the rule" if "\n" in self._text.strip() else "of the rule"
        raise RuleSyntaxError(f"at character {column if line else self._at + 1} {of}: {problem}")

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
            self.fail(f"more than {_DEEPEST} nested brackets")
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
            self.fail(f"'{self.token}' is not a predicate; {hint}")
        word = self.advance()
        self.count(1)
        if self.token != "(" and self._implied and word not in ("euclidean", "either_way", "score"):
            return self.implied(word)
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
            case "score":
                return self.score(depth)
            case _:
                return self.measure(word, self.fields(word))

    def implied(self, word: str) -> Rule:
        """A predicate whose fields stand before the levels."""
        fields, self._unread = self._implied, False
        match word:
            case "same":
                return same(*fields)
            case "missing":
                return missing(fields[0]) if len(fields) == 1 else _missing_crossed(*fields)
            case "within":
                amount, days = self.amount()
                return within(*fields, days=amount) if days else within(*fields, amount)
            case _:
                return self.measure(word, fields)

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
        amount, days = self.amount()
        self.expect(")", "after the amount of within()")
        return within(*fields, days=amount) if days else within(*fields, amount)

    def amount(self) -> tuple[Fraction, bool]:
        """A number, and whether it counts days."""
        amount = self.number()
        days = self.token in ("day", "days")
        if days:
            self.advance()
        return amount, days

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
        both = self.made(at, lambda: either_way(rule, first, second))
        # The word itself was counted, too, and it is gone.
        self.count(len(list(predicates(both))) - (self._predicates - before) - 1)
        return both

    def score(self, depth: int) -> Rule:
        if self._in_score:
            self.fail("a score cannot be inside a level of a score")
        self._in_score = True
        comparisons = [self.levels(depth)]
        while self.token == ";":
            self.advance()
            if self.token == ")":
                break
            comparisons.append(self.levels(depth))
        self._in_score = False
        self.expect(")", "after the levels of score(), or ';' before the next comparison")
        self.expect(">=", "after score(...)")
        at, least = self._at, self.whole("the threshold of a score")
        return self.made(at, lambda: score(*comparisons) >= least)

    def levels(self, depth: int) -> Levels:
        """The levels of one comparison, in order; 'otherwise' comes last, and is 0 if it is left out."""
        start = self._at
        self._implied = self.heading()
        self._unread = bool(self._implied)
        at, levels, otherwise = self._at, list[tuple[Rule, int]](), 0
        while True:
            last = self.token == "otherwise"
            when = None if last else self.rule(depth + 1)
            if last:
                self.advance()
            self.expect("->", "before the weight of a level, such as same(city) -> 3")
            weight = self.whole("a weight")
            if when is None:
                otherwise = weight
            else:
                levels.append((when, weight))
            if last or self.token != ",":
                break
            self.advance()
        if last and self.token == ",":
            self.fail("'otherwise' is the last level; ';' begins the next comparison")
        if self._unread:
            self._at = start
            self.fail(
                f"no level reads '{', '.join(self._implied)}', which is named before the colon; leave it out"
            )
        self._implied = []
        return self.made(at, lambda: compare(*levels, otherwise=otherwise))

    def heading(self) -> list[str]:
        """The fields before a colon, if there are any."""
        here = (self._at, self._end, self.kind, self.token)
        fields = list[str]()
        while self.kind == "word" and self.token not in ("not", "otherwise"):
            fields.append(self.advance())
            if self.token == ":" and len(fields) <= 2:
                self.advance()
                return fields
            if self.token != ",":
                break
            self.advance()
        self._at, self._end, self.kind, self.token = here
        return []

    def made(self, at: int, make: Callable[[], T]) -> T:
        """What is made of parts that were read, or what is wrong with them, at the place where they begin."""
        try:
            return make()
        except ValueError as error:
            self._at = at
            self.fail(str(error))

    def whole(self, what: str) -> int:
        negative = self.token == "-"
        if negative:
            self.advance()
        number = self.number()
        if number.denominator != 1:
            self.fail(f"{what} is a whole number")
        return int(-number if negative else number)

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

    def measure(self, word: str, fields: list[str]) -> Rule:
        measure = _MEASURES[word](*fields)
        wanted = ">=" if word in ("dice", "jaccard", "cosine") else "<="
        self.expect(wanted, f"after {word}(...)")
        at, bound = self._at, self.number()
        return self.made(at, lambda: measure <= bound if wanted == "<=" else measure >= bound)

    def field(self) -> str:
        if self.kind != "word":
            self.fail("the name of a field is expected")
        return self.advance()

    def number(self) -> Fraction:
        if self.kind != "number":
            self.fail("a number is expected" if self.token != "-" else "the number must not be below 0")
        try:
            number = exact(self.token)
        except ValueError as error:
            self.fail(f"'{self.token}' {error}")
        self.advance()
        return number


def _missing_crossed(of_a: str, of_b: str) -> Rule:
    """A's record lacks its field, or B's its other one."""
    return missing(of_a, Side.A) | missing(of_b, Side.B)
