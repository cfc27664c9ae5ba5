"""Whatever agreement is sound can be explained, planned and linked: every encoder, at many sizes."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
import tomli_w
from hypothesis import given, settings
from hypothesis import strategies as st

from accord.agreement.disclosure import alone
from accord.agreement.file import parse_agreement
from accord.errors import AgreementError
from accord.planning.plan import PlanQuestion, agreed_network, make_plan, price_agreed
from accord.simulation.pair import simulate

ROWS = 6


@st.composite
def letters(draw: st.DrawFn) -> tuple[dict[str, Any], list[str], list[str]]:
    """A field of letters: how it is written, its cells, and rules over it."""
    alphabet = draw(st.sampled_from(["0123456789", "ab", "a", "abcdefghijklmnopqrstuvwxyz", "01234"]))
    length = draw(st.integers(1, 12))
    cells = draw(st.lists(st.text(alphabet, min_size=1, max_size=length), min_size=ROWS, max_size=ROWS))
    spec = {"type": "text", "encoder": {"kind": "letters", "length": length, "alphabet": alphabet}}
    return spec, cells, ["edit({}) <= 1", "mismatches({}) <= 1", "same({})"]


@st.composite
def filters(draw: st.DrawFn) -> tuple[dict[str, Any], list[str], list[str]]:
    of = {
        "kind": "bloom",
        "bits": draw(st.sampled_from([8, 50, 63, 64, 65, 200])),
        "grams": draw(st.integers(1, 3)),
    }
    encoder: Any = draw(st.sampled_from(["hash", of | {"hashes": draw(st.integers(1, 3))}]))
    cells = draw(
        st.lists(st.text("abc ", min_size=1, max_size=9).map(lambda t: f"x{t}"), min_size=ROWS, max_size=ROWS)
    )
    rules = (
        ["same({})"] if encoder == "hash" else ["dice({}) >= 0.75", "jaccard({}) >= 0.3", "hamming({}) <= 3"]
    )
    return {"type": "text", "encoder": encoder}, cells, rules


@st.composite
def numbers(draw: st.DrawFn) -> tuple[dict[str, Any], list[str], list[str]]:
    most = draw(st.integers(0, 300))
    cells = draw(st.lists(st.integers(0, most), min_size=ROWS, max_size=ROWS))
    spec = {"type": "number", "min": 0, "max": most, "step": draw(st.sampled_from(["1", "0.5"]))}
    return spec, [str(cell) for cell in cells], ["same({})", "within({}, 1)"]


@st.composite
def categories(draw: st.DrawFn) -> tuple[dict[str, Any], list[str], list[str]]:
    values = [f"v{i}" for i in range(draw(st.integers(1, 17)))]
    cells = draw(st.lists(st.sampled_from(values), min_size=ROWS, max_size=ROWS))
    return {"type": "category", "values": values, "other": "bin"}, cells, ["same({})"]


@st.composite
def worlds(draw: st.DrawFn) -> tuple[str, pa.Table]:
    """An agreement over one to three fields, in words, and a table that fits it."""
    kinds = draw(st.lists(st.one_of(letters(), filters(), numbers(), categories()), min_size=1, max_size=3))
    fields, parts, cells = {}, [], {}
    for place, (spec, column, rules) in enumerate(kinds):
        name = f"f{place}"
        fields[name] = spec | {"missing": draw(st.sampled_from(["differs", "error"]))}
        parts.append(draw(st.sampled_from(rules)).format(name))
        cells[name] = column
    joined = draw(st.sampled_from([" and ", " or "])).join(parts)
    promise = {"epsilon": "4", "delta": "1e-3", "noise": "geometric"}
    buckets = draw(st.integers(2, 5))
    blocked = draw(st.booleans())
    protocol = {"name": "laplace", "A": promise, "B": promise} if blocked else {"name": "all-pairs"}
    key = {"kind": "key", "field": "f0", "buckets": buckets}
    plain = {
        "version": 2, "salt": "00000000", "parties": {"A": "a1", "B": "b1"}, "fields": fields, "rule": joined,
        "blocking": [key] if blocked else [], "protocol": protocol | {"greedy": False},
        "disclose": {"A": [], "B": []}, "engine": "ot",
    }  # fmt: skip
    table = pa.table({"id": [f"r{i}" for i in range(ROWS)], **cells})
    return tomli_w.dumps(plain), table


SIZES = st.integers(1, 10_000_000)


def go(world: tuple[str, pa.Table], sizes: tuple[int, int], *, linked: bool) -> None:
    text, table = world
    try:
        agreed = parse_agreement(text)
    except AgreementError:
        # Such as a bound that no two values can pass: it is told, and no plan is asked for.
        return
    alone(agreed)
    question = PlanQuestion(sizes, agreed_network(agreed))
    assert price_agreed(agreed, question).agreed.usual > 0
    assert make_plan(agreed, question).why
    if linked:
        result = simulate(table, table, agreed, engine="ot", seed=1)
        assert result.recall == 1.0 or agreed.passes


@settings(max_examples=4)
@given(worlds(), st.tuples(st.integers(1, 100_000), st.integers(1, 100_000)))
def test_what_is_sound_is_explained_and_planned(world: tuple[str, pa.Table], sizes: tuple[int, int]) -> None:
    go(world, sizes, linked=False)


@pytest.mark.slow
@settings(max_examples=60)
@given(worlds(), st.tuples(SIZES, SIZES))
def test_what_is_sound_is_explained_planned_and_linked(
    world: tuple[str, pa.Table], sizes: tuple[int, int]
) -> None:
    go(world, sizes, linked=True)
