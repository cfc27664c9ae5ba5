"""The Paillier engines keep what every engine must keep: the same tests, with their worlds."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.secure import test_engine as contract
from tests.secure.engines import World

test_dummies_never_match_not_even_each_other = contract.test_dummies_never_match_not_even_each_other
test_every_leaf_alone_and_negated = contract.test_every_leaf_alone_and_negated
test_random_circuits_over_random_blocks = contract.test_random_circuits_over_random_blocks
test_random_scores_over_random_blocks = contract.test_random_scores_over_random_blocks
test_sizes = contract.test_sizes

NAMES = ["paillier", "paillier-packed"]


@pytest.fixture(params=NAMES)
def world(request: pytest.FixtureRequest, world_of: Callable[[str], World]) -> World:
    return world_of(request.param)


@pytest.fixture(params=NAMES)
def real(request: pytest.FixtureRequest, world_of: Callable[[str], World]) -> World:
    return world_of(request.param)
