"""Steps of cleaning on names and numbers as people write them; each looks at one cell alone."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.fields.cleaning import clean, clean_list
from accord.fields.folding import fold
from accord.fields.recipe import STEPS, Drop


@pytest.mark.parametrize(
    ("step", "before", "after"),
    [
        ("accents", "Émile Żółć Nguyễn Dvořák", "emile zolc nguyen dvorak"),
        ("accents", "E\u0301mile", "emile"),
        ("accents", "Straße Æsop Œuvre Ørsted", "strasse aesop oeuvre orsted"),
        ("accents", "Łódź Đặng Þór ığdır", "lodz dang thor igdir"),
        ("accents", "İstanbul Ёж Άννα", "istanbul еж αννα"),
        ("accents", "が 한국 李", "が 한국 李"),
        ("punctuation", "O'Brien-Smith", "obrien smith"),
        ("punctuation", "O’Brien", "obrien"),
        ("punctuation", "St. John's, No. 5 (b)", "st johns no 5 b"),
        ("punctuation", "so\u00adft\u200b", "soft"),
        ("punctuation", "a\u2028b", "a b"),
        ("punctuation", "+€-", None),
        ("digits only", "+49 (0)30/12-34", "490301234"),
        ("digits only", "８９ ٣", "89"),
        ("digits only", "none", None),
        ("letters only", "van der Berg 2nd", "vanderbergnd"),
        ("letters only", "Jörg नमस्ते 7", "jörgनमस्ते"),
        ("spaces", " van  der\u00a0Berg ", "vanderberg"),
        ("leading zeros", "007", "7"),
        ("leading zeros", "0000", "0"),
        ("leading zeros", "100", "100"),
        ("titles", "Dr. Prof. Jane Doe", "jane doe"),
        ("titles", "Mr Mrs Drake", "drake"),
        ("titles", "MISS", None),
        ("suffixes", "John Smith Jr., III", "john smith"),
        ("suffixes", "Jane Doe, Ph.D.", "jane doe,"),
        ("suffixes", "Ivy Srini", "ivy srini"),
    ],
)  # fmt: skip
def test_steps(step: str, before: str, after: str | None) -> None:
    assert clean_list([before], [step]) == [after]


def test_words_to_drop_are_folded_and_nothing_but_words() -> None:
    steps = [Drop(drop=("VON", "d.e.", "a+"))]
    given_ = ["Hans von de Berg", "von von", "vonnegut", "d.e. x", "A+ b", "aa b"]
    assert clean_list(given_, steps) == ["hans berg", None, "vonnegut", "x", "b", "aa b"]
    many = Drop(drop=tuple("abcdefghijklmnopqrstuvwxyz012345"[i % 32 :] + str(i) for i in range(256)))
    assert clean_list(["zz"], [Drop(drop=tuple(word[:32] for word in many.drop))]) == ["zz"]


def test_order_counts() -> None:
    assert clean_list(["00 7"], ["leading zeros", "spaces"]) == ["07"]
    assert clean_list(["00 7"], ["spaces", "leading zeros"]) == ["7"]
    assert clean_list(["Ph.D. Ng"], ["punctuation", "suffixes"]) == ["ph d ng"]


cells = st.lists(st.one_of(st.none(), st.text(max_size=12)), max_size=6)


@given(cells, st.lists(st.sampled_from(STEPS), max_size=4))
def test_a_cell_is_cleaned_by_itself(values: list[str | None], steps: list[str]) -> None:
    folded = fold(pa.array(values, pa.large_string()))
    together = clean(folded, steps).to_pylist()
    alone = [clean(folded.slice(i, 1), steps)[0].as_py() for i in range(len(values))]
    assert together == alone
    assert "" not in together
    assert all(text is None or "  " not in text for text in together)
