"""The choice rule: the same on both sides, wide groups where blocks are wide and lines slow."""

from __future__ import annotations

import numpy as np
import pytest

from accord.errors import UsageError
from accord.network import Network
from accord.secure.blocks import Blocks
from accord.secure.cost import price
from accord.secure.ot.compiler import compile_circuit
from accord.secure.ot.settings import GROUPS, USUAL, Settings
from benchmarks.workload import RULES

HAMMING = compile_circuit(RULES["hamming50"], "ot")


def square(width: int, blocks: int = 1) -> Blocks:
    return Blocks.of_sizes(np.full(blocks, width), np.full(blocks, width))


def groups_of(settings: Settings, *widths: int) -> list[int]:
    sizes = np.array(widths)
    return settings.groups(HAMMING, Blocks.of_sizes(sizes, sizes)).tolist()


def test_groups_grow_with_the_block_and_with_the_slowness_of_the_line() -> None:
    assert groups_of(USUAL, 1, 8, 32, 100, 1000) == [1, 1, 2, 4, 4]
    slow, fast = Settings(Network(10, 20)), Settings(Network(10_000, 1))
    assert groups_of(slow, 1, 1000) == [1, 6]
    assert groups_of(fast, 1, 1000) == [1, 2]


def test_every_block_has_its_own_and_empty_blocks_do_no_harm() -> None:
    sizes = np.array([1000, 0, 3]), np.array([1000, 9, 0])
    assert USUAL.groups(HAMMING, Blocks.of_sizes(*sizes)).tolist()[0] == 4
    assert USUAL.groups(HAMMING, Blocks.of_sizes(np.zeros(0, int), np.zeros(0, int))).shape == (0,)
    assert groups_of(Settings(group=3), 1, 1000) == [3, 3]


def test_a_slow_line_takes_the_large_field_and_silence_a_fast_one_neither() -> None:
    assert (USUAL.k, USUAL.saves) == (8, True)
    fast = Settings(Network(1000, 1))
    assert (fast.k, fast.saves) == (4, False)
    assert not Settings(silent=False).saves
    assert Settings(field=2).k == 2


def test_what_differs_is_said_in_the_hello() -> None:
    others = [Settings(Network(1000, 1)), Settings(silent=False), Settings(field=4), Settings(group=2)]
    assert len({settings.hello for settings in (USUAL, *others)}) == 5


@pytest.mark.parametrize(
    ("rule", "width", "most"),
    [
        ("hamming50", 1000, 16),
        ("hamming50", 100, 22),
        ("hamming50", 32, 37),
        ("euclidean2d", 1000, 80),
        ("dice128", 1000, 70),
        ("dice1024", 1000, 400),
    ],
)
def test_bytes_a_pair_between_two_organisations(rule: str, width: int, most: int) -> None:
    over = square(width, 10**6 // width**2)
    assert price(RULES[rule], over).bytes / over.pairs < most


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_that_the_rule_did_not_choose_would_take_longer_by_its_own_account(group: int) -> None:
    over = square(1000)
    (chosen,) = USUAL.groups(HAMMING, over).tolist()
    assert USUAL._time(HAMMING, over, chosen)[0] <= USUAL._time(HAMMING, over, group)[0]


@pytest.mark.parametrize("text", ["", "100", "a/b", "0/20", "100/-1", "inf/1", "100/20/3"])
def test_what_is_no_network_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="etwork"):
        Network.parse(text)
