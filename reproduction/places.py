"""Pick-ups of a city's taxis, after the paper's Taxi set-up [HMFS17, §5.1].

A's records lie around hot spots, by hour of the day; B's are those of A moved by up to θ in each direction,
and others of its own. With many records nearly every one matches something, and the guarantee protects few.
In the *sparse* variant A's own, B's own and the shared records keep to streets of their own, more than θ
apart, so that only the shared ones match.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from accord import Agreement, parse_agreement
from accord.datasets.generated import Generated, ids

# The paper's bounding box: south, west, and its height and width in degrees.
SOUTH, WEST, HEIGHT, WIDTH = 40.711720, -74.006600, 0.07505, 0.07693
THETA = 0.001
# Eight blocks of three streets, each θ/2 wide: where A's own, B's own and the shared records lie.
_BLOCK, _BLOCKS = 0.009, 8
_STREETS = {"A": 0.0005, "B": 0.003, "shared": 0.006}
_HOURS = np.array(
    [3.9, 2.8, 2.1, 1.5, 1.1, 1.0, 2.2, 3.8, 4.6, 4.7, 4.6, 4.7,
     4.9, 4.8, 5.0, 4.8, 4.1, 5.0, 6.1, 6.3, 5.9, 5.8, 5.6, 4.7]
)  # fmt: skip


def places_text(salt: str = "00000000") -> str:
    """An agreement for such tables, with its comments."""
    text = (Path(__file__).parent / "agreements" / "places.toml").read_text(encoding="utf-8")
    return text.replace("{salt}", salt)


def places_agreement() -> Agreement:
    """The agreement of `places_text`."""
    return parse_agreement(places_text(), "the agreement for places")


def generate_places(records: int, overlap: float | None, seed: int, sparse: bool = False) -> Generated:
    """`records` a side; the share `overlap` of B's (1, sparse 0.02) are records of A, moved by up to θ."""
    share = overlap if overlap is not None else (0.02 if sparse else 1.0)
    rng = np.random.default_rng(seed)
    shared = round(share * records)
    streets = _STREETS if sparse else dict.fromkeys(_STREETS)
    common, common_hour = _draw(rng, shared, streets["shared"])
    only_a, hour_a = _draw(rng, records - shared, streets["A"])
    only_b, hour_b = _draw(rng, records - shared, streets["B"])
    moved = common + rng.uniform(-THETA, THETA, (shared, 2))
    order_a, order_b = rng.permutation(records), rng.permutation(records)
    a = _table("A", np.concatenate([common, only_a])[order_a], np.concatenate([common_hour, hour_a])[order_a])
    b = _table("B", np.concatenate([moved, only_b])[order_b], np.concatenate([common_hour, hour_b])[order_b])
    place_a, place_b = np.argsort(order_a)[:shared], np.argsort(order_b)[:shared]
    truth = pa.table({"id_a": a["id"].take(place_a), "id_b": b["id"].take(place_b)})
    return Generated(a, b, truth)


def _draw(
    rng: np.random.Generator, count: int, street: float | None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Points of the box and their hours; with `street`, only on the streets that begin there in a block."""
    # The city is the same for every table.
    city = np.random.default_rng(0)
    hot, spread = city.random((40, 2)), city.uniform(0.01, 0.08, 40)
    weight = city.dirichlet(np.full(40, 0.7))
    spot = rng.choice(40, count, p=weight)
    unit = hot[spot] + spread[spot][:, None] * rng.standard_normal((count, 2))
    flat = rng.random(count) < 0.25
    unit[flat] = rng.random((int(flat.sum()), 2))
    # What falls outside the box is reflected into it.
    unit = np.abs(unit) % 2
    unit = np.where(unit > 1, 2 - unit, unit)
    points = np.array([SOUTH, WEST]) + unit * np.array([HEIGHT, WIDTH])
    if street is not None:
        block, into = np.divmod(unit[:, 1] * _BLOCKS, 1)
        points[:, 1] = WEST + np.minimum(block, _BLOCKS - 1) * _BLOCK + street + into * THETA / 2
    hours = rng.choice(24, count, p=_HOURS / _HOURS.sum())
    return points, hours


def _table(side: str, points: NDArray[np.float64], hours: NDArray[np.int64]) -> pa.Table:
    at = np.round(points, 6)
    return pa.table({"id": ids(side, len(at)), "lat": at[:, 0], "lon": at[:, 1], "hour": hours})
