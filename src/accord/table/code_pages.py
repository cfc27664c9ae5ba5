"""Which 8-bit encoding of Latin letters a text is in, by its letters: a guess, which its owner is told.

Every byte is a letter in nearly every code page, so none can be ruled out. But people write in languages: of
the right page, nearly all letters beyond ASCII are of one alphabet; of a wrong one, they are scattered
(Dvoøák has a letter of Danish among those of Czech). Counted are bytes between two letters, since signs such
as £ and ® stand beside digits or blanks.
"""

from __future__ import annotations

from collections.abc import Iterable

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
    "áðéíóúýþæö",  # Icelandic
)
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
    _COMMONEST: _WESTERN,
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


def rank_pages(blocks: Iterable[bytes]) -> list[str]:
    """The code pages that some letters speak for, the likeliest first; and the commonest."""
    counts = sum(map(_letters, blocks), np.zeros(256, np.int64))
    fits = {page: max(_fit(page, alphabet, counts) for alphabet in of) for page, of in _ALPHABETS.items()}
    return sorted((page for page in fits if fits[page] or page == _COMMONEST), key=lambda page: -fits[page])


def _letters(block: bytes) -> NDArray[np.int64]:
    """How often each byte beyond ASCII stands between two letters."""
    found = np.frombuffer(block, np.uint8)
    letters = _LETTERS[found]
    inner = (found[1:-1] >= 128) & letters[:-2] & letters[2:]
    return np.bincount(found[1:-1][inner], minlength=256)


def _fit(page: str, alphabet: str, counts: NDArray[np.int64]) -> int:
    """How many of the letters are of an alphabet."""
    decoded = [bytes([byte]).decode(page, "replace") for byte in range(256)]
    known = {*alphabet, *alphabet.upper()}
    return int(counts[[byte >= 128 and letter in known for byte, letter in enumerate(decoded)]].sum())
