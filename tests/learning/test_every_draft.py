"""Every kind of evidence teaches every kind of draft, in every mode that compares."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from accord.agreement.document import Agreement
from accord.agreement.file import parse_agreement
from accord.datasets.generated import Generated
from accord.drafting.answers import Answers, in_order, name_fields
from accord.drafting.draft import _text
from accord.drafting.how import write_all_pairs, write_passes
from accord.drafting.kinds import read_kind
from accord.drafting.made_up import make_up
from accord.drafting.passes import DraftPass, Grid, Key
from accord.drafting.rules import sketch_rule
from accord.learning import evidence, learn

ROWS = 300
MIXES = {
    "people": ("given surname birth street city phone", ("surname_sound", "birth_year")),
    "people in codes": ("name birth_year sex identifier category:ethnicity yesno", ("name_sound",)),
    "copies": ("given surname birth postcode", ("surname_sound", "given_sound")),
    "things": ("text category:brand price identifier", ("text_start", "brand")),
    "places": ("text:name latitude longitude date", ("name_start",)),
    "many fields": (
        "given middle surname birth sex street city postcode phone email identifier "
        "category:race category:county category:party category:status category:birth_place category:district "
        "text:employer text:occupation number:height number:income date:registered yesno",
        ("surname_sound", "birth_year"),
    ),
}
MODES = ("all pairs", "bins", "sorted", "greedy", "routed")
WAYS = ("nothing", "labels", "listed", "looks")
CELLS = Grid(Fraction(10), "0.01")
ALL = list(product(MIXES, MODES, WAYS))
SOME = [
    (mix, MODES[(at + turn) % len(MODES)], way)
    for at, mix in enumerate(MIXES)
    for turn, way in enumerate(WAYS)
]
"""Every mix and every mode with every way."""


@pytest.fixture(autouse=True)
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "_MOST_PAIRS", 40_000)
    monkeypatch.setattr(evidence, "_MADE_UP", 200)


@cache
def answers(mix: str) -> Answers:
    typed = [read_kind(one) for one in MIXES[mix][0].split()]
    copies = (3, 2) if mix == "copies" else (1, 1)
    return Answers(in_order(name_fields(typed)), (ROWS, ROWS), copies=copies)


@cache
def draft(mix: str, mode: str) -> Agreement:
    keys = MIXES[mix][1]
    parts: list[Key | Grid] = [*(Key((name,), 5) for name in keys), *([CELLS] if mix == "places" else [])]
    passes = "".join(DraftPass(f"pass {number}", (part,)).text for number, part in enumerate(parts))
    how = write_all_pairs() if mode == "all pairs" else write_passes(passes)
    if mode == "sorted":
        how = how.replace("prune = 0 ", "prune = 20 ")
    if mode == "greedy":
        how = how.replace("greedy = false", "greedy = true")
    if mode == "routed":
        how = passes.replace(", buckets = 5", "") + '[protocol]\nname = "routed"\ncap = 3\n'
    text = _text(answers(mix), sketch_rule(answers(mix)), how, keys, "00000000")
    if mode == "greedy":
        fields = [one.name for one in answers(mix).fields]
        text = text.replace("\nA = []\nB = []\n", f"\nA = {fields}\nB = {fields}\n".replace("'", '"'))
    return parse_agreement(text)


@cache
def tables(mix: str) -> Generated:
    made = make_up(answers(mix).fields, answers(mix).map_)
    a, b = made.a.slice(0, ROWS), made.b
    known = pc.is_in(made.truth["id_a"], value_set=a["id"].combine_chunks())
    truth = made.truth.filter(known)
    rows = pc.is_in(b["id"], value_set=truth["id_b"].combine_chunks())
    others = b.filter(pc.invert(rows)).slice(0, ROWS - len(truth))
    b = pa.concat_tables([b.filter(rows), others])
    if mix == "copies":
        again = a.slice(0, 50).set_column(
            0, "id", pc.binary_join_element_wise(a["id"].slice(0, 50), "x", "-")
        )
        a = pa.concat_tables([a, again])
    return Generated(a, b, truth)


def given(way: str, made: Generated) -> Mapping[str, Any]:
    if way == "nothing":
        return {}
    both = {"table": made.a, "other": made.b, "learnt_from": "public"}
    if way == "looks":
        return both
    labels = made.truth.select(["id_a", "id_b"])
    if way == "listed":
        moved = pa.table({"id_a": labels["id_a"].slice(1), "id_b": labels["id_b"].slice(0, len(labels) - 1)})
        said = pa.array(["1"] * len(labels) + ["0"] * len(moved))
        labels = pa.concat_tables([labels, moved]).append_column("match", said)
    return {**both, "labels": labels}


@pytest.mark.parametrize(
    ("mix", "mode", "way"),
    [*SOME, *(pytest.param(*one, marks=pytest.mark.slow) for one in ALL if one not in SOME)],
)
def test_it_is_learnt_from(mix: str, mode: str, way: str) -> None:
    agreed = draft(mix, mode)
    found = learn.learn(agreed, **given(way, tables(mix)))
    assert found.agreement.protocol == agreed.protocol
    assert 0 < found.expected.f1 <= 1


def test_keys_that_only_matches_share_leave_all_pairs_to_learn_from() -> None:
    draft = parse_agreement(
        'version = 2\nsalt = "00000000"\nengine = "ot"\nrule = "score(dice(name) >= 0.8 -> 1) >= 1"\n'
        '[parties]\nA = "one"\nB = "two"\n[[blocking.pass]]\nparts = [{ kind = "key", field = "number" }]\n'
        'cap = 1\n[protocol]\nname = "routed"\n[fields.number]\ntype = "text"\nencoder = "hash"\n'
        '[fields.name]\ntype = "text"\nencoder = "paper"\n',
        "the draft",
    )
    numbers = [*map(str, range(60))]
    names = [f"{chr(97 + n % 26) * 3}{chr(97 + n // 26) * 3}" for n in range(60)]
    tables = [
        pa.table({"id": [f"{side}{n}" for n in numbers], "number": numbers, "name": names}) for side in "ab"
    ]
    labels = pa.table({"id_a": tables[0]["id"], "id_b": tables[1]["id"]})
    learnt = learn.learn(draft, tables[0], other=tables[1], labels=labels, learnt_from="A")
    assert "dice(name)" in str(learnt.rule)
