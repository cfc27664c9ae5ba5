"""Cleaning, pieces, sounds and parts of days, as people write them; sounds against published examples."""

from __future__ import annotations

from datetime import date, timedelta

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.fields.cleaning import clean, clean_list, derive_part, derive_text, swap
from accord.fields.folding import fold
from accord.fields.recipe import STEPS, Drop, Prefix, Suffix

_EPOCH = date(1970, 1, 1)


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
        ("brackets", "Solaris (1972/I) [dir. cut]", "solaris"),
        ("brackets", "a (b (c) d", "a (b d"),
        ("brackets", "(all)", None),
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


def derived(text: str | None, how: str | Prefix | Suffix) -> str | None:
    return derive_text(fold(pa.array([text], pa.large_string())), how)[0].as_py()


@pytest.mark.parametrize(
    ("text", "how", "value"),
    [
        ("Åsa Berg", Prefix(prefix=3), "åsa"),
        ("ab", Prefix(prefix=3), "ab"),
        ("de la", Prefix(prefix=3), "de"),
        ("90210", Suffix(suffix=2), "10"),
        ("x", Suffix(suffix=4), "x"),
        ("'t Hooft", "initial", "t"),
        ("7 up", "initial", "7"),
        ("李", "initial", "李"),
        ("--", "initial", None),
        (None, "initial", None),
        ("Sony Turntable - PS-LX350H 10ft", "code", "pslx350h"),
        ("AB1234 XY9876", "code", "ab1234"),
        ("12 ft cable", "code", None),
        (None, "code", None),
        (None, "soundex", None),
    ],
)
def test_pieces(text: str | None, how: str | Prefix | Suffix, value: str | None) -> None:
    assert derived(text, how) == value


@pytest.mark.parametrize(
    ("text", "soundex", "metaphone", "nysiis"),
    [
        # Soundex as the National Archives publish it, NYSIIS as Taft's report has it where they say so.
        ("Ashcraft", "a261", "axkrft", "ascraft"),
        ("Tymczak", "t522", "tmksk", "tyncsac"),
        ("Pfister", "p236", "pfstr", "fastar"),
        ("Honeyman", "h555", "hnmn", "hanaynan"),
        ("Gutierrez", "g362", "ktrs", "gatar"),
        ("Jackson", "j250", "jksn", "jacsan"),
        ("Lee", "l000", "l", "ly"),
        ("Robert", "r163", "rbrt", "rabad"),
        ("Rupert", "r163", "rprt", "rapad"),
        ("Thumb", "t510", "0m", "tanb"),
        ("Knuth", "k530", "n0", "nat"),
        ("Schmidt", "s530", "sxmtt", "snad"),
        ("MacIntosh", "m253", "msntx", "mcant"),
        ("Rough", "r200", "r", "rag"),
        ("Müller", "m460", "mlr", "malar"),
        ("Mary Ann", "m650", "mryn", "maryan"),
        ("Mary-Ann", "m650", "mryn", "maryan"),
        ("O'Brien", "o165", "obrn", "obran"),
        ("O’Brien 2", "o165", "obrn", "obran"),
        ("李小龍", None, None, None),
        ("12", None, None, None),
    ],
)
def test_sounds(text: str, soundex: str | None, metaphone: str | None, nysiis: str | None) -> None:
    assert [derived(text, how) for how in ("soundex", "metaphone", "nysiis")] == [soundex, metaphone, nysiis]


@given(st.lists(st.one_of(st.none(), st.text(max_size=15)), max_size=5))
def test_any_text_has_a_sound_or_none(texts: list[str | None]) -> None:
    folded = fold(pa.array(texts, pa.large_string()))
    for how in ("soundex", "metaphone", "nysiis"):
        codes = derive_text(folded, how).to_pylist()
        assert all(code is None or (code.isascii() and code.isalnum()) for code in codes)
        assert codes == [derived(text, how) for text in texts]


@given(st.dates(date(1, 1, 1), date(9999, 12, 31)))
def test_parts_and_swapped_days(day: date) -> None:
    days = pa.array([(day - _EPOCH).days, None], pa.int32())
    for how in ("year", "month", "day"):
        assert derive_part(days, how).to_pylist() == [getattr(day, how), None]
    other = None if day.day > 12 or day.day == day.month else date(day.year, day.day, day.month)
    found, none = swap(days).to_pylist()
    assert none is None
    assert (None if found is None else _EPOCH + timedelta(days=found)) == other
    if other is not None:
        assert swap(swap(days)).to_pylist() == days.to_pylist()
