"""The laboratory's protocols beyond the contract: agreements, PSI with expansion, and those that leak."""

from __future__ import annotations

from fractions import Fraction
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import accord
from accord.agreement.adjusting import adjust
from accord.agreement.document import Agreement
from accord.agreement.file import parse_agreement, require_sound
from accord.datasets.products import generate_products
from accord.datasets.starter import starter, starter_text
from accord.entropy import Seeded
from accord.errors import AgreementError, UsageError
from accord.fields.schema import NumberField, TextField
from accord.forecast.promises import afterwards
from accord.planning.recall import recall_of
from accord.planning.variants import other_protocols
from accord.privacy.budget import Budget
from accord.protocols import intersection
from accord.protocols.intersection import values_of
from accord.rules.evaluate import Tables
from accord.rules.join import full_join
from accord.rules.rule import Euclidean, Hamming, Rule, Same, Within
from accord.rules.text import parse_rule
from accord.rules.words import same, within
from accord.side import Side
from accord.simulation.pair import Promised
from reproduction.local import local_dp
from reproduction.places import places_text
from reproduction.protocols.balls import Balls, expansion, names_of
from reproduction.protocols.leaky import suppress_slots
from reproduction.protocols.local_dp import LocalDp
from tests.protocols import worlds
from tests.protocols.views import lines_of, require_one_shape
from tests.reproduction.worlds import plugged
from tests.rules import worlds as world

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


def test_a_plan_chooses_among_what_is_built_in() -> None:
    """So that both sides come to the same, whatever one of them has loaded."""
    assert {each.protocol.name for each in other_protocols(starter("products"))} == {"all-pairs"}


def test_simulated_by_name() -> None:
    """Recall is measured against the rule of the agreement."""
    made, agreed = generate_products(300, None, 1), starter("products")
    full = accord.simulate(made.a, made.b, agreed)
    close = agreed.model_copy(update={"rule": accord.same("day") & (accord.hamming("name") <= 1)})
    expanded = accord.simulate(made.a, made.b, adjust(close, protocol="psi-expand"))
    assert expanded.recall == expanded.precision == 1.0
    assert expanded.comparisons == 300 + 300 * 51
    few, every = (
        accord.simulate(
            made.a, made.b, local_dp(agreed, {"window": w, "epsilon": "4", "sides": "both"}), seed=1
        )
        for w in (62, 496)
    )
    assert {(each.epsilon, each.delta) for each in few.promises.values()} == {(4.0, 0.0)}
    assert 0 < few.recall < 1.0
    assert few.runs[0].dummies_a == 0
    assert every.matches == full.matches
    assert every.comparisons == every.all_pairs
    reports = adjust(agreed, protocol="local-dp", epsilon="3")
    assert isinstance(reports.protocol, LocalDp)
    expected = reports.protocol.expected_recall(reports.plan.bins)
    assert recall_of(reports.task, 1.0) == pytest.approx(expected), "what a plan expects"


DEGREE = NumberField(type="number", min=Fraction(0), max=Fraction(1), step=Fraction(1, 10**6))
TAXI = dict.fromkeys(("lat", "lon", "up"), DEGREE)
PAPER = {"name": TextField.model_validate({"type": "text", "encoder": "paper"})}


@pytest.mark.parametrize(
    ("rule", "size", "records", "cost"),
    [
        ("hamming(name) <= 5", 2_369_936, 5_000, 2.54e10),
        ("hamming(name) <= 5", 2_369_936, 80_000, 4.60e11),
        # The whole points of a disc of radius 1000, which π·1000² estimates.
        ("euclidean(lat, lon) <= 0.001", 3_141_549, 300_000, 2.39e12),
    ],
)
def test_the_expansions_of_the_paper(rule: str, size: int, records: int, cost: float) -> None:
    """MATHS §14.2: the cost of PSI+X is γ·n·ln ln n."""
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


@pytest.mark.parametrize("sizes", [(4, 6), (6, 4), (5, 5)])
def test_sizes_of_messages_depend_on_table_sizes_and_output_alone(sizes: tuple[int, int]) -> None:
    require_one_shape(EXPAND, sizes)


def test_records_that_share_values_have_unlike_lines_in_the_order_of_their_tags() -> None:
    """Nine records with one ball: without numbering, its five values would each stand there nine times."""
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
def test_no_agreement_may_name_what_leaks_and_a_simulation_says_so(protocol: str) -> None:
    agreed = adjust(starter("products"), protocol=protocol)
    for refused in (lambda: require_sound(agreed), lambda: parse_agreement(agreed.to_toml())):
        with pytest.raises(AgreementError):
            refused()
    made = generate_products(300, None, 1)
    result = accord.simulate(made.a, made.b, agreed, seed=1)
    assert result.leaks == agreed.protocol.leaky
    assert set(result.promises.values()) == {Promised(None, None)}
    assert result.precision == 1.0
    assert (result.recall == 1.0) is (result.runs[0].dummies_a == 0) is (protocol == "blocking")
    assert (agreed.leakage(Side.A).epsilon, agreed.leakage(Side.A).delta) == (None, None)
    assert afterwards(agreed, Side.A, None, "patients", [], 0, Budget()) is None
