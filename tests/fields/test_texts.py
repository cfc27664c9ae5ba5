"""Texts as they are cleaned, derived, hashed and spelt: known answers, and slow ways to the same."""

from __future__ import annotations

from datetime import date, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.fields import vectors
from accord.fields.cardinality import CLASSES, classify, contradicts, count_values
from accord.fields.census import EVERYBODY, census_names
from accord.fields.cleaning import clean, clean_list, derive_part, derive_text, swap
from accord.fields.columns import Bits
from accord.fields.date_formats import FORMATS
from accord.fields.encoders import text_buffers
from accord.fields.folding import fold
from accord.fields.letters import are_texts, letters, spell
from accord.fields.making import parse_date
from accord.fields.recipe import STEPS, Drop, Prefix, Suffix
from accord.fields.siphash import fill_filters, hash_texts, key, siphash128

_EPOCH = date(1970, 1, 1)


@pytest.mark.parametrize(
    ("step", "before", "after"),
    [
        ("accents", "Émile Żółć Nguyễn Dvořák", "emile zolc nguyen dvorak"),
        ("accents", "Straße Æsop Œuvre Ørsted", "strasse aesop oeuvre orsted"),
        ("accents", "Łódź Đặng Þór ığdır", "lodz dang thor igdir"),
        ("punctuation", "O’Brien", "obrien"),
        ("punctuation", "St. John's, No. 5 (b)", "st johns no 5 b"),
        ("punctuation", "so\u00adft\u200b", "soft"),
        ("punctuation", "+€-", None),
        ("digits only", "+49 (0)30/12-34", "490301234"),
        ("digits only", "none", None),
        ("letters only", "van der Berg 2nd", "vanderbergnd"),
        ("spaces", " van  der\u00a0Berg ", "vanderberg"),
        ("leading zeros", "007", "7"),
        ("leading zeros", "0000", "0"),
        ("titles", "Dr. Prof. Jane Doe", "jane doe"),
        ("titles", "MISS", None),
        ("suffixes", "John Smith Jr., III", "john smith"),
        ("suffixes", "Jane Doe, Ph.D.", "jane doe,"),
        ("brackets", "Solaris (1972/I) [dir. cut]", "solaris"),
        ("brackets", "(all)", None),
    ],
)  # fmt: skip
def test_steps(step: str, before: str, after: str | None) -> None:
    assert clean_list([before], [step]) == [after]


def test_words_to_drop_are_folded_and_the_order_of_steps_counts() -> None:
    steps = [Drop(drop=("VON", "d.e.", "a+"))]
    given_ = ["Hans von de Berg", "von von", "vonnegut", "d.e. x", "A+ b", "aa b"]
    assert clean_list(given_, steps) == ["hans berg", None, "vonnegut", "x", "b", "aa b"]
    assert clean_list(["zz"], [Drop(drop=tuple(f"{'x' * 29}{i:03}" for i in range(256)))]) == ["zz"]
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
        ("de la", Prefix(prefix=3), "de"),
        ("90210", Suffix(suffix=2), "10"),
        ("'t Hooft", "initial", "t"),
        ("--", "initial", None),
        ("Sony Turntable - PS-LX350H 10ft", "code", "pslx350h"),
        ("AB1234 XY9876", "code", "ab1234"),
        ("12 ft cable", "code", None),
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
        ("Lee", "l000", "l", "ly"),
        ("Robert", "r163", "rbrt", "rabad"),
        ("Knuth", "k530", "n0", "nat"),
        ("Müller", "m460", "mlr", "malar"),
        ("Mary Ann", "m650", "mryn", "maryan"),
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


# -- dates ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "day"),
    [
        *(
            (text, date(1980, 5, 3))
            for text in ("3 de mayo de 1980", "3. Mai 1980", "3 mai 1980", "3 mei 1980")
        ),
        *((text, date(1980, 5, 3)) for text in ("3 maggio 1980", "3 de maio de 1980", "3 maja 1980")),
        *((text, date(1980, 5, 3)) for text in ("03-May-1980", "May 3, 1980", "3 mai 1980", "3 maj 1980")),
        ("1er avril 1980", date(1980, 4, 1)),
        ("7 août 1999", date(1999, 8, 7)),
        ("7 févr. 1999", date(1999, 2, 7)),
        ("7 października 1999", date(1999, 10, 7)),
        ("7. März 1999", date(1999, 3, 7)),
    ],
)
def test_a_month_is_read_in_any_language(text: str, day: date) -> None:
    assert {found for how in FORMATS if (found := parse_date(text, how))} == {day}
    assert parse_date("3 de nada de 1980", "%d de %B de %Y") is None


@pytest.mark.parametrize(
    "text",
    ["1980-02-29", "1981-02-29", "0000-01-01", "0001-01-01", "9999-12-31", "1980-13-01", "1980-2-1",
     "1980-W05-1", "19800201", "1980-02-01 ", "1980-02-01T00", "１９８０-02-01", "", "+980-01-01"],
)  # fmt: skip
def test_days_are_read_as_the_slow_way_reads_them(text: str) -> None:
    try:
        slowly = datetime.strptime(text, "%Y-%m-%d").date()
    except ValueError:
        slowly = None
    assert parse_date(text, "%Y-%m-%d") == slowly


# -- hashes, filters, letters -----------------------------------------------------------------------------

K0, K1 = np.uint64(0x0706050403020100), np.uint64(0x0F0E0D0C0B0A0908)


def digest(data: bytes) -> bytes:
    octets = np.frombuffer(data, np.uint8).copy()
    low, high = siphash128(K0, K1, octets, 0, len(octets))
    return int(low).to_bytes(8, "little") + int(high).to_bytes(8, "little")


def test_reference_vectors() -> None:
    """From the authors' vectors of SipHash-2-4-128 with key 00…0f and inputs 00, 01, …"""
    assert digest(b"").hex() == "a3817f04ba25a8e66df67214c7550293"
    assert digest(bytes(range(15))).hex() == "5493e99933b0a8117e08ec0f97cfc3d9"


def packed(texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
    encoded = [text.encode() for text in texts]
    offsets = np.cumsum([0, *map(len, encoded)]).astype(np.int64)
    return offsets, np.frombuffer(b"".join(encoded), np.uint8).copy()


def slow_filter(text: str, grams: int, hashes: int, bits: int) -> set[int]:
    padded = f" {text} ".ljust(grams) if text else ""
    positions = set()
    for i in range(len(padded) - grams + 1):
        window = b"".join(ord(sign).to_bytes(4, "little") for sign in padded[i : i + grams])
        raw = digest(window)
        x, y = int.from_bytes(raw[:8], "little"), int.from_bytes(raw[8:], "little")
        for j in range(hashes):
            positions.add(x % bits)
            x, y = (x + y) % 2**64, (y + j) % 2**64
    return positions


@given(
    st.lists(st.text("ab é漢𝄞", max_size=7), max_size=5),
    st.integers(1, 5),
    st.integers(1, 4),
    st.sampled_from([8, 50, 64, 100, 129]),
)
def test_filters_hold_exactly_the_grams(texts: list[str], grams: int, hashes: int, bits: int) -> None:
    offsets, data = packed(texts)
    words = np.zeros((len(texts), (bits + 63) // 64), np.uint64)
    fill_filters(K0, K1, offsets, data, grams, hashes, bits, words)
    for row, text in zip(words, texts, strict=True):
        found = {64 * w + b for w, word in enumerate(row) for b in range(64) if int(word) >> b & 1}
        assert found == slow_filter(text, grams, hashes, bits)


def test_hashes_are_the_first_eighty_bits() -> None:
    texts = ["", "a", "漢字"]
    offsets, data = packed(texts)
    words = np.zeros((3, 2), np.uint64)
    hash_texts(K0, K1, offsets, data, words)
    assert [row.tobytes() for row in words] == [digest(text.encode())[:10] + bytes(6) for text in texts]
    assert len({key(salt, field) for salt in ("00", "01") for field in ("name", "street")}) == 4


ALPHABET = "abcdefghijklmnopqrstuvwxyzéß€🎈 "


@given(st.lists(st.text(ALPHABET, max_size=24)), st.integers(1, 24), st.integers(1, len(ALPHABET)))
def test_letters_are_places_in_the_alphabet(texts: list[str], length: int, known: int) -> None:
    alphabet = ALPHABET[:known]
    words, long, foreign = spell(*text_buffers(pa.array(texts, pa.large_string())), alphabet, length)
    bits = known.bit_length()
    column = Bits(words, length * bits, np.ones(len(texts), np.bool_))
    assert are_texts(column, length, alphabet)
    for text, row, is_long, is_foreign in zip(texts, letters(column, length), long, foreign, strict=True):
        assert is_long == (len(text) > length)
        assert is_foreign == any(letter not in alphabet for letter in text)
        numbers = [] if is_long or is_foreign else [alphabet.index(letter) + 1 for letter in text]
        assert row.tolist() == numbers + [0] * (length - len(numbers))


def test_what_is_no_text() -> None:
    def row(*numbers: int) -> Bits:
        word = sum(number << 2 * place for place, number in enumerate(numbers))
        return Bits(np.array([[0], [word]], np.uint64), 6, np.ones(2, np.bool_))

    assert are_texts(row(1, 2, 2), 3, "ab")
    assert are_texts(row(0, 0, 0), 3, "ab")
    assert not are_texts(row(1, 3, 0), 3, "ab")
    assert not are_texts(row(1, 0, 1), 3, "ab")


# -- vectors, names, cardinality --------------------------------------------------------------------------

RECORDED = "07dce00fa8b8291cef6084d45ae8caa632c828a7cd307b843c1db8915a972107"


def test_the_digest_is_that_of_every_machine() -> None:
    """Of a hundred hard texts, by all steps and sounds. The tables above are examples of them."""
    assert vectors.texts_digest().hex() == RECORDED
    assert len(set(vectors.VECTORS)) == len(vectors.VECTORS)


def test_names_of_every_kind_the_most_frequent_first() -> None:
    for kind, count, first in (
        ("female", 4275, "mary"),
        ("male", 1219, "james"),
        ("surname", 18839, "smith"),
    ):
        found = census_names(kind)
        assert (len(found), next(iter(found))) == (count, first)
        assert list(found.values()) == sorted(found.values(), reverse=True)
        assert 0 < EVERYBODY - sum(found.values()) < EVERYBODY // 4, "some have other names"


@pytest.mark.parametrize(
    ("distinct", "filled", "copies", "declared"),
    [
        (5, 20_000, 1, "few"),
        (100, 20_000, 1, "hundreds"),
        (4_000, 20_000, 1, "thousands"),
        (19_000, 20_000, 1, "unique"),
        # Births of 850 persons in 1,940 records, of one or of up to five each.
        (850, 1_940, 1, "hundreds"),
        (850, 1_940, 5, "unique"),
    ],
)
def test_a_column_has_a_class(distinct: int, filled: int, copies: int, declared: str) -> None:
    assert classify(distinct, filled, copies) == declared
    assert [name for name in CLASSES if contradicts(name, 7, 20_000)] == [*CLASSES[1:]]


@given(st.integers(1, 10**6), st.integers(1, 10**6), st.integers(1, 9))
def test_no_column_contradicts_its_own_class(distinct: int, filled: int, copies: int) -> None:
    distinct = min(distinct, filled)
    declared = classify(distinct, filled, copies)
    assert not contradicts(declared, distinct, filled, copies)
    assert 1 <= count_values(declared, filled) <= filled
