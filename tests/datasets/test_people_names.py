"""Names: all of the census's given ones, as frequent as they were; nicknames belong to names that exist."""

from __future__ import annotations

import numpy as np
import pytest

from accord.datasets.people_names import WIDTH, census, nicknames


def test_frequencies_are_those_of_the_census() -> None:
    lists = census()
    assert {kind: len(names.texts) for kind, names in lists.items()} == {
        "female": 4275,
        "male": 1219,
        "surname": 18839,
    }
    most = {kind: (names.texts[0].decode(), round(names.shares[0], 5)) for kind, names in lists.items()}
    assert most == {"female": ("mary", 0.02629), "male": ("james", 0.03318), "surname": ("smith", 0.01006)}
    for names in lists.values():
        assert names.shares.sum() == pytest.approx(1)
        assert (np.diff(names.shares[: len(names.shares) // 2]) <= 0).all()
        assert names.shares[-1] < 3e-4
        assert len(set(names.texts.tolist())) == len(names.texts)
        assert all(text.isalpha() and text.islower() for text in names.texts.tolist())
        assert max(map(len, names.texts.tolist())) <= WIDTH - 8, "there is room for a title and slips"


def test_draws_follow_the_shares() -> None:
    names = census()["surname"]
    drawn = names.draw(np.random.default_rng(1), 200_000)
    share = (drawn == 0).mean()
    # Five standard deviations of a share of 1 % in 200,000 draws: a false alarm in two million runs.
    assert abs(share - names.shares[0]) < 5 * np.sqrt(names.shares[0] / 200_000)
    assert drawn.max() < len(names.texts)


def test_nicknames() -> None:
    full, short = nicknames()
    given = {*census()["female"].texts.tolist(), *census()["male"].texts.tolist()}
    assert set(full.tolist()) <= given
    assert (full[1:] > full[:-1]).all(), "a name is found by its place in the order"
    assert (short != full[:, None]).all()
    called = {name: set(row) for name, row in zip(full.tolist(), short.tolist(), strict=True)}
    assert called[b"william"] == {b"bill", b"will", b"billy"}
    assert called[b"peter"] == {b"pete"}
