"""What this installation makes of some hard texts: two that make the same of them read tables alike.

Folding and cleaning follow the Unicode tables of Python and of Arrow, sounds follow jellyfish. Where these
differ between the parties, equal names could become unequal values, and nobody would notice but for matches
that are not found. So the parties compare a digest of all steps on fixed texts, and go on only if it is the
same. It is public: nothing of a table is in it.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from importlib.metadata import version
from platform import python_version

import pyarrow as pa

from accord.fields.cleaning import clean, derive_text
from accord.fields.folding import fold
from accord.fields.recipe import SOUNDS, STEPS, Drop, Prefix, Suffix

_TAG = b"accord texts 1\n"
VECTORS = (
    # Accents: composed, as separate marks, several on a letter, of Greek and Cyrillic; strokes and ligatures.
    *("Émile", "E\u0301mile", "Nguyễn Thị Hạnh", "Łukasz Żółć", "Ørsted", "Þórðar", "Đặng", "Dvořák"),
    *("Ströẞner", "Straße", "ﬁnﬂeﬀ", "Æsop Œuvre", "ǅ", "Άννα Ώρα", "Ёлкин Йод", "ŉ", "ĸ", "Ŀ"),
    # Letters that have no partner of the other case, or several.
    *("İstanbul", "ISPARTA ığdır", "ΣΊΣΥΦΟΣ", "ſ", "K Å Ω", "Ა Ჿ", "ꟁ Ꟁ Ⱟ", "Ꭰ ꭰ", "ẞ"),
    # Other scripts, marks that belong to their letters, full and half width.
    *("李小龍", "がぎ ｶﾞ ヴ", "한국 ᄒ", "नमस्ते", "ก็", "שָׁלוֹם", "مُحَمَّد", "ＡＢＣ　１２３", "𝒜𝓃𝓃𝑎", "🎈 balloon"),
    # Digits and signs.
    *("٠١٢ ०१२ ８９", "Ⅷ ² ½ ①", "007", "0000", "00 7", "+49 (0)30/12-34", "N° 5", "€ 3 $4 ^`´¨", "_x_"),
    # Blanks of all kinds, and none.
    *(" a\u00a0b\u2003c\u3000d\t e ", "a\u200bb\u00adc\ufeffd", "\u0085x\u2028y"),
    # Brackets, in each other and alone; numbers of models.
    *(
        "Solaris (1972/I)",
        "a (b [c] d) e",
        "(x",
        "y) z",
        "（全角）",
        "Sony PS-LX350H 10 ft (new)",
        "ab1234 XY9876",
    ),
    # Names as people write them.
    *("O'Brien", "O’Brien", "'t Hooft", "Smith-Jones", "Dr. Prof.  Jane Doe, Ph.D.", "John Smith Jr., III"),
    *("Mr Mrs Ms", "MARY  ann", "d'Arc–Lys", "van der Berg", "Mc. Donald"),
    # Sounds: h and w between like consonants, doubled codes, silent beginnings and ends.
    *(
        "Ashcraft",
        "Ashcroft",
        "Tymczak",
        "Pfister",
        "Honeyman",
        "Rupert",
        "Rubin",
        "Robert",
        "Lloyd",
        "Gauss",
    ),
    *("Jackson", "VanDeusen", "Gutierrez", "Lee", "A", "Hw", "Bwb", "Sgler", "Tzschz", "Euler"),
    *("Knight", "Gnome", "Pneumonia", "Wright", "Xavier", "Thumb", "Schmidt", "Thomas", "Physics", "Church"),
    *("Michael", "Nation", "Judge", "Rough", "Science", "Whale", "Aeon", "Aaron", "McDonald", "Quincy"),
    *("MacIntosh", "Knuth", "Koehn", "Phillipson", "Pfeister", "Schoenhoeft", "McKee", "Larson", "Mackay"),
    *("Watkins", "Bonnie", "Ray", "Smart", "Wheeler", "Corder", "Trueman", "Kantz", "Evans", "Breit"),
)


@cache
def texts_digest() -> bytes:
    """SHA-256 of what folding, cleaning and sounds make of the texts above, here."""
    folded = fold(pa.array(VECTORS, pa.large_string()))
    found = {"fold": folded.to_pylist()}
    for step in STEPS:
        found[step] = clean(folded, [step]).to_pylist()
    found["drop"] = clean(folded, [Drop(drop=("van", "Ö", "d'arc–lys", "½", "३"))]).to_pylist()
    for word in ("initial", "code", *SOUNDS):
        found[word] = derive_text(folded, word).to_pylist()
    found["prefix"] = derive_text(folded, Prefix(prefix=3)).to_pylist()
    found["suffix"] = derive_text(folded, Suffix(suffix=3)).to_pylist()
    return hashlib.sha256(_TAG + json.dumps(found, sort_keys=True).encode()).digest()


def readers() -> str:
    """The libraries on which the digest depends, as they are installed here."""
    return f"Python {python_version()}, pyarrow {version('pyarrow')} and jellyfish {version('jellyfish')}"
