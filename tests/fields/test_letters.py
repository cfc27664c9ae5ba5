"""Texts as numbers of letters: there and back, and what has none."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from accord.fields.columns import Bits
from accord.fields.encoders import text_buffers
from accord.fields.letters import are_texts, letters, spell

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
