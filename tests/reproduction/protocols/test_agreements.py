"""The laboratory's protocols in an agreement, in what is told of it, in a simulation and in a plan."""

from __future__ import annotations

from fractions import Fraction

import pyarrow as pa
import pytest

import accord
from accord.agreement.adjusting import adjust
from accord.agreement.disclosure import advice, learned_about
from accord.agreement.document import Agreement
from accord.agreement.file import parse_agreement
from accord.datasets.products import generate_products
from accord.datasets.starter import starter
from accord.errors import AgreementError, TooManyMatchesError, UsageError
from accord.forecast.promises import afterwards, side_facts
from accord.planning.recall import recall_of
from accord.planning.variants import other_protocols
from accord.privacy.budget import Budget
from accord.privacy.events import Cost
from accord.side import Side
from reproduction.audit.cases import built_in, options
from reproduction.local import local_dp
from reproduction.places import places_text
from reproduction.protocols.local_dp import LocalDp, LocalSide
from tests.agreement.faulty import faults
from tests.agreement.test_disclosure import of_protocol
from tests.agreement.test_file_meaning import changed, with_passes
from tests.protocols import worlds
from tests.protocols.parts.test_bound import A_ROWS, B_ROWS

LOCAL = "[protocol.A]\nepsilon = 1\n[protocol.B]\nepsilon = 1"
ONE = 'name = "local-dp"\nwindow = 1'
FUZZY = "same(day) and same(brand) and hamming(name) <= 5"
LEAKY = ("blocking", "laplace-suppress")


def test_sound_agreements_read_back() -> None:
    sides = "\n[protocol.A]\nepsilon = 1.6\n[protocol.B]\npublic = true"
    for text in (
        changed('name = "psi-expand"', "same(day) and hamming(name) <= 3", blocking=False),
        changed(f'name = "local-dp"\nwindow = 8{sides}'),
        changed(f'name = "local-dp"\nwindow = 8\nspread = 2\ngreedy = false{sides}'),
    ):
        agreed = parse_agreement(text)
        again = parse_agreement(agreed.to_toml())
        assert again == agreed
        assert again.digest == agreed.digest


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (changed('name = "psi-expand"', "dice(name) >= 0.9", blocking=False), "psi-expand cannot list"),
        (changed('name = "psi-expand"', "not same(day)", blocking=False), "psi-expand cannot list"),
        (changed('name = "psi-expand"', "hamming(name) <= 9", blocking=False), "3,160,457,386 values"),
        (changed('name = "psi-expand"', "same(day) and within(day, 2 days)", blocking=False), "field once"),
        (changed(f'name = "local-dp"\nwindow = 1\n{LOCAL}', blocking=False), "local-dp needs a blocking"),
        (changed(f'name = "local-dp"\nwindow = 497\n{LOCAL}'), "at most the 496 bins"),
        (changed(f'name = "local-dp"\nwindow = 2\nspread = 3\n{LOCAL}'), "spread must be at most the window"),
        (changed(f'name = "local-dp"\nwindow = 0\n{LOCAL}'), "greater than or equal to 1"),
        (changed(f'name = "local-dp"\n{LOCAL}'), "'window' is missing"),
        (changed(f'name = "local-dp"\nwindw = 1\n{LOCAL}'), "Did you mean 'window'?"),
        (
            changed(f"{ONE}\n[protocol.A]\npublic = true\n[protocol.B]\npublic = true"),
            "protects nothing if both sides are public",
        ),
        (
            changed(f"{ONE}\n[protocol.A]\n[protocol.B]\nepsilon = 1"),
            "needs either epsilon, or public = true",
        ),
        (
            changed(f"{ONE}\n[protocol.A]\npublic = true\nepsilon = 1\n[protocol.B]\nepsilon = 1"),
            "needs either epsilon, or public = true",
        ),
        (changed('name = "blocking"'), "blocking leaks, so no agreement may name it"),
        (changed('name = "laplace-suppress"\nepsilon = 1'), "laplace-suppress leaks"),
    ],
)  # fmt: skip
def test_what_a_protocol_needs(text: str, problem: str) -> None:
    found = [fault for fault in faults(text) if problem in fault]
    assert len(found) == 1, faults(text)
    assert found[0].startswith("line ")


def test_local_dp_takes_no_passes_and_no_grid() -> None:
    passes = with_passes()
    head, rest = passes[: passes.index("[protocol]")], passes[passes.index("# What each side") :]
    assert any(
        "local-dp has one report per record" in f for f in faults(f"{head}[protocol]\n{ONE}\n{LOCAL}\n{rest}")
    )
    text = places_text()
    head, rest = text[: text.index("[protocol]")], text[text.index("# What each side") :]
    assert any("block by key alone" in f for f in faults(f"{head}[protocol]\n{ONE}\n{LOCAL}\n{rest}"))


@pytest.mark.parametrize(
    ("protocol", "options"),
    [
        ("psi-expand", {"prune": 5}),
        ("local-dp", {"delta": "1e-5"}),
        ("laplace-suppress", {"greedy": True}),
        ("blocking", {"epsilon": "1"}),
    ],
)
def test_options_that_a_protocol_does_not_have(protocol: str, options: dict[str, str]) -> None:
    with pytest.raises(UsageError, match=f"{protocol} has no option {next(iter(options))}"):
        adjust(starter("products"), protocol=protocol, **options)  # type: ignore[arg-type]


def test_the_schema_knows_them() -> None:
    assert {"LocalDp", "PsiExpand", "LocalSide"} <= set(Agreement.model_json_schema()["$defs"])


def test_a_plan_chooses_among_what_is_built_in() -> None:
    """So that both sides come to the same, whatever one of them has loaded."""
    assert {one.protocol.name for one in other_protocols(starter("products"))} == {"all-pairs"}


# -- what is told of them -----------------------------------------------------------------------------------


def test_local_dp_tells_reports_or_public_bins() -> None:
    sides = "[protocol.A]\nepsilon = 1.6\n[protocol.B]\npublic = true"
    text = of_protocol(f'name = "local-dp"\nwindow = 8\n{sides}', "same(day) and hamming(name) <= 5", True)
    agreed = parse_agreement(text)
    about_a, about_b = (" ".join(learned_about(agreed, side)) for side in Side)
    assert "reported by randomised response: ε = 1.6 for each record that matches nothing" in about_a
    assert "for each record that matches: the bin that it reports" in about_a
    assert "into which of 496 bins each record falls: the agreement calls that public" in about_b
    assert any("7.5% are compared on average" in note for note in advice(agreed)), advice(agreed)
    told = agreed.leakage(Side.A), agreed.leakage(Side.B)
    assert [one.bins for one in told] == [496, 496]
    assert (told[0].epsilon, told[0].delta) == (Fraction("1.6"), Fraction(0))
    assert (told[1].epsilon, told[1].delta) == (None, None)


def test_whom_the_promise_of_local_dp_is_for() -> None:
    local = 'name = "local-dp"\nwindow = 2\nA = {epsilon = 1, records_per_person = 4}\nB = {epsilon = 1}'
    agreed = parse_agreement(of_protocol(local, FUZZY, True))
    about_a, about_b = (" ".join(learned_about(agreed, side)) for side in Side)
    assert "ε = 1 for each person with up to 4 records, none of which matches anything;" in about_a
    assert "ε = 1 for each record that matches nothing;" in about_b
    assert LocalSide(public=True).model_dump(mode="json", exclude_none=True) == {"public": True}
    person = LocalSide(epsilon=Fraction(2), records_per_person=4)
    assert LocalSide.model_validate(person.model_dump(mode="json")) == person


@pytest.mark.parametrize("name", LEAKY)
def test_of_a_protocol_that_leaks_nobody_says_that_nothing_else_is_learnt(name: str) -> None:
    agreed = adjust(starter("products"), protocol=name)
    lines = learned_about(agreed, Side.A)
    assert "how many records fall into each of 496 bins" in lines[1]
    assert lines[-1] == agreed.protocol.leaky
    assert not any(line.startswith("nothing else") for line in lines)
    assert lines[1].startswith("exactly") == (name == "blocking")


def test_the_facts_of_local_dp_and_of_what_promises_nothing() -> None:
    local = side_facts(built_in(options("local-dp", "0.5", ""))[0].agreement, Side.A, None)
    assert (local.cost, local.noise) == (Cost(Fraction(1, 2), Fraction(0)), None)
    assert local.again is not None
    assert local.again.sums == Cost(Fraction(5), Fraction(0))
    leaky = built_in(options("blocking", "", ""))[0].agreement
    facts = side_facts(leaky, Side.A, 10)
    assert (facts.cost, facts.again, facts.warnings) == (None, None, ())
    assert afterwards(leaky, Side.A, None, "patients", [], 0, Budget()) is None


# -- a run, and a plan of it --------------------------------------------------------------------------------


def _table(rows: worlds.Rows, prefix: str) -> pa.Table:
    x, y = zip(*rows, strict=True)
    return pa.table({"id": [f"{prefix}{i}" for i in range(len(rows))], "x": x, "y": y})


@pytest.mark.parametrize("greedy", [False, True])
def test_local_dp_keeps_the_bound_on_records_that_are_shown(greedy: bool) -> None:
    made = worlds.agreement().model_dump() | {"blocking": [{"kind": "key", "field": "x"}]}
    local = {"name": "local-dp", "window": 16, "A": {"epsilon": "2"}, "B": {"epsilon": "1"}, "greedy": greedy}
    agreed = Agreement.model_validate(made | {"protocol": local})
    a, b = _table(A_ROWS, "A"), _table(B_ROWS, "B")
    assert accord.simulate(a, b, agreed, seed=1).matches == 5
    low = Agreement.model_validate(agreed.model_dump() | {"most_matches": {"B": 4}})
    with pytest.raises(TooManyMatchesError):
        accord.simulate(a, b, low, seed=1)


def test_simulated_by_name() -> None:
    """Recall is measured against the rule of the agreement."""
    made = generate_products(300, None, 1)
    agreed = starter("products")
    full = accord.simulate(made.a, made.b, agreed)
    close = agreed.model_copy(update={"rule": accord.same("day") & (accord.hamming("name") <= 1)})
    expanded = accord.simulate(made.a, made.b, adjust(close, protocol="psi-expand"))
    assert expanded.recall == expanded.precision == 1.0
    assert expanded.comparisons == 300 + 300 * 51
    local = local_dp(agreed, {"window": 62, "epsilon": "4", "sides": "both"})
    few = accord.simulate(made.a, made.b, local, seed=1)
    assert {(one.epsilon, one.delta) for one in few.promises.values()} == {(4.0, 0.0)}
    assert 0 < few.recall < 1.0
    assert few.runs[0].dummies_a == 0
    every = accord.simulate(
        made.a, made.b, local_dp(agreed, {"window": 496, "epsilon": "4", "sides": "both"})
    )
    assert every.matches == full.matches
    assert every.comparisons == every.all_pairs


def test_reports_are_compared_as_often_as_their_file_says() -> None:
    agreed = adjust(starter("products"), protocol="local-dp", epsilon="3")
    assert isinstance(agreed.protocol, LocalDp)
    assert recall_of(agreed.task, 1.0) == pytest.approx(agreed.protocol.expected_recall(agreed.plan.bins))


def test_more_values_than_a_store_holds_are_refused_and_not_priced() -> None:
    plain = worlds.agreement(protocol="psi", rule="same(x)").model_dump(mode="json")
    changes = {"protocol": {"name": "psi-expand"}, "rule": "within(x, 1) and same(y)"}
    expand = Agreement.model_validate(plain | changes)
    for side, sizes in ((Side.A, (10, 100_000_001)), (Side.B, (100_000_001, 10))):
        problem = expand.protocol.refuse_sizes(expand.task, side, *sizes)
        assert problem.startswith("psi-expand would ask for 100,000,001 values, more than 100,000,000.")
        assert not expand.protocol.refuse_sizes(expand.task, side, *(min(n, 100_000_000) for n in sizes))


def test_without_the_plug_in_it_is_the_ordinary_error(monkeypatch: pytest.MonkeyPatch) -> None:
    from accord.protocols.registry import PROTOCOLS

    monkeypatch.delitem(PROTOCOLS, "local-dp")
    with pytest.raises(AgreementError, match=r"'local-dp' is not known here\. Known are 'laplace'"):
        parse_agreement(changed(f"{ONE}\n{LOCAL}"))
