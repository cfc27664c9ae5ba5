"""What a steward reads before signing follows from the agreement."""

from __future__ import annotations

from accord.agreement_file import parse_agreement
from accord.datasets.starter import starter, starter_text
from accord.disclosure import advice, learned_about
from accord.secure.circuit import Side

TEXT = starter_text("products", "00000000")


def test_laplace_with_greedy() -> None:
    lines = " ".join(learned_about(starter("products"), Side.A))
    assert "how many records north-shop has" in lines
    assert "496 bins" in lines
    assert "(1.6, 2^-40)" in lines
    assert "its id, day, brand, name" in lines
    assert "discloses its fields of rule and blocking at once (day, brand, name)" in lines
    assert lines.endswith("no value of a record without a match.")


def test_each_side_has_its_own_budget_and_columns() -> None:
    text = TEXT.replace("epsilon = 1.6", "epsilon = 0.4", 1).replace('"name"]\nB', '"name", "price"]\nB')
    agreed = parse_agreement(text)
    about_a, about_b = (" ".join(learned_about(agreed, side)) for side in Side)
    assert "(0.4, " in about_a
    assert "price" in about_a
    assert "(1.6, " in about_b
    assert "price" not in about_b


def test_all_pairs_tells_no_bins() -> None:
    start, end = TEXT.index("[[blocking]]"), TEXT.index("# What each side")
    agreed = parse_agreement(TEXT[:start] + '[protocol]\nname = "all-pairs"\ngreedy = false\n' + TEXT[end:])
    lines = " ".join(learned_about(agreed, Side.B))
    assert "bins" not in lines
    assert "at once" not in lines
    assert "its id, day, brand, name" in lines


def test_advice() -> None:
    assert advice(starter("products")) == []
    text = TEXT.replace("same(day) and same(brand) and", "same(day) and").replace(
        "[fields.name]", '[fields.code]\ntype = "text"\nencoder = "hash"\nmissing = "differs"\n[fields.name]'
    )
    notes = advice(parse_agreement(text))
    assert any("Matches may be missed" in note and "'brand'" in note for note in notes)
    assert any("empty code agrees with nothing" in note for note in notes)
    assert any("code is used by neither" in note for note in notes)
    hashed = text.replace("hamming(name) <= 5", "same(code)").replace('"name"]', '"code"]')
    assert any("hash of 80 bits" in note for note in advice(parse_agreement(hashed)))
