"""The laboratory's protocols beyond the contract: PSI with expansion, those that leak, local DP."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import exp, log, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import accord
from accord.agreement.adjusting import adjust
from accord.agreement.document import Agreement
from accord.agreement.file import parse_agreement
from accord.datasets.products import generate_products
from accord.datasets.starter import starter, starter_text
from accord.entropy import Seeded
from accord.errors import AgreementError, BudgetError, PeerError, UsageError
from accord.fields.schema import NumberField, TextField
from accord.forecast.promises import afterwards
from accord.planning.recall import recall_of
from accord.planning.variants import other_protocols
from accord.privacy.accounting import basic, promised, spent
from accord.privacy.accounting import exact as compose
from accord.privacy.budget import Budget, check
from accord.privacy.events import EVENTS, Cost, ExactAnswer, Intersection, covered_records, decode, encode
from accord.privacy.number import exp as precisely
from accord.privacy.release import Snapshot
from accord.protocols import intersection
from accord.protocols.base import prepare
from accord.protocols.greedy import GreedyClean
from accord.protocols.intersection import values_of
from accord.protocols.parts.own_side import OwnSide
from accord.protocols.parts.slots import shuffle_slots
from accord.rules.evaluate import Tables
from accord.rules.join import full_join
from accord.rules.rule import Euclidean, Hamming, Rule, Same, Within
from accord.rules.text import parse_rule
from accord.rules.words import same, within
from accord.secure.ideal import IdealEngine
from accord.secure.party import run_pair
from accord.side import Side
from accord.simulation.pair import Promised
from accord.state.ledger import Ask
from reproduction.local import local_dp
from reproduction.places import places_text
from reproduction.protocols.balls import Balls, expansion, names_of
from reproduction.protocols.leaky import suppress_slots
from reproduction.protocols.local_dp import LocalDp
from reproduction.protocols.randomised_response import (
    PublicBins,
    Reports,
    Response,
    best_spread,
    both_in_block,
    compared,
    compared_public,
    report,
)
from tests.protocols import worlds
from tests.protocols.views import lines_of, require_one_shape, views
from tests.protocols.worlds import run
from tests.reproduction.worlds import plugged
from tests.rules import worlds as world
from tests.spent import Spent, SpentError

# -- agreements --------------------------------------------------------------------------------------------

PRODUCTS, PLACES = starter_text("products", "00000000"), places_text()
RULE = "same(day) and same(brand) and hamming(name) <= 5"
SIDES = "[protocol.A]\nepsilon = 1.6\n[protocol.B]\npublic = true"
ONE = 'name = "local-dp"\nwindow = 1'
EXPANDED = 'name = "psi-expand"'


def changed(protocol: str, rule: str = RULE, blocking: bool = True, text: str = PRODUCTS) -> str:
    """An agreement with another [protocol] table."""
    head, rest = text[: text.index("[protocol]")], text[text.index("# What each side") :]
    head = head if blocking else head[: head.index("[[blocking]]")]
    return f"{head.replace(RULE, rule)}[protocol]\n{protocol}\n{rest}"


def test_sound_agreements_read_back() -> None:
    for text in (
        changed(EXPANDED, "same(day) and hamming(name) <= 3", False),
        changed(f'name = "local-dp"\nwindow = 8\n{SIDES}'),
        changed(f'name = "local-dp"\nwindow = 8\nspread = 2\ngreedy = false\n{SIDES}'),
    ):
        agreed = parse_agreement(text)
        again = parse_agreement(agreed.to_toml())
        assert (again, again.digest) == (agreed, agreed.digest)


@pytest.mark.parametrize(
    ("text", "about"),
    [
        (changed(EXPANDED, "dice(name) >= 0.9", False), "rule"),
        (changed(EXPANDED, "not same(day)", False), "rule"),
        (changed(EXPANDED, "hamming(name) <= 9", False), "3,160,457,386"),
        (changed(EXPANDED, "same(day) and within(day, 2 days)", False), "rule"),
        (changed(f"{ONE}\n{SIDES}", blocking=False), "blocking"),
        (changed(f'name = "local-dp"\nwindow = 497\n{SIDES}'), "496"),
        (changed(f'name = "local-dp"\nwindow = 2\nspread = 3\n{SIDES}'), "spread"),
        (changed(f'name = "local-dp"\nwindow = 0\n{SIDES}'), "window"),
        (changed(f'name = "local-dp"\n{SIDES}'), "window"),
        (changed(f'name = "local-dp"\nwindw = 1\n{SIDES}'), "windw"),
        (changed(f"{ONE}\n[protocol.A]\npublic = true\n[protocol.B]\npublic = true"), "public"),
        (changed(f"{ONE}\n[protocol.A]\n[protocol.B]\nepsilon = 1"), "epsilon"),
        (changed(f"{ONE}\n[protocol.A]\npublic = true\nepsilon = 1\n[protocol.B]\nepsilon = 1"), "epsilon"),
        (changed(f"{ONE}\n{SIDES}", text=PLACES), "key"),
        (changed('name = "blocking"'), "blocking"),
        (changed('name = "laplace-suppress"\nepsilon = 1'), "laplace-suppress"),
    ],
)
def test_what_a_protocol_needs_is_a_fault_of_a_line(text: str, about: str) -> None:
    with pytest.raises(AgreementError) as error:
        parse_agreement(text)
    assert [fault for fault in error.value.faults if about in str(fault) and str(fault).startswith("line ")]


def test_simulated_by_name() -> None:
    """Recall is measured against the rule of the agreement."""
    made, agreed = generate_products(300, None, 1), starter("products")
    full = accord.simulate(made.a, made.b, agreed)
    close = agreed.model_copy(update={"rule": accord.same("day") & (accord.hamming("name") <= 1)})
    expanded = accord.simulate(made.a, made.b, adjust(close, protocol="psi-expand"))
    assert (expanded.recall, expanded.precision, expanded.comparisons) == (1.0, 1.0, 300 + 300 * 51)
    few, every = (local_dp(agreed, {"window": w, "epsilon": "4", "sides": "both"}) for w in (62, 496))
    part = accord.simulate(made.a, made.b, few, seed=1)
    assert {(each.epsilon, each.delta) for each in part.promises.values()} == {(4.0, 0.0)}
    assert 0 < part.recall < 1.0
    assert part.runs[0].dummies_a == 0
    whole = accord.simulate(made.a, made.b, every, seed=1)
    assert (whole.matches, whole.comparisons) == (full.matches, whole.all_pairs)
    # A plan chooses among what is built in, so that both sides come to the same.
    assert {each.protocol.name for each in other_protocols(agreed)} == {"all-pairs"}
    reports = adjust(agreed, protocol="local-dp", epsilon="3")
    assert isinstance(reports.protocol, LocalDp)
    expected = reports.protocol.expected_recall(reports.plan.bins)
    assert recall_of(reports.task, 1.0) == pytest.approx(expected), "what a plan expects"


DEGREE = NumberField(type="number", min=Fraction(0), max=Fraction(1), step=Fraction(1, 10**6))
TAXI = dict.fromkeys(("lat", "lon", "up"), DEGREE)
PAPER = {"name": TextField.model_validate({"type": "text", "encoder": "paper"})}


def test_the_expansions_of_the_paper() -> None:
    """MATHS §14.2: the cost of PSI+X is γ·n·ln ln n."""
    for rule, size, records, cost in (
        ("hamming(name) <= 5", 2_369_936, 5_000, 2.54e10),
        ("hamming(name) <= 5", 2_369_936, 80_000, 4.60e11),
        # The whole points of a disc of radius 1000, which π·1000² estimates.
        ("euclidean(lat, lon) <= 0.001", 3_141_549, 300_000, 2.39e12),
    ):
        assert expansion(parse_rule(rule), {**TAXI, **PAPER}) == size
        assert size * records * log(log(records)) == pytest.approx(cost, rel=0.005)


halves = st.fractions(0, 2, max_denominator=4)
balls: st.SearchStrategy[Rule] = st.one_of(
    st.sampled_from([same("brand"), same("code") & same("hour")]),
    st.integers(0, 2).map(lambda t: Hamming("name", t)),
    halves.map(lambda t: Within("x", t, False)),
    st.tuples(st.integers(0, 1), halves).map(lambda p: Hamming("name", p[0]) & Euclidean(("x", "y"), p[1])),
    halves.map(lambda t: Same("hour") & Euclidean(("y",), t) & Within("birth", t, True)),
    st.sampled_from([same("code", "alias") & same("alias", "code"), same("brand", "colour") & same("x")]),
    halves.map(lambda t: within("x", "z", t) & within("z", "x", 1)),
    st.integers(0, 2).map(lambda t: Hamming("nick", t, field_b="name")),
)


@settings(max_examples=12)
@given(balls, world.tables, world.tables)
def test_a_value_is_listed_exactly_when_the_rule_accepts_it(
    rule: Rule, a: list[world.Row], b: list[world.Row]
) -> None:
    left, right = world.records(a), world.records(b)
    listed = Balls(rule, world.FIELDS, Side.B)
    assert listed.size == expansion(rule, world.FIELDS)
    values, present = values_of(names_of(rule, Side.A), left.columns)
    ball, exists = listed.listed(right.columns, slice(0, len(b)))
    assert len(ball) == len(b) * listed.size
    found = []
    for i in range(len(a)):
        hits = np.flatnonzero(exists & (ball == values[i]).all(axis=1) & present[i])
        found += [(i, int(hit) // listed.size) for hit in hits]
    joined = full_join(rule, Tables(world.FIELDS, left.columns, right.columns), (len(a), len(b)))
    assert sorted(found) == sorted(zip(*(side.tolist() for side in joined), strict=True))


# -- PSI with expansion ------------------------------------------------------------------------------------

points = st.tuples(st.integers(0, 15), st.integers(0, 15))
clustered = st.tuples(st.integers(0, 3), st.integers(0, 3))
tables = st.lists(points, max_size=12) | st.lists(clustered, max_size=9)
with plugged():
    EXPAND = Agreement.model_validate(
        worlds.agreement(protocol="psi").model_dump(mode="json") | {"protocol": {"name": "psi-expand"}}
    )


@given(tables, tables, st.integers(0, 9))
def test_expansion_finds_what_the_rule_accepts(a: worlds.Rows, b: worlds.Rows, seed: int) -> None:
    left, right, _ = worlds.link(EXPAND, a, b, seed)
    assert worlds.pairs_of_a(left) == worlds.pairs_of_b(right) == worlds.textbook(a, b)


def test_an_expansion_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before a run as well, and not priced."""
    plain = EXPAND.model_dump(mode="json") | {"rule": "within(x, 1) and same(y)"}
    expand = Agreement.model_validate(plain)
    for side, sizes in ((Side.A, (10, 100_000_001)), (Side.B, (100_000_001, 10))):
        assert expand.protocol.refuse_sizes(expand.task, side, *sizes)
        assert not expand.protocol.refuse_sizes(expand.task, side, *(min(n, 100_000_000) for n in sizes))
    monkeypatch.setattr(intersection, "MOST_LINES", 24)
    rows = [(i, i) for i in range(5)]
    with pytest.raises(UsageError):
        worlds.link(EXPAND, rows, rows)


def test_messages_of_an_expansion_tell_table_sizes_alone() -> None:
    """Nine records with one ball: without numbering, its five values would each stand there nine times."""
    for sizes in ((4, 6), (6, 4), (5, 5)):
        require_one_shape(EXPAND, sizes)
    lines = lines_of(EXPAND, [(8, 8)] * 9, 1)
    assert len(lines) == 45
    for part in (lines[:, :12], lines[:, 12:]):
        assert len({row.tobytes() for row in part}) == 45
    tags = lines[:, :8].copy().view("<u8")[:, 0]
    assert (np.diff(tags.astype(object)) > 0).all()


LEAKY = ("blocking", "laplace-suppress")


@given(st.lists(st.integers(0, 3), max_size=20), st.integers(0, 99))
def test_slots_are_records_less_what_is_suppressed_and_dummies(xs: list[int], seed: int) -> None:
    agreed = worlds.agreement()
    records = worlds.records([(4 * x, 0) for x in xs], agreed)
    noise = np.random.default_rng(seed).integers(-3, 4, agreed.plan.bins)
    slots = suppress_slots(agreed.plan, Side.A, records, noise, Seeded(seed))
    true = agreed.plan.counts(Side.A, records.columns, len(xs))
    assert (slots.counts == np.maximum(0, true + noise)).all()
    real = [record for record in slots.record.tolist() if record >= 0]
    assert len(set(real)) == len(real)
    in_bin = np.repeat(np.arange(len(true)), slots.counts)
    dummies = np.bincount(in_bin[slots.record < 0], minlength=len(true))
    assert (dummies == np.maximum(noise, 0)).all()


@pytest.mark.parametrize("protocol", LEAKY)
def test_a_simulation_says_what_leaks(protocol: str) -> None:
    agreed = adjust(starter("products"), protocol=protocol)
    made = generate_products(300, None, 1)
    result = accord.simulate(made.a, made.b, agreed, seed=1)
    assert result.leaks == agreed.protocol.leaky
    assert set(result.promises.values()) == {Promised(None, None)}
    assert result.precision == 1.0
    assert (result.recall == 1.0) is (result.runs[0].dummies_a == 0) is (protocol == "blocking")
    assert (agreed.leakage(Side.A).epsilon, agreed.leakage(Side.A).delta) == (None, None)
    assert afterwards(agreed, Side.A, None, "patients", [], 0, Budget()) is None


# -- local DP: randomised response ---------------------------------------------------------------------------

ALPHA = 1e-6
EPSILON: dict[str, Any] = {"epsilon": "1"}
PUBLIC: dict[str, Any] = {"public": True}
POINT_RULE = "same(x) and within(y, 1)"


def agreement(
    window: int,
    a: dict[str, Any] = EPSILON,
    b: dict[str, Any] = EPSILON,
    rule: str = POINT_RULE,
    missing: str = "error",
    **options: Any,
) -> Agreement:
    """16 bins, by x."""
    plain = worlds.agreement(rule=rule).model_dump(mode="json")
    plain["blocking"] = [{"kind": "key", "field": "x"}]
    plain["fields"]["x"]["missing"] = missing
    plain["protocol"] = {"name": "local-dp", "A": a, "B": b, "window": window, **options}
    return Agreement.model_validate(plain)


def side(agreed: Agreement, which: Side, rows: worlds.Rows, entropy: Seeded, partner: int = 1) -> OwnSide:
    held, own = worlds.records(rows, agreed, which.value), entropy.stream(which.value)
    release = agreed.protocol.release(agreed.task, which, len(held))
    assert release.event is not None
    return prepare(agreed.task, which, held, partner, release.draw(held, own), own, (release.event,))


def options(agreed: Agreement) -> LocalDp:
    assert isinstance(agreed.protocol, LocalDp)
    return agreed.protocol


def link(agreed: Agreement, a: worlds.Rows, b: worlds.Rows, seed: int = 0) -> Any:
    entropy, engine = Seeded(seed), IdealEngine()
    own = side(agreed, Side.A, a, entropy, len(b)), side(agreed, Side.B, b, entropy, len(a))
    return run_pair(run(agreed.task, own[0], engine), run(agreed.task, own[1], engine))


def offsets(k: int, x: int, epsilon: float, start: int = 0) -> list[float]:
    """The probability of each offset, by the definition."""
    high = exp(epsilon) / (k - x + x * exp(epsilon))
    block = {(i - start) % k for i in range(x)}
    return [high if i in block else high / exp(epsilon) for i in range(k)]


def brute(a: list[float], b: list[float], window: int) -> float:
    """Σ_i Σ_{j<k'} p^A_i·p^B_{(i+j) mod k}."""
    k = len(a)
    return sum(a[i] * b[(i + j) % k] for i in range(k) for j in range(window))


SMALL = [(k, w, x) for k in range(1, 10) for w in range(1, k + 1) for x in range(1, w + 1)]


def test_the_shares_that_are_compared_are_those_of_brute_force() -> None:
    """Round the end, too, which the paper overlooks [MATHS §5.2]; of one public side it is the optimum."""
    wrapped = 0
    for k, w, x in SMALL:
        for a, b in (("1", "1"), ("0.1", "4")):
            expected = brute(offsets(k, x, float(a)), offsets(k, x, float(b)), w)
            assert float(compared(k, w, x, Fraction(a), Fraction(b))) == pytest.approx(expected, abs=1e-12)
        wrapped += x + w >= k + 2
        assert both_in_block(k, w, x) == sum((i + j) % k < x for i in range(x) for j in range(w))
        value, truth = compared_public(k, w, x, Fraction(2)), [1.0] + [0.0] * (k - 1)
        assert value == pytest.approx(brute(truth, offsets(k, x, 2.0), w), abs=1e-12)
        mirrored = offsets(k, x, 2.0, start=x - 1)
        assert value == pytest.approx(brute(mirrored, truth, w), abs=1e-12), "B public, A reports"
        best = w * exp(2) / (k - w + w * exp(2))
        assert value == pytest.approx(best) if x == w else value <= best + 1e-12
    assert wrapped > 30, "the cases that the paper's counts get wrong"
    assert both_in_block(4, 3, 3) == 7 != 3 * 4 // 2, "what the paper counts"


def test_the_best_spread_is_not_always_the_papers() -> None:
    """MATHS §5.3: at k = 8, k' = 2 and ε = 4 the paper takes x = k', which is worse."""
    four = Fraction(4), Fraction(4)
    assert [round(float(compared(8, 2, x, *four)), 3) for x in (1, 2)] == [0.818, 0.683]
    assert best_spread(8, 2, *four) == 1
    best = options(agreement(8)).likely(16)
    recalls = [options(agreement(8, spread=x)).expected_recall(16) for x in range(1, 9)]
    assert recalls[best - 1] == max(recalls)
    assert options(agreement(3, spread=2)).likely(16) == 2
    assert options(agreement(3, a=PUBLIC)).likely(16) == 3


@given(st.integers(2, 9), st.data(), st.fractions(Fraction(1, 10), 5, max_denominator=20))
def test_no_report_is_more_than_e_to_the_epsilon_more_likely(
    k: int, data: st.DataObject, epsilon: Fraction
) -> None:
    """Of the integers that are sampled, not of the formula they stand for."""
    response = Response(k, data.draw(st.integers(1, k - 1)), epsilon)
    block, rest = response.table
    assert block + rest == 1 << 256
    high, low = Fraction(block, response.spread), Fraction(rest, k - response.spread)
    assert low <= high <= Fraction(precisely(epsilon)) * low
    assert float(high / 2**256) == pytest.approx(float(response.high), rel=1e-12)


@pytest.mark.parametrize(
    ("bins", "spread", "epsilon", "start"), [(7, 3, 1, 0), (7, 3, 1, 2), (5, 5, 1, 0), (2, 1, "1/4", 0)]
)
def test_the_sampler_has_its_distribution(bins: int, spread: int, epsilon: Any, start: int) -> None:
    """χ² at a false-alarm rate of 1e-6 for each of the two: with a bin, and uniform without one."""
    from scipy import stats

    response, half = Response(bins, spread, Fraction(epsilon), start), 30_000
    true = np.repeat([-1, 1], half)
    found = report(response, true, Seeded(5))
    assert 0 <= found.min() <= found.max() < bins
    uniform = np.bincount(found[:half], minlength=bins)
    reported = np.bincount((found[half:] - 1) % bins, minlength=bins)
    expected = np.array(offsets(bins, spread, float(response.epsilon), start))
    assert stats.chisquare(uniform).pvalue > ALPHA
    assert stats.chisquare(reported, expected / expected.sum() * half).pvalue > ALPHA
    assert (report(Response(1, 1, Fraction(1)), true, Seeded(5)) == 0).all()


# -- reports in a ledger -----------------------------------------------------------------------------------

EVENT = Reports(Response(16, 3, Fraction(1)))
PEOPLE = Reports(Response(16, 3, Fraction(1)), 7)


def test_bytes_read_back_as_the_same_event(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the plug-in is loaded, and no other bytes."""
    numbers = (b"0", b"-1", b"1", b"21", b"2.0", b'"2"', b"true", b"null")
    changes = [(b'"spread":3', b'"spread":17'), (b"}", b',"more":3}')]
    changes += [(b'person":7', b'person":' + number) for number in numbers]
    for event in (PublicBins(), EVENT, PEOPLE, Reports(Response(16, 3, Fraction(3, 2), 2))):
        data = encode(event)
        assert decode(data) == event
        for other in {data.replace(*change) for change in changes} - {data}:
            with pytest.raises(UsageError):
                decode(other)
        with monkeypatch.context() as patch:
            patch.delitem(EVENTS, type(event).__name__)
            with pytest.raises(UsageError):
                decode(data)


def test_what_reports_cost() -> None:
    known = b'{"accord event":1,"bins":16,"epsilon":"1","kind":"Reports","spread":3,"start":0}'
    assert encode(EVENT) == known
    assert EVENT.cost == Reports(Response(16, 3, Fraction(1, 5)), 5).cost == Cost(Fraction(1), Fraction(0))
    assert PublicBins().cost is None
    assert [covered_records(event) for event in (EVENT, PEOPLE, PublicBins())] == [1, 7, None]
    assert promised([ExactAnswer(), PublicBins()]) is None
    # The owner could else be shown at no cost by whoever writes the agreement.
    with pytest.raises(BudgetError):
        check("d", Budget(Cost(Fraction(9), Fraction(0))), [], 0, PublicBins())
    check("d", Budget(), [], 0, PublicBins())


def test_reports_compose_exactly() -> None:
    """Twice the same reports: at most 2ε, and at each smaller ε the δ of the two responses convolved.
    Reports of a person are as many reports."""
    response, small = Response(8, 2, Fraction(1)), Response(8, 2, Fraction(1, 3))
    high, low = 2 * float(response.high), 2 * float(response.low)
    middle = 2 * high * (1 - high - low)
    total = compose([Reports(response)] * 2)
    for epsilon, delta in ((1.5, 0.0), (0.5, middle * (1 - exp(0.5 - 1)))):
        expected = high * high * (1 - exp(epsilon - 2)) + delta
        assert total.delta(Fraction(epsilon)) == pytest.approx(expected, rel=1e-9)
    assert total.delta(Fraction(2)) < 1e-80
    assert basic([Reports(response)] * 2) == Cost(Fraction(2), Fraction(0))
    assert spent([Reports(response), Intersection(), PublicBins()], Fraction(1, 10**6)) <= 1.0
    person, single = compose([Reports(small, 3)]), compose([Reports(small)] * 3)
    deltas = [[total.delta(Fraction(n, 8)) for n in range(8)] for total in (person, single)]
    assert deltas[0] == pytest.approx(deltas[1], rel=1e-12)
    assert basic([Reports(small, 3)]) == Cost(Fraction(1), Fraction(0))


# -- the protocol --------------------------------------------------------------------------------------------


point_tables = st.lists(points, max_size=15) | st.lists(
    st.tuples(st.integers(3, 4), st.integers(3, 5)), max_size=9
)


@given(point_tables, point_tables, st.integers(0, 99), st.integers(1, 16), st.booleans())
def test_a_window_finds_the_matches_among_the_reports_that_it_compares(
    a: worlds.Rows, b: worlds.Rows, seed: int, window: int, candidates: bool
) -> None:
    """Without greedy, and with greedy that is bound to candidates, exactly those. All bins find all."""
    chosen: dict[str, Any] = {"rule": f"not not ({POINT_RULE})"} if candidates else {"greedy": False}
    agreed = agreement(window, **chosen)
    left, right = link(agreed, a, b, seed)
    entropy, bins = Seeded(seed), []
    for which, rows in ((Side.A, a), (Side.B, b)):
        slots = side(agreed, which, rows, entropy).slots
        of = np.zeros(len(rows), np.int64)
        of[slots.record] = np.repeat(np.arange(16), slots.counts)
        bins.append(of)
    near = [
        (i, j) for i, p in enumerate(a) for j, q in enumerate(b) if p[0] == q[0] and abs(p[1] - q[1]) <= 1
    ]
    met = [(i, j) for i, j in near if (bins[1][j] - bins[0][i]) % 16 < window]
    assert worlds.pairs_of_b(right) == worlds.pairs_of_a(left)
    # A match that is a candidate is found when its records are disclosed, by whatever match.
    assert set(worlds.pairs_of_a(left)) == set(met)
    assert left.dummies == right.dummies == 0
    assert left.comparisons == right.comparisons <= len(a) * len(b)
    if window == 16:
        assert met == near
        assert candidates or left.comparisons == len(a) * len(b)
    index, _ = link(agreement(16), a, b, seed)
    assert worlds.pairs_of_a(index) == near, "greedy by an index compares all bins"


STRATEGIES: dict[str, dict[str, Any]] = {
    "basic": {"window": 3, "spread": 1},
    "x": {"window": 4, "spread": 3},
    "best": {"window": 6, "a": {"epsilon": "3"}, "b": {"epsilon": "2"}},
    "A public": {"window": 4, "a": PUBLIC},
    "B public": {"window": 4, "b": PUBLIC},
    "round the end": {"window": 14, "spread": 9},
}


@pytest.mark.parametrize(
    ("name", "runs"),
    # Fast the one that is told apart in most ways, and fewer runs of it.
    [("round the end", 8), *(pytest.param(name, 25, marks=pytest.mark.slow) for name in STRATEGIES)],
)
def test_measured_recall_is_the_formulas(name: str, runs: int) -> None:
    """240 matches of one record each in a run; 4.9 deviations are a false-alarm rate below 1e-6 for each."""
    agreed = agreement(greedy=False, rule="same(x) and same(y)", **STRATEGIES[name])
    rows = [(i, j) for i in range(16) for j in range(15)]
    found = sum(len(link(agreed, rows, rows, seed)[0].own) for seed in range(runs))
    expected, tried = options(agreed).expected_recall(16), runs * len(rows)
    assert 0 < expected < 1
    assert abs(found / tried - expected) < 4.9 * sqrt(expected * (1 - expected) / tried)


def test_reports_of_a_release_are_named_by_how_they_are_drawn() -> None:
    def key(agreed: Agreement, which: Side = Side.A) -> bytes | None:
        release = agreed.protocol.release(agreed.task, which, 5)
        assert release.event is not None
        return Ask("r", "d", "p", b"", release.place, release.event, Snapshot("s", b"")).key

    agreed = agreement(3)
    assert options(agreed).likely(16) != 2
    others = [key(agreed, Side.B), key(agreement(3, a={"epsilon": "2"})), key(agreement(3, spread=2))]
    assert len({key(agreed), *others}) == 4
    salted = agreed.model_copy(update={"salt": "11111111"})
    assert key(salted) == key(agreed), "no text is hashed with it"
    assert key(agreement(3, a=PUBLIC)) is None


def test_stored_reports_need_no_fresh_noise_and_must_fit_the_table() -> None:
    agreed = agreement(3)
    held = worlds.records([(1, 1), (2, 2)], agreed)
    release = agreed.protocol.release(agreed.task, Side.A, len(held))
    assert len(release.draw(held, Seeded(1))) == 2
    with pytest.raises(SpentError):
        release.draw(held, Spent())
    for wrong in (np.zeros(3, np.int64), np.array([0, 16]), np.array([-1, 0])):
        with pytest.raises(UsageError):
            prepare(agreed.task, Side.A, held, 1, wrong, Seeded(1))


def test_messages_depend_on_reports_and_output_alone() -> None:
    """Two point_tables of B that differ in a record without a match; the same reports give the same shape."""
    agreed, shapes = agreement(4), []
    for other in ((9, 9), (2, 14)):
        own_a = side(agreed, Side.A, [(5, 5), (6, 1)], Seeded(1), 2)
        held = worlds.records([(5, 5), other], agreed, "B")
        own_b = prepare(agreed.task, Side.B, held, 2, np.array([5, 7]), Seeded(2))
        seen = views(agreed.task, own_a, own_b, IdealEngine())[Side.A]
        sizes = seen.sent, tuple(map(len, seen.received))
        shapes.append((*sizes, seen.received[1][32:], seen.outcome.comparisons))
    assert shapes[0] == shapes[1]


def test_a_partner_with_another_number_of_reports_than_records_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In what it announces, and in what it discloses of a record."""
    agreed, entropy = agreement(4), Seeded(1)
    own_a = side(agreed, Side.A, [(5, 5)], entropy)
    held = worlds.records([(5, 5)], agreed, "B")
    slots = shuffle_slots(np.array([0, -1]), np.array([5, 6]), 16, held, entropy)
    own_b = OwnSide(Side.B, held, 1, slots, entropy)
    with pytest.raises(PeerError):
        run_pair(run(agreed.task, own_a, IdealEngine()), run(agreed.task, own_b, IdealEngine()))
    true = GreedyClean._disclosure

    def disclosure(own: GreedyClean, records: np.ndarray) -> Any:
        told = true(own, records)
        if own._mine.side is Side.A or not len(told):
            return told
        every = np.arange(len(own._mine.slots.record))
        return replace(told, slot_counts=np.array([len(every)]), slots=every)

    monkeypatch.setattr(GreedyClean, "_disclosure", disclosure)
    with pytest.raises(PeerError):
        link(agreement(16), [(5, 5)], [(5, 5), (9, 9)])
