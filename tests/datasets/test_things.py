"""Things in two tables: mostly alike where they are the same, seldom where they are not."""

from __future__ import annotations

import numpy as np
import pytest

from accord.datasets import things

COUNT = 400


@pytest.mark.parametrize(
    "draw",
    [
        things.draw_category,
        things.draw_flag,
        things.draw_code,
        things.draw_number,
        things.draw_year,
        things.draw_price,
        things.draw_day,
    ],
)
def test_both_tables_mostly_have_the_same_value(draw: object) -> None:
    rng = np.random.default_rng(1)
    world, rows = things.draw_things(rng, COUNT), np.arange(COUNT)
    a, b = (draw(rng, world, rows, other).to_pylist() for other in (False, True))  # type: ignore[operator]
    known = [(x, y) for x, y in zip(a, b, strict=True) if x is not None and y is not None]
    assert 0.85 * COUNT < len(known) < COUNT
    assert 0.5 < sum(x == y for x, y in known) / len(known) < 1


@pytest.mark.parametrize("product", [False, True])
def test_names_share_words_with_their_own_and_few_with_others(product: bool) -> None:
    rng = np.random.default_rng(2)
    world, rows = things.draw_things(rng, COUNT), np.arange(COUNT)
    a, b = (things.name_things(rng, world, rows, other, product).to_pylist() for other in (False, True))
    shared = [len({*(x or "").split()} & {*(y or "").split()}) for x, y in zip(a, b, strict=True)]
    others = [len({*(x or "").split()} & {*(y or "").split()}) for x, y in zip(a, b[1:], strict=False)]
    assert np.mean(shared) > 3 * np.mean(others)
    assert 0 < sum(x == y for x, y in zip(a, b, strict=True)) < COUNT


def test_descriptions_are_longer_than_names() -> None:
    rng = np.random.default_rng(3)
    world, rows = things.draw_things(rng, COUNT), np.arange(COUNT)
    names = things.name_things(rng, world, rows, False, True).to_pylist()
    told = things.describe_things(rng, world, rows, False).to_pylist()
    assert np.mean([len(x or "") for x in told]) > 2 * np.mean([len(x or "") for x in names])
