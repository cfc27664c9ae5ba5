"""Pieces of texts, sounds and parts of days; sounds against published examples."""

from __future__ import annotations

from datetime import date, timedelta

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.fields.deriving import derive_part, derive_text, swap
from accord.fields.folding import fold
from accord.fields.recipe import Prefix, Suffix

_EPOCH = date(1970, 1, 1)


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
