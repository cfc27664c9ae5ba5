"""The paper's two set-ups, built from the real files [HMFS17, §5.1].

The folder is given by the caller: the files do not ship with Accord. Days beyond the first are further
samples, as in the paper. The list of brands is read off the data, which an agreement between real parties
must not do; here it reproduces the paper's 16 bins.
"""

from __future__ import annotations

from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from numpy.typing import NDArray

from accord import Agreement
from accord.datasets.generated import Generated, ids, pair_up
from reproduction.places import THETA

FIRST_DAY = date(2026, 1, 1)
BOX = 40.711720, -74.006600, 40.786770, -73.929670
"""The paper's bounding box: south, west, north, east."""
_CELL = 0.005


def abt_buy(folder: Path, days: int = 1, per_day: int = 5_000, seed: int = 0) -> tuple[Generated, Agreement]:
    """AB: `per_day` products a day, drawn with replacement from each shop; 15 brands and 'other'."""
    rng = np.random.default_rng(seed)
    abt, buy = _latin_csv(folder / "Abt.csv"), _latin_csv(folder / "Buy.csv")
    mapping = _latin_csv(folder / "abt_buy_perfectMapping.csv")
    brand_a, brand_b = _first_word(abt["name"]), _brand_of_buy(buy)
    names, counts = np.unique(np.concatenate([brand_a, brand_b]), return_counts=True)
    # Shares, not counts, but the two tables are of nearly equal size.
    brands = tuple(names[np.argsort(-counts, kind="stable")][:15].tolist())
    day = np.repeat(np.arange(days), per_day)
    rows_a, rows_b = rng.integers(0, len(abt), len(day)), rng.integers(0, len(buy), len(day))
    a = _products("A", abt["name"], brand_a, rows_a, day)
    b = _products("B", buy["name"], brand_b, rows_b, day)
    left, right = _true_pairs(abt, buy, mapping, rows_a * days + day, rows_b * days + day, days)
    truth = pa.table({"id_a": a["id"].take(left), "id_b": b["id"].take(right)})
    return Generated(a, b, truth), abt_buy_agreement(brands, days)


def abt_buy_agreement(brands: tuple[str, ...], days: int) -> Agreement:
    """Same day, same brand, Hamming ≤ 5 on the 50-bit filter; one bin for each day and brand."""
    return _agreement(
        rule="same(day) and same(brand) and hamming(name) <= 5",
        fields={
            "day": _days(days),
            "brand": {"type": "category", "values": brands, "other": "bin"},
            "name": {"type": "text", "encoder": "paper"},
        },
        blocking=[{"kind": "key", "field": "day"}, {"kind": "key", "field": "brand"}],
    )


def taxi(folder: Path, days: int = 1, per_day: int = 300_000, seed: int = 0) -> tuple[Generated, Agreement]:
    """Taxi: `per_day` pick-ups a day, resampled with a jitter of a few metres; B is A moved by up to θ."""
    rng = np.random.default_rng(seed)
    # Only rows whose hour is true: a scrambled hour would spread every place over the day.
    wanted = pyarrow.csv.ConvertOptions(include_columns=["latitude", "longitude", "pickup_hour", "quality"])
    found = pyarrow.csv.read_csv(folder / "pickups.csv", convert_options=wanted)
    found = found.filter(pc.not_equal(found["quality"], "hour_scrambled"))
    count = days * per_day
    rows = rng.integers(0, len(found), count)
    at = np.stack([np.asarray(found["latitude"]), np.asarray(found["longitude"])], axis=1)[rows]
    at = np.clip(at + rng.normal(0, 5e-5, at.shape), BOX[:2], BOX[2:])
    hour = np.asarray(found["pickup_hour"])[rows].astype(np.int64)
    day = np.repeat(np.arange(days), per_day)
    order = rng.permutation(count)
    a = _pickups("A", at, hour, day)
    b = _pickups("B", (at + rng.uniform(-THETA, THETA, at.shape))[order], hour[order], day[order])
    truth = pa.table({"id_a": a["id"].take(order), "id_b": b["id"]})
    return Generated(a, b, truth), taxi_agreement(days)


def taxi_agreement(days: int = 1, cell: float = _CELL, style: str = "neighbours") -> Agreement:
    """Same day and hour, within θ; a 16 × 16 grid of 0.005° a day and hour."""
    grid = {"kind": "grid", "fields": ["lat", "lon"], "cell": cell, "style": style}
    return _agreement(
        rule=f"same(day) and same(hour) and euclidean(lat, lon) <= {THETA}",
        fields={
            "day": _days(days),
            "hour": {"type": "number", "min": 0, "max": 23, "step": 1},
            "lat": {"type": "latitude", "min": "40.710720", "max": "40.790719"},
            "lon": {"type": "longitude", "min": "-74.007600", "max": "-73.927601"},
        },
        blocking=[
            {"kind": "key", "field": "day"},
            {"kind": "key", "field": "hour"},
            grid | ({"reach": THETA} if style == "replicate" else {}),
        ],
    )


def _agreement(rule: str, fields: dict[str, Any], blocking: list[dict[str, Any]]) -> Agreement:
    privacy = {"epsilon": "1.6", "delta": Fraction(1, 10**5), "noise": "paper"}
    return Agreement.model_validate(
        {
            "version": 2,
            "salt": "00000000",
            "parties": {"A": "alice", "B": "bob"},
            "fields": fields,
            "rule": rule,
            "blocking": blocking,
            "protocol": {"name": "laplace", "A": privacy, "B": privacy},
            "disclose": {"A": list(fields), "B": list(fields)},
            "engine": "ot",
        }
    )


def _days(days: int) -> dict[str, Any]:
    return {"type": "date", "min": FIRST_DAY, "max": FIRST_DAY + timedelta(days=days - 1)}


def _calendar(day: NDArray[np.int64]) -> pa.Array:
    return pa.array(np.datetime64(FIRST_DAY, "D") + day)


def _latin_csv(path: Path) -> pa.Table:
    options = pyarrow.csv.ReadOptions(encoding="latin-1")
    text = pyarrow.csv.ConvertOptions(
        column_types={name: pa.string() for name in ("id", "name", "manufacturer", "price", "idAbt", "idBuy")}
    )
    quoted = pyarrow.csv.ParseOptions(newlines_in_values=True)
    return pyarrow.csv.read_csv(path, options, quoted, text)


def _first_word(cells: pa.ChunkedArray) -> NDArray[np.str_]:
    words = pc.list_element(pc.split_pattern(pc.utf8_lower(pc.utf8_trim_whitespace(cells)), " "), 0)
    return np.asarray(pc.fill_null(words, "")).astype(str)


def _brand_of_buy(buy: pa.Table) -> NDArray[np.str_]:
    maker = _first_word(pc.fill_null(buy["manufacturer"], ""))
    return np.where(maker == "", _first_word(buy["name"]), maker)


def _products(
    side: str,
    names: pa.ChunkedArray,
    brand: NDArray[np.str_],
    rows: NDArray[np.int64],
    day: NDArray[np.int64],
) -> pa.Table:
    columns = {"id": ids(side, len(rows)), "name": names.take(pa.array(rows)), "brand": brand[rows]}
    return pa.table({**columns, "day": _calendar(day)})


def _true_pairs(
    abt: pa.Table,
    buy: pa.Table,
    mapping: pa.Table,
    sold_a: NDArray[np.int64],
    sold_b: NDArray[np.int64],
    days: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs of records of one day whose products the perfect mapping joins."""
    row_a = np.asarray(pc.index_in(mapping["idAbt"], value_set=abt["id"].combine_chunks()))
    row_b = np.asarray(pc.index_in(mapping["idBuy"], value_set=buy["id"].combine_chunks()))
    both = np.repeat(row_a, days) * days + np.tile(np.arange(days), len(row_a))
    other = np.repeat(row_b, days) * days + np.tile(np.arange(days), len(row_b))
    sale, link = pair_up(sold_a, both)
    found, right = pair_up(other[link], sold_b)
    return sale[found], right


def _pickups(side: str, at: NDArray[np.float64], hour: NDArray[np.int64], day: NDArray[np.int64]) -> pa.Table:
    points = np.round(at, 6)
    columns = {"id": ids(side, len(at)), "lat": points[:, 0], "lon": points[:, 1], "hour": hour}
    return pa.table({**columns, "day": _calendar(day)})
