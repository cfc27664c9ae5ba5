"""People: households that share what households share, places that belong together, names that exist."""

from __future__ import annotations

import numpy as np
import pytest

from accord.datasets.people_world import FIRST_BIRTH, TODAY, WIDTH, People, census, draw_people, nicknames


def test_names_are_as_frequent_as_in_the_census() -> None:
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


@pytest.fixture(scope="module")
def people() -> People:
    return draw_people(np.random.default_rng(5), 50_000)


def test_households_share_an_address_and_mostly_a_surname(people: People) -> None:
    together = np.flatnonzero(people.household[1:] == people.household[:-1])
    assert 0.4 < len(together) / len(people) < 0.7
    for name in ("street", "city", "postcode"):
        column = getattr(people, name)
        assert (column[together] == column[together + 1]).all()
    assert (people.surname[together] == people.surname[together + 1]).mean() > 0.85
    lines = together[~people.mobile[together] & ~people.mobile[together + 1]]
    assert (people.phone[lines] == people.phone[lines + 1]).all()
    strangers = np.flatnonzero(people.household[1:] != people.household[:-1])
    assert (people.surname[strangers] == people.surname[strangers + 1]).mean() < 0.01


def test_twins(people: People) -> None:
    second = np.flatnonzero(people.twin)
    assert 0.002 < len(second) / len(people) < 0.03
    for name in ("household", "birth", "surname", "street", "phone"):
        column = getattr(people, name)
        assert (column[second] == column[second - 1]).all()
    assert (people.given[second] != people.given[second - 1]).all()


def test_ages(people: People) -> None:
    assert people.birth.min() >= FIRST_BIRTH
    assert people.birth.max() <= TODAY
    ages = (TODAY - people.birth).astype(np.int64) / 365.25
    shares, _ = np.histogram(ages, [0, 18, 40, 65, 110])
    assert (shares / len(people) > [0.1, 0.2, 0.2, 0.05]).all()
    assert 0.45 < people.female.mean() < 0.55
    assert (people.email[ages < 11] == b"").all()
    assert 0.5 < (people.email != b"").mean() < 0.8


def test_postcodes_belong_to_a_city(people: People) -> None:
    both = np.char.add(people.city, people.postcode)
    assert len(set(both.tolist())) == len(set(people.postcode.tolist()))
    assert len(set(people.city.tolist())) > 300
    assert all(len(code) == 5 and code.isdigit() for code in people.postcode.tolist())


def test_maiden_names_are_those_of_women_in_couples(people: People) -> None:
    had = people.maiden != b""
    assert people.female[had].all()
    assert 0.1 < had.mean() < 0.3
    assert (people.maiden[had] != people.surname[had]).all()


@pytest.mark.parametrize("count", [1, 2, 7])
def test_few_people(count: int) -> None:
    assert len(draw_people(np.random.default_rng(count), count)) == count
