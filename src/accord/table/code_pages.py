"""Which 8-bit encoding of Latin letters a text is in, by its letters: a guess, which its owner is told.

Every byte is a letter in nearly every code page, so none can be ruled out. But people write in languages: of
the right page, nearly all letters beyond ASCII are of one alphabet; of a wrong one, they are scattered
(Dvoøák has a letter of Danish among those of Czech). Counted are bytes between two letters, since signs such
as £ and ® stand beside digits or blanks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

_WESTERN = (
    "äöüß",  # German
    "àâçéèêëîïôùûüÿœæ",  # French
    "áéíóúüñçàèò",  # Spanish, Catalan
    "áâãàçéêíóôõúü",  # Portuguese
    "àèéìòùî",  # Italian
    "åäöæøéü",  # Danish, Norwegian, Swedish, Finnish
    "éëïöüèêáóíúô",  # Dutch
)
_ICELANDIC = "áðéíóúýþæö"
_CENTRAL = (
    "ąćęłńóśźż",  # Polish
    "áčďéěíňóřšťúůýž",  # Czech
    "áäčďéíĺľňóôŕšťúýž",  # Slovak
    "áéíóöőúüű",  # Hungarian
    "čćđšž",  # Croatian, Slovene
    "ăâîşţșț",  # Romanian
)
_COMMONEST = "cp1252"
_ALPHABETS = {
    _COMMONEST: (*_WESTERN, _ICELANDIC),
    "cp1250": _CENTRAL,
    "cp1254": ("çğıöşüâîûİ",),
    "cp1257": ("ąčęėįšųūž", "āčēģīķļņšūž", "äõöüšž"),
    "iso8859-2": _CENTRAL,
    "cp850": _WESTERN,
    "cp852": _CENTRAL,
    "mac-roman": _WESTERN,
}
"""By code page the alphabets that it is used for; one goes before those behind it that fit as well."""
EIGHT_BITS = frozenset(_ALPHABETS)
"""What is guessed."""
_LETTERS = np.array([byte >= 128 or chr(byte).isalpha() for byte in range(256)])
"""Bytes that may be letters."""
_SMALL = np.array([byte < 128 and chr(byte).islower() for byte in range(256)])
_CROWDED = 0.4
"""Of Latin letters beyond ASCII, hardly any stands between two others."""
_FEW = 0.02
"""The name of somebody from elsewhere must not decide how all others are read."""
_Counts = NDArray[np.int64]


def likeliest_page(blocks: Iterable[bytes]) -> str | None:
    """The code page that the letters speak for, the commonest where none does; None for other letters."""
    crowded, *counts = sum(map(_letters, blocks), np.zeros((4, 256), np.int64))
    small, inner, edge = counts
    letters = small.sum() + inner.sum()
    if not letters:
        return _COMMONEST
    if crowded.sum() > _CROWDED * letters:
        return None
    fits = {page: (_fit(page, small, inner), _fit(page, np.zeros_like(edge), edge)) for page in _ALPHABETS}
    best = max(fits, key=lambda page: fits[page])
    more = fits[best][0][0] - fits[_COMMONEST][0][0]
    return _COMMONEST if 0 < more <= _FEW * letters else best


def _letters(block: bytes) -> _Counts:
    """How often each byte beyond ASCII stands between two others; between two letters of which the first is a
    small one of ASCII, or any other; and beside one letter."""
    found = np.frombuffer(block, np.uint8)
    left, middle, right = found[:-2], found[1:-1], found[2:]
    high, beside = middle >= 128, _LETTERS[left].astype(np.int64) + _LETTERS[right]
    after_small = _SMALL[left]
    counted = (
        high & (left >= 128) & (right >= 128),
        high & (beside == 2) & after_small,
        high & (beside == 2) & ~after_small,
        high & (beside == 1),
    )
    return np.stack([np.bincount(middle[these], minlength=256) for these in counted])


def _fit(page: str, small: _Counts, others: _Counts) -> tuple[int, bool]:
    """How many of the letters are of an alphabet of this page, or of two of them together, and whether one is
    enough. A capital behind a small letter is of none."""
    decoded = [bytes([byte]).decode(page, "replace") if byte >= 128 else "" for byte in range(256)]
    pairs = combinations_with_replacement(_ALPHABETS[page], 2)
    return max((_among(one + other, decoded, small, others), one is other) for one, other in pairs)


def _among(alphabet: str, decoded: Sequence[str], small: _Counts, others: _Counts) -> int:
    is_small = [letter != "" and letter in alphabet for letter in decoded]
    is_any = [letter != "" and letter in alphabet + alphabet.upper() for letter in decoded]
    return int(small[is_small].sum() + others[is_any].sum())
