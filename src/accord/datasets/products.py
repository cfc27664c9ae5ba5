"""Products of two shops, after the paper's Abt-Buy set-up [HMFS17, §5.1].

Each shop sells 5,000 items a day out of a catalogue; brands are skewed (15 known ones and others), and the
shops spell a product's name a little differently. In the *sparse* variant every record is another product,
and few of them are sold by both.
"""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from accord.datasets.generated import Generated, ids, pair_up

BRANDS = (
    "Arvo", "Belmar", "Corvid", "Dunlin", "Ember", "Fathom", "Gale", "Halcyon",
    "Isla", "Juno", "Kestrel", "Lumen", "Mistral", "Nimbus", "Orla",
)  # fmt: skip
OTHERS = ("Pinto", "Quarry", "Rowan", "Sable", "Tarn", "Umbra", "Vesper", "Wren", "Yarrow", "Zephyr")
FIRST_DAY = date(2026, 3, 1)
MOST_DAYS = 31
PER_DAY = 5_000
_SHARES = np.array([22, 11, 8, 7, 6, 4, 4, 3, 3, 2, 2, 2, 2, 1, 1, 22]) / 100
_KINDS = (
    "Wireless Headphones", "Compact Camera", "Bookshelf Speaker", "Plasma Television", "Laser Printer",
    "Portable Player", "Car Stereo", "Gas Range", "Upright Freezer", "Wall Mount", "Memory Card",
    "Cordless Phone", "Espresso Machine", "Window Air Conditioner", "Navigation System", "Network Switch",
)  # fmt: skip
_SYLLABLES = np.array(
    ["ba", "cor", "den", "fi", "gra", "hel", "jo", "kla", "lu", "mer", "nox", "pri",
     "qui", "ro", "stel", "tur", "ul", "vex", "wy", "zan", "del", "mon", "sab", "ti"]
)  # fmt: skip
_LETTERS = np.array(list("ABCDEFGHJKLMNPRSTUVWXYZ"))


def generate_products(records: int, overlap: float | None, seed: int, sparse: bool = False) -> Generated:
    """`records` a side; the share `overlap` of them (0.5, sparse 0.02) is of products sold by both."""
    share = overlap if overlap is not None else (0.02 if sparse else 0.5)
    rng = np.random.default_rng(seed)
    size = records if sparse else min(records, 1_100)
    shared = round(share * size)
    catalogue = 2 * size - shared
    brand, names_a, names_b = _catalogue(rng, catalogue)
    days = count_days(records)
    if sparse:
        # Product p is sold once, on one day, so that a true pair is a pair of records.
        day_of = rng.integers(0, days, catalogue)
        sold_a, sold_b = rng.permutation(size), size - shared + rng.permutation(size)
        day_a, day_b = day_of[sold_a], day_of[sold_b]
    else:
        sold_a = _sample(rng, records, share, shared, size, 0)
        sold_b = _sample(rng, records, share, shared, size, size - shared)
        day_a, day_b = rng.integers(0, days, records), rng.integers(0, days, records)
    a = _table(rng, "A", names_a[sold_a], brand[sold_a], day_a)
    b = _table(rng, "B", names_b[sold_b], brand[sold_b], day_b)
    left, right = pair_up(sold_a * days + day_a, sold_b * days + day_b)
    truth = pa.table({"id_a": a["id"].take(left), "id_b": b["id"].take(right)})
    return Generated(a, b, truth)


def count_days(records: int) -> int:
    """The days on which so many records are sold."""
    return min(MOST_DAYS, max(1, -(-records // PER_DAY)))


def _sample(
    rng: np.random.Generator, records: int, share: float, shared: int, size: int, first: int
) -> NDArray[np.int64]:
    """Products first..first+size−1 with replacement; a share of `share` from those that both shops sell."""
    common = rng.random(records) < share if shared else np.zeros(records, np.bool_)
    own_first = 0 if first == 0 else size
    own = own_first + rng.integers(0, max(1, size - shared), records)
    both = size - shared + rng.integers(0, max(1, shared), records)
    return np.where(common | (size == shared), both, own)


def _catalogue(
    rng: np.random.Generator, count: int
) -> tuple[NDArray[np.str_], NDArray[np.str_], NDArray[np.str_]]:
    """Brands, and the names that the first and the second shop give to the same products."""
    which = rng.choice(len(_SHARES), count, p=_SHARES)
    brand = np.where(
        which < len(BRANDS),
        np.array([*BRANDS, ""])[which],
        np.array(OTHERS)[rng.integers(0, len(OTHERS), count)],
    )
    series = np.char.capitalize(_join(_SYLLABLES[rng.integers(0, len(_SYLLABLES), (count, 5))]))
    kind = np.array(_KINDS)[rng.integers(0, len(_KINDS), count)]
    letters = _join(_LETTERS[rng.integers(0, len(_LETTERS), (count, 3))])
    model = np.char.add(letters, rng.integers(100, 100_000, count).astype(str))
    short = _space(series, kind)
    return brand, _space(brand, short, "-", model), _respell(rng, brand, short, model)


def _space(*words: NDArray[np.str_] | str) -> NDArray[np.str_]:
    text = np.asarray(words[0])
    for word in words[1:]:
        text = np.char.add(np.char.add(text, " "), word)
    return text


def _join(letters: NDArray[np.str_]) -> NDArray[np.str_]:
    word = letters[:, 0]
    for column in letters.T[1:]:
        word = np.char.add(word, column)
    return word


def _respell(
    rng: np.random.Generator, brand: NDArray[np.str_], short: NDArray[np.str_], model: NDArray[np.str_]
) -> NDArray[np.str_]:
    """The other shop's spelling: the same (1 in 10), no dash, a suffix, a prefix, or without the brand."""
    suffixed = np.char.add(model, _LETTERS[rng.integers(0, len(_LETTERS), len(brand))])
    spellings = [
        _space(brand, short, "-", model),
        _space(brand, short, model),
        _space(brand, short, "-", suffixed),
        _space(brand, short, "-", np.char.add("X", model)),
        _space(short, model),
    ]
    return np.choose(rng.choice(5, len(brand), p=[0.1, 0.3, 0.25, 0.2, 0.15]), spellings)


def _table(
    rng: np.random.Generator,
    side: str,
    names: NDArray[np.str_],
    brand: NDArray[np.str_],
    day: NDArray[np.int64],
) -> pa.Table:
    calendar = np.array([str(FIRST_DAY + timedelta(days=i)) for i in range(MOST_DAYS)])
    price = np.round(rng.lognormal(4.5, 1.0, len(names)), 2)
    return pa.table(
        {"id": ids(side, len(names)), "name": names, "brand": brand, "day": calendar[day], "price": price}
    )
