"""Worlds for pipeline properties: an agreement, two tables, and what the textbook says of them.

A table is a list of rows as people write them (tests/rules/worlds.py). The textbook goes through all pairs,
one at a time, and shares with the code under test only the bits of filters, the buckets of hashed keys, and
the answer to "does this rule have an index".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
from hypothesis import strategies as st

from accord.agreement.document import Agreement
from accord.agreement.file import require_sound
from accord.entropy import Entropy, Seeded
from accord.fields.columns import Records
from accord.peer.identity import make_identity
from accord.peer.partners import add_partner
from accord.privacy.budget import Budget
from accord.protocols.base import prepare
from accord.protocols.parts.outcome import Outcome
from accord.protocols.parts.own_side import OwnSide
from accord.rules.blocking.base import AnyPart, PassSpec, build_blocking
from accord.rules.blocking.grid import GridSpec
from accord.rules.evaluate import Tables
from accord.rules.join import has_index
from accord.rules.rule import Missing, OneField, Rule, Score, fields_of, predicates, rebuild
from accord.rules.text import parse_rule
from accord.run.request import Output, Request
from accord.secure.engine import Engine
from accord.secure.ideal import IdealEngine
from accord.secure.party import Wire, run_pair
from accord.side import Side
from accord.simulation.pair import load_both
from accord.simulation.trials import release_of
from accord.state.folder import open_state
from accord.state.ledger import Ledger
from tests.rules import worlds as fields
from tests.rules.test_evaluation import textbook as best_set
from tests.rules.worlds import Row
from tests.run import faults

Pair = tuple[int, int]
"""Numbers of a row of A and of a row of B."""
IdPair = tuple[str, str]

# -- agreements --------------------------------------------------------------------------------------------

EQUALITIES = ["same(code) and same(hour)", "same(code, alias)", "same(x, z) and same(birth)", "same(brand)"]
PLAIN = [
    *EQUALITIES,
    "same(hour) and (same(brand) or missing(brand))",
    "same(hour) and euclidean(x, y) <= 1",
    "same(code, alias) and within(x, z, 2)",
    "cosine(nick, name) >= 0.5 or same(brand, colour)",
    "dice(name) >= 0.4 and not same(brand)",
    "jaccard(name) >= 0.5 or missing(name, A) and same(birth)",
    "edit(tag, label) <= 2 or within(birth, baptism, 4 days)",
    "hamming(name, nick) <= 6",
    "mismatches(tag) <= 1 and (same(hour) or missing(code))",
    "either_way(same(birth) and same(baptism), birth, baptism)",
    "same(hour) or same(birth)",
]
SCORES = [
    "score(name: dice >= 0.8 -> 5, missing -> 0, otherwise -> -3; hour: same -> 2; "
    "birth: same -> 6, within 2 days -> 3, missing -> 0, otherwise -> -4) >= 4",
    "same(hour) and score(x: same -> 4, within 1 -> 2; code: same -> 3, missing -> 1, otherwise -> -2) >= 2",
    "score(tag: same -> 3, edit <= 1 -> 1; brand: same -> 2, missing -> 0, otherwise -> -1; "
    "hour: same -> 1) >= 2",
    "score(hour: same -> 0, otherwise -> -3; x: same -> 0, within 1 -> -1, otherwise -> -4) >= -1",
]

HOUR, BRAND, BIRTH = ({"kind": "key", "field": name} for name in ("hour", "brand", "birth"))
GRID = {"kind": "grid", "fields": ["x", "y"], "cell": 4, "style": "neighbours"}
COPIED = {"kind": "grid", "fields": ["x", "y"], "cell": 4, "style": "replicate", "reach": 1}
LISTED: list[dict[str, Any]] = [
    HOUR,
    BRAND,
    {**BIRTH, "buckets": 3},
    {"kind": "key", "field": "code", "buckets": 4},
    {"kind": "key", "field": ["hour", "birth"], "buckets": 5},
    GRID,
    COPIED,
    {"kind": "grid", "fields": ["x"], "cell": 3, "style": "replicate", "reach": 0},
]
"""Parts whose bins can be listed."""
UNLISTED: list[dict[str, Any]] = [
    HOUR,
    BIRTH,
    {"kind": "key", "field": "code"},
    {"kind": "key", "field": ["brand", "hour"]},
    COPIED,
    {"kind": "grid", "fields": ["x"], "cell": 2, "style": "replicate", "reach": 1},
]
"""Parts for keys of any value."""
SKIPPED = ("code", "x", "birth", "tag")
"""Fields without which a row may be left out."""
COLUMNS = ("name", "brand", "x", "birth", "label")
CATEGORIES = {"column": "brand", "values": ["red", "green"]}, {"column": "hour", "values": ["1", "2"]}
ANSWERS: list[dict[str, Any]] = [
    {"answer": "count"},
    {"answer": "table", "by": dict(zip("AB", CATEGORIES, strict=True))},
    {"answer": "table", "by": {"B": CATEGORIES[0]}},
    {"answer": "sum", "of": {"side": "A", "column": "hour", "low": -1, "high": 2}},
    {"answer": "sum", "of": {"side": "B", "column": "hour", "low": 1, "high": 9}},
]
PROTOCOLS = ("laplace", "routed", "all-pairs", "psi", "laplace", "routed")
ROOM = 64
"""A cap that no key here fills."""


def _names(part: dict[str, Any]) -> set[str]:
    """The fields of a part of a blocking."""
    of: str | list[str] = part["fields"] if "fields" in part else part["field"]
    return {of} if isinstance(of, str) else set(of)


def _blockings(parts: list[dict[str, Any]], symmetric: bool) -> st.SearchStrategy[Any]:
    """One pass or several, of one or two parts on unlike fields."""

    def differ(some: list[dict[str, Any]]) -> bool:
        return len(some) == 1 or not _names(some[0]) & _names(some[1])

    chosen = [part for part in parts if not symmetric or part.get("style") != "replicate"]
    one = st.lists(st.sampled_from(chosen), min_size=1, max_size=2).filter(differ)
    several = st.lists(one, min_size=1, max_size=3)
    return one | several.map(lambda found: {"pass": [{"parts": some} for some in found]})


@st.composite
def _protocols(draw: st.DrawFn, name: str, free: bool, greedy: bool | None) -> dict[str, Any]:
    """A protocol with options."""
    greedy = draw(st.booleans()) if greedy is None else greedy
    if name == "psi":
        return {"name": name}
    if name == "all-pairs":
        return {"name": name, "greedy": greedy}
    if name == "laplace":
        noise = st.sampled_from(["geometric", "gaussian", "auto"])
        sides = {side: {"epsilon": "24", "delta": "1e-2", "noise": draw(noise)} for side in "AB"}
        prune = 0 if free else draw(st.sampled_from([0, 30]))
        return {"name": name, "greedy": greedy, "sort": draw(st.booleans()), "prune": prune, **sides}
    asks = draw(st.sampled_from([None, "A", "B"]))
    cap = ROOM if free else draw(st.sampled_from([1, 2, ROOM]))
    return {"name": name, "cap": cap} | ({} if asks is None else {"asks": asks})


@st.composite
def _outputs(draw: st.DrawFn, name: str, hidden: bool | None) -> dict[str, Any]:
    """What comes out: mostly pairs."""
    open_ = ["both", "both", "pseudonyms"]
    hiding = ["exact"] if name in ("all-pairs", "routed") else []
    hiding += ["noisy", "A", "B"] if name == "routed" else []
    kind = draw(st.sampled_from([*([] if hidden else open_), *([] if hidden is False else hiding)]))
    if kind in ("exact", "noisy"):
        more = {"exact": True} if kind == "exact" else {"epsilon": "2"}
        return draw(st.sampled_from(ANSWERS)) | more
    return {"both": {}, "pseudonyms": {"ids": "pseudonyms"}}.get(kind, {"to": kind})


@st.composite
def agreements(
    draw: st.DrawFn,
    protocols: tuple[str, ...] = PROTOCOLS,
    hidden: bool | None = None,
    greedy: bool | None = None,
    free: bool = True,
    symmetric: bool = False,
) -> Agreement:
    """Agreements that are accepted.

    `hidden`: whether a side learns no pairs. `greedy`: whether matches are disclosed round by round. Unless
    `free`, bins may be pruned and keys be full. In a `symmetric` one no side's records are copied.
    """
    name = draw(st.sampled_from(protocols))
    output = draw(_outputs(name, hidden))
    texts = EQUALITIES if name == "psi" else PLAIN + SCORES
    rule = parse_rule(draw(st.sampled_from(texts)))
    protocol = draw(_protocols(name, free, greedy))
    if "to" in output:
        protocol.pop("asks", None)
    blocking: Any = []
    if name in ("laplace", "routed"):
        blocking = draw(_blockings(LISTED if name == "laplace" else UNLISTED, symmetric))
    plain: dict[str, Any] = {
        "version": 2,
        "salt": fields.SALT,
        "parties": {"A": "alice", "B": "bob"},
        "rule": str(rule),
        "blocking": blocking,
        "protocol": protocol,
        "engine": "ot",
        **({"output": output} if output else {}),
    }
    parts = (
        [one for some in blocking.get("pass", []) for one in some["parts"]]
        if isinstance(blocking, dict)
        else blocking
    )
    used = {
        *fields_of(rule),
        *(name for part in parts for name in _names(part)),
        draw(st.sampled_from(SKIPPED)),
    }
    plain["fields"] = {name: fields.FIELDS[name].model_dump(mode="json") for name in sorted(used)}
    asked = {p.field for p in predicates(rule) if isinstance(p, Missing)}
    if skipped := draw(st.sampled_from([None, None, *sorted(used.intersection(SKIPPED) - asked)])):
        plain["fields"][skipped]["missing"] = "skip"
    if "answer" not in output:
        plain |= draw(_of_pairs(rule, plain))
    if draw(st.booleans()):
        plain["expected"] = {"A": 40, "B": 30}
    made = Agreement.model_validate(plain)
    require_sound(made)
    return made


@st.composite
def _of_pairs(draw: st.DrawFn, rule: Rule, plain: dict[str, Any]) -> dict[str, Any]:
    """What only pairs have: disclosed columns, a one-to-one set."""
    both = plain.get("output", {}).get("to", "both") == "both"
    kinds = [False, False, "pairs", *(["score"] if "score" in plain["rule"] else [])] if both else [False]
    chosen = draw(st.sampled_from(kinds))
    shown = set[str]()
    if plain["protocol"].get("greedy") or chosen == "score":
        parts = [part for one in Agreement.model_validate(plain).passes for part in one.parts]
        shown = {*fields_of(rule), *(name for part in parts for name in part.names)}
    more = {side: draw(st.sets(st.sampled_from(COLUMNS))) for side in "AB"}
    return {"one_to_one": chosen, "disclose": {side: sorted(shown | more[side]) for side in "AB"}}


# -- tables ------------------------------------------------------------------------------------------------


_CODES = [("x1", "red", 1, 0.5), ("x2", "green", 1, 1.0), ("y", "red", 2, 4.0)]
PEOPLE: list[Row] = [
    {
        **dict.fromkeys(("name", "nick"), name),
        **dict.fromkeys(("code", "alias"), code),
        **dict.fromkeys(("brand", "colour"), brand),
        **dict.fromkeys(("x", "y", "z"), number),
        **dict.fromkeys(("birth", "baptism"), date(2026, 1, 5 + hour)),
        **dict.fromkeys(("tag", "label"), code.replace("x", "a").translate({49: "b", 50: None, 121: "é"})),
        "hour": hour,
    }
    for name, (code, brand, hour, number) in zip(("ab c", "ab cé", "c"), _CODES, strict=True)
]
"""Whom the rows of a table are variants of, so that records match, and some of them several others."""


def tables(least: int = 1, most: int = 6) -> st.SearchStrategy[tuple[list[Row], list[Row]]]:
    """Two tables of variants of three people, with other values in up to two fields."""
    other = st.one_of(*(st.tuples(st.just(name), cell) for name, cell in fields.cells.items()))
    row = st.builds(
        lambda one, changed: one | dict(changed), st.sampled_from(PEOPLE), st.lists(other, max_size=2)
    )
    table = st.lists(row, min_size=least, max_size=most)
    return st.tuples(table, table)


@dataclass(frozen=True)
class World:
    """An agreement and the tables of both sides."""

    agreement: Agreement
    a: list[Row]
    b: list[Row]
    order: tuple[list[int], list[int]] | None = None
    """Which rows the tables have, in their order; all where it is not said."""

    def __repr__(self) -> str:
        return f"World({self.agreement.to_toml()}, {self.a}, {self.b}, {self.order})"

    def rows(self, side: Side) -> list[Row]:
        return self.a if side is Side.A else self.b

    def table(self, side: Side) -> pa.Table:
        """As its owner has it."""
        whole = fields.table(self.rows(side), prefix=side.value.lower())
        return whole if self.order is None else whole.take(pa.array(self.order[side is Side.B], pa.int64()))

    @cached_property
    def records(self) -> tuple[Records, Records]:
        return load_both(self.table(Side.A), self.table(Side.B), self.agreement, None, None)

    def with_rows(self, side: Side, rows: list[Row]) -> World:
        """With another table on a side."""
        return World(self.agreement, rows, self.b) if side is Side.A else World(self.agreement, self.a, rows)

    def ordered(self, a: Iterable[int], b: Iterable[int]) -> World:
        """With these rows in this order."""
        return replace(self, order=([*a], [*b]))

    @property
    def noisy(self) -> bool:
        return self.agreement.output.epsilon is not None

    # -- the textbook --------------------------------------------------------------------------------------

    def takes_part(self, row: Row) -> bool:
        """Whether it lacks nothing without which it is left out."""
        skipped = (name for name, spec in self.agreement.fields.items() if spec.missing == "skip")
        return all(row[name] is not None for name in skipped)

    @cached_property
    def matches(self) -> list[Pair]:
        """Of all pairs those that the rule accepts."""
        live = [[n for n, row in enumerate(rows) if self.takes_part(row)] for rows in (self.a, self.b)]
        every = fields.expected(self.agreement.rule, self.a, self.b)
        return [(i, j) for i, j in every if i in live[0] and j in live[1]]

    def meets(self, one: PassSpec, pair: Pair) -> bool:
        """Whether two rows meet in a pass."""
        return all(_meets(part, self.a[pair[0]], self.b[pair[1]]) for part in one.parts)

    @property
    def met(self) -> list[Pair]:
        """The matches that meet in some pass."""
        passes = self.agreement.passes
        return [pair for pair in self.matches if not passes or any(self.meets(one, pair) for one in passes)]

    @cached_property
    def found(self) -> list[Pair]:
        """What a protocol finds that leaves nothing out."""
        agreed = self.agreement
        if agreed.protocol.cascades(agreed.task):
            return sorted(pair for some in self.by_pass() for pair in some)
        wide = getattr(agreed.protocol, "greedy", False) and has_index(agreed.rule, agreed.fields)
        return self.closure(self.met) if wide else self.met

    def by_pass(self) -> Iterator[list[Pair]]:
        """What each pass of a cascade finds: records that matched before take no part."""
        left = [set(range(len(self.a))), set(range(len(self.b)))]
        for one in self.agreement.passes:
            here = [(i, j) for i, j in self.matches if i in left[0] and j in left[1]]
            some = [pair for pair in here if self.meets(one, pair)]
            yield some
            for side in range(2):
                left[side] -= {pair[side] for pair in some}

    def closure(self, some: list[Pair]) -> list[Pair]:
        """All matches of records that these lead to, by one match after another."""
        rows: tuple[set[int], set[int]] = ({i for i, _ in some}, {j for _, j in some})
        while True:
            every = [(i, j) for i, j in self.matches if i in rows[0] or j in rows[1]]
            more = {i for i, _ in every}, {j for _, j in every}
            if more == rows:
                return every
            rows = more

    @cached_property
    def kept(self) -> list[Pair]:
        """Of these the pairs that both keep."""
        if not self.agreement.one_to_one:
            return self.found
        return sorted(best_set({pair: self.worth(pair) for pair in self.found}))

    def worth(self, pair: Pair) -> int:
        """The sum of the scores that the rule asks for, by which it chooses."""
        if self.agreement.one_to_one != "score":
            return 1
        rule = self.agreement.rule
        parts = rule.parts if hasattr(rule, "parts") else (rule,)
        x, y = self.a[pair[0]], self.b[pair[1]]
        bits = fields.filters([x], rule)[0], fields.filters([y], rule)[0]
        return sum(fields.score(part, x, y, bits) for part in parts if isinstance(part, Score))

    def ids(self, pairs: list[Pair]) -> list[IdPair]:
        return sorted((f"a{i}", f"b{j}") for i, j in pairs)

    @cached_property
    def answer(self) -> list[int]:
        """The cells of an answer, by the pairs themselves."""
        output = self.agreement.output
        if output.answer == "count":
            return [len(self.found)]
        if output.of is not None:
            of, which = output.of, "AB".index(output.of.side)
            rows = [(self.a[i], self.b[j])[which] for i, j in self.found]
            return [sum(min(of.high, max(of.low, row[of.column])) for row in rows), len(rows)]
        assert output.by is not None
        cells = {names: 0 for names in product(*(output.by.of(side) for side in Side))}
        for i, j in self.found:
            cells[_category(output.by.A, self.a[i]), _category(output.by.B, self.b[j])] += 1
        return list(cells.values())

    @property
    def candidates(self) -> int:
        """Pairs that meet, in each pass."""
        live = [[n for n, row in enumerate(rows) if self.takes_part(row)] for rows in (self.a, self.b)]
        passes = self.agreement.passes or [PassSpec.model_construct(parts=())]
        pairs = [(i, j) for i in live[0] for j in live[1]]
        return sum(self.meets(one, pair) for one in passes for pair in pairs)

    def covered(self) -> list[Pair]:
        """The matches that meet in a pass, of records whose keys are not full in any."""
        task = self.agreement.task
        uncovered = [
            task.protocol.coverage(task, side, held).uncovered
            for side, held in zip(Side, self.records, strict=True)
        ]
        numbers = [
            {int(name[1:]): row for row, name in enumerate(held.ids.to_pylist())} for held in self.records
        ]
        return [
            (i, j) for i, j in self.met if not uncovered[0][numbers[0][i]] and not uncovered[1][numbers[1][j]]
        ]

    # -- others like it ------------------------------------------------------------------------------------

    def changed(self, **changes: Any) -> World:
        """With another agreement."""
        plain = self.agreement.model_dump(mode="json") | changes
        return World(Agreement.model_validate(plain), self.a, self.b)

    def swapped(self) -> World:
        """The same with A for B."""
        plain = _swap(self.agreement.model_dump(mode="json"))
        plain["rule"] = str(_mirror(self.agreement.rule))
        plain["parties"] = {"A": "alice", "B": "bob"}
        return World(Agreement.model_validate(plain), self.b, self.a)


def _category(of: Any, row: Row) -> str:
    if of is None:
        return "all"
    cell = row[of.column]
    return str(cell) if str(cell) in of.values else "other"


def _steps(name: str, value: float) -> int:
    """A number in steps of its field, from the least."""
    return int((value - (-2 if name == "x" else 0)) * 2)


def _meets(part: AnyPart, x: Row, y: Row) -> bool:
    """Whether a row of A and a row of B meet in a part of a pass."""
    cells = [(x[name], y[name]) for name in part.names]
    if any(None in both for both in cells):
        return False
    if isinstance(part, GridSpec):
        return _meet_in_grid(part, *zip(*cells, strict=True))
    if part.buckets is not None and part.names != ("birth",):
        keys = {name: fields.FIELDS[name] for name in part.names}
        columns = [fields.records([row], keys).columns for row in (x, y)]
        bins = build_blocking([PassSpec(parts=(part,))], keys)
        first = np.zeros(1, np.int64)
        return bool(bins.compares(Tables(keys, *columns), first, first)[0])
    if part.buckets is not None:
        ((born, other),) = cells
        return bool((born - other).days % part.buckets == 0)
    folded = [tuple(_fold(name, one) for one in both) for name, both in zip(part.names, cells, strict=True)]
    return all(one == other for one, other in folded)


def _fold(name: str, cell: Any) -> Any:
    """A category as it is compared."""
    if name != "brand":
        return cell
    known = cell.strip().lower()
    return known if known in ("red", "green") else "other"


def _meet_in_grid(part: GridSpec, x: tuple[float, ...], y: tuple[float, ...]) -> bool:
    """By whole steps: cells side by side, or a ball around B's point that touches A's cell."""
    size = int(part.cell * 2)
    points = [[_steps(name, value) for name, value in zip(part.names, row, strict=True)] for row in (x, y)]
    cells = [[step // size for step in point] for point in points]
    if part.reach is None:
        return all(abs(one - other) <= 1 for one, other in zip(*cells, strict=True))
    nearest = [
        min(max(step, cell * size), cell * size + size - 1)
        for step, cell in zip(points[1], cells[0], strict=True)
    ]
    apart = sum((step - near) ** 2 for step, near in zip(points[1], nearest, strict=True))
    return bool(apart <= (2 * part.reach) ** 2)


def _mirror(rule: Rule) -> Rule:
    """The rule for the pair the other way round."""
    if isinstance(rule, Missing):
        return Missing(rule.field, None if rule.side is None else rule.side.other)
    if isinstance(rule, OneField):
        return replace(rule, field=rule.field_b, field_b=rule.field)  # type: ignore[type-var]
    return rebuild(rule, _mirror)


def _swap(plain: Any, key: str = "") -> Any:
    """A for B, wherever a side is named."""
    other = {"A": "B", "B": "A"}
    if isinstance(plain, dict):
        return {other.get(name, name): _swap(value, name) for name, value in plain.items()}
    if isinstance(plain, list):
        return [_swap(value) for value in plain]
    return other.get(plain, plain) if key in ("asks", "to", "side") else plain


def worlds(least: int = 1, most: int = 6, **options: Any) -> st.SearchStrategy[World]:
    """Worlds whose tables have so many rows, under agreements with these options."""
    return st.builds(lambda agreed, both: World(agreed, *both), agreements(**options), tables(least, most))


# -- a run of the protocol ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """Both sides' outcomes, and what went over the wire."""

    records: tuple[Records, Records]
    a: Outcome
    b: Outcome
    wire: Wire

    @property
    def outcomes(self) -> tuple[Outcome, Outcome]:
        """Of A and of B, opened where one side alone has the pairs."""
        a, b = (one if one.unseal is None else one.unseal() for one in (self.a, self.b))
        return a, b

    @property
    def pairs(self) -> list[IdPair]:
        """What every side holds that learns pairs, as ids."""
        learn = [
            side for side, one in zip(Side, (self.a, self.b), strict=True) if not one.hidden or one.unseal
        ]
        held = [self._pairs(side) for side in learn]
        assert held[0] == held[-1]
        return held[0]

    def _pairs(self, side: Side) -> list[IdPair]:
        number = list(Side).index(side)
        outcome = self.outcomes[number]
        own = self.records[number].ids.take(pa.array(outcome.own)).to_pylist()
        partner = outcome.partner_ids.take(pa.array(outcome.partner)).to_pylist()
        return sorted(zip(*(own, partner)[:: -1 if number else 1], strict=True))

    @property
    def answer(self) -> list[int] | None:
        """The numbers that both have, where nobody is shown."""
        answers = [None if one.answer is None else [*one.answer.values] for one in (self.a, self.b)]
        assert answers[0] == answers[1]
        return answers[0]

    @property
    def output(self) -> list[int] | list[IdPair]:
        return self.pairs if self.answer is None else self.answer

    @property
    def facts(self) -> tuple[Any, ...]:
        """The output and the work."""
        return self.output, [(one.comparisons, one.rounds, one.dummies) for one in (self.a, self.b)]


def prepared(world: World, entropy: Entropy, noise: tuple[Any, Any] | None = None) -> tuple[OwnSide, OwnSide]:
    """Both sides before their first message, with the agreed noise unless another is given."""
    made = []
    held, task = world.records, world.agreement.task
    for number, (side, own) in enumerate(zip(Side, held, strict=True)):
        coins = entropy.stream(side.value)
        drawn = (
            release_of(world.agreement, side, own.size).draw(own, coins) if noise is None else noise[number]
        )
        made.append(prepare(task, side, own, held[1 - number].size, drawn, coins))
    return made[0], made[1]


def link(
    world: World, engine: Engine | None = None, seed: int = 0, noise: tuple[Any, Any] | None = None
) -> Run:
    """The protocol between two parties in this thread."""
    wire, task, chosen = Wire(), world.agreement.task, engine or IdealEngine()
    a, b = (task.protocol.party(task, mine, chosen) for mine in prepared(world, Seeded(seed), noise))
    return Run(world.records, *run_pair(a, b, wire=wire), wire)


# -- a whole run -------------------------------------------------------------------------------------------


class Firm(faults.Office):
    """An organisation, which may learn nothing."""

    def request(self, **changes: Any) -> Request:
        learns = self.agreement.output.learner is not self.side.other
        return super().request(**({} if learns else {"output": Output()}) | changes)


def firms(world: World, folder: Path) -> dict[Side, faults.Office]:
    """Both organisations of a world, with the tables in files."""
    found: dict[Side, faults.Office] = {}
    cards = {}
    for side in Side:
        home, agreed = folder / side.value, world.agreement
        state = open_state(home / "state", {})
        cards[side] = make_identity(state, agreed.party(side), datetime.now(UTC))
        Ledger(state.store).set_budget("table", Budget())
        pyarrow.csv.write_csv(world.table(side), home / "data.csv")
        found[side] = Firm(side, agreed, state, home / "data.csv", home / "pairs.csv")
    for side, office in found.items():
        add_partner(office.state, office.partner, cards[side.other])
    return found
