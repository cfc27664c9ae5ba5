"""Slips of the hand, the ear and the scanner, on many texts at once.

Each function takes texts and gives them with one slip each; a text to which none can happen stays as it is.
Texts are matrices of octets, and a slip moves or replaces letters at one place of each row. None of them
touches what stands between words or empties a text.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from accord.datasets.people_world import Text

Letters = NDArray[np.uint8]
Slip = Callable[[np.random.Generator, Text], Text]

_ROWS = ("1234567890", "qwertyuiop", "asdfghjkl", "zxcvbnm")
_HEARD = """
ph f; f ph; ck k; c k; k c; ks x; x ks; z s; ss s; s ss; ll l; l ll; nn n; n nn; tt t; t tt; mm m; y i; ie
y; ey y; i y; ee ea; ea ee; ei ie; ou u; oo u; th t; dt t; d dt; sch sh; w v; v w; qu kw; j g; gh g; wh w;
kn n; a e; e a
"""
_SCANNED = """
o 0; 0 o; l 1; 1 l; i l; i 1; s 5; 5 s; b 8; 8 b; z 2; 2 z; g 9; g q; q g; rn m; m rn; cl d; d cl; w vv; vv
w; e c; c e; u v; v u; h b; n ri; 6 b; 4 a; 3 8; 7 1; 1 7; 0 8; 9 g
"""


def letters(text: Text) -> Letters:
    """The texts as a matrix, a row each, zeros behind the end."""
    return np.ascontiguousarray(text).view(np.uint8).reshape(len(text), text.dtype.itemsize)


def texts(matrix: Letters) -> Text:
    return np.ascontiguousarray(matrix).view(f"S{matrix.shape[1]}").reshape(len(matrix))


@cache
def _neighbours() -> Letters:
    """By octet, four keys that lie next to it, some twice; a key with none has itself."""
    where = {key: (row, place) for row, keys in enumerate(_ROWS) for place, key in enumerate(keys)}
    table = np.repeat(np.arange(256, dtype=np.uint8)[:, None], 4, axis=1)
    for key, (row, place) in where.items():
        near = [_ROWS[row][other] for other in (place - 1, place + 1) if 0 <= other < len(_ROWS[row])]
        if key.isalpha():
            # A row lies half a key to the right of the one above.
            near += [
                k for k, (r, p) in where.items() if k.isalpha() and (r - row, p - place) in ((-1, 0), (1, 0))
            ]
        table[ord(key)] = [ord(near[turn % len(near)]) for turn in range(4)]
    return table


def _is_key(matrix: Letters) -> NDArray[np.bool_]:
    """Letters and figures, on which fingers slip."""
    return ((matrix >= ord("a")) & (matrix <= ord("z"))) | ((matrix >= ord("0")) & (matrix <= ord("9")))


def _choose(
    rng: np.random.Generator, allowed: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows that have an allowed place, and one of these places, each as likely."""
    rows = np.flatnonzero(allowed.any(axis=1))
    return rows, np.argmax(rng.random((len(rows), allowed.shape[1])) * allowed[rows], axis=1)


def keyboard(rng: np.random.Generator, text: Text) -> Text:
    """A neighbouring key."""
    matrix = letters(text).copy()
    rows, places = _choose(rng, _is_key(matrix))
    matrix[rows, places] = _neighbours()[matrix[rows, places], rng.integers(0, 4, len(rows))]
    return texts(matrix)


def transposed(rng: np.random.Generator, text: Text) -> Text:
    """Two letters that follow each other, the other way round."""
    matrix = letters(text).copy()
    first, second = matrix[:, :-1], matrix[:, 1:]
    rows, places = _choose(rng, _is_key(first) & _is_key(second) & (first != second))
    matrix[rows, places], matrix[rows, places + 1] = matrix[rows, places + 1], matrix[rows, places].copy()
    return texts(matrix)


def inserted(rng: np.random.Generator, text: Text) -> Text:
    """A key too many: the same once more, or a neighbour."""
    matrix = letters(text)
    rows, places = _choose(rng, _is_key(matrix) & (matrix[:, -1:] == 0))
    keys = matrix[rows, places]
    extra = np.where(rng.random(len(rows)) < 0.5, keys, _neighbours()[keys, rng.integers(0, 4, len(rows))])
    columns = np.arange(matrix.shape[1])
    made = matrix.copy()
    made[rows] = np.take_along_axis(matrix[rows], columns - (columns > places[:, None]), axis=1)
    made[rows, places + 1] = extra
    return texts(made)


def deleted(rng: np.random.Generator, text: Text) -> Text:
    """A key too few; a text of one letter stays."""
    matrix = letters(text)
    rows, places = _choose(rng, _is_key(matrix) & (matrix[:, 1:2] > 0))
    made = np.concatenate([matrix, np.zeros((len(matrix), 1), np.uint8)], axis=1)
    columns = np.arange(matrix.shape[1])
    made[rows, :-1] = np.take_along_axis(made[rows], columns + (columns >= places[:, None]), axis=1)
    return texts(made[:, :-1])


def phonetic(rng: np.random.Generator, text: Text) -> Text:
    """Written as it sounds."""
    return _respell(rng, text, _HEARD)


def scanning(rng: np.random.Generator, text: Text) -> Text:
    """Read as it looks."""
    return _respell(rng, text, _SCANNED)


def _respell(rng: np.random.Generator, text: Text, table: str) -> Text:
    """The first place at which one of the spellings fits, drawn from those that fit."""
    spellings = [tuple(entry.encode().split()) for entry in table.split(";")]
    wide = text.astype(f"S{text.dtype.itemsize + 1}")
    fits = np.stack([np.char.find(text, old) >= 0 for old, _ in spellings], axis=1)
    rows, chosen = _choose(rng, fits)
    for which, (old, new) in enumerate(spellings):
        here = rows[chosen == which]
        if len(here):  # numpy replaces nothing in nothing with an error
            wide[here] = np.char.replace(text[here], old, new, 1)
    # What no longer fits keeps its old text.
    longer = letters(wide)[:, -1] > 0
    return np.where(longer, text, wide.astype(text.dtype))


SLIPS: dict[str, Slip] = {
    slip.__name__: slip for slip in (keyboard, phonetic, scanning, transposed, inserted, deleted)
}
