"""Each broken program differs from the honest one in the thing that its name says, and finds the same."""

from __future__ import annotations

import numpy as np
import pytest

from accord.entropy import Seeded
from accord.errors import UsageError
from accord.side import Side
from reproduction.audit.cases import Case, built_in, options
from reproduction.audit.programs import (
    ABORTED,
    BROKEN,
    Maker,
    forgotten_pass,
    half_noise,
    honest,
    redrawn,
    unshuffled,
)
from reproduction.audit.questions import OneRun
from reproduction.audit.views import View


def case(name: str = "laplace") -> Case:
    return built_in(options(name, "1.6", "1e-5") | {"greedy": False})[3]


def seen(maker: Maker, seed: int = 1) -> View:
    return OneRun.of(case(), maker).view(0, Seeded(seed), Seeded(2))


def counts(message: bytes) -> list[int]:
    return np.frombuffer(message[32:], "<i8").tolist()


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_program_finds_the_same_matches(name: str) -> None:
    found = seen(BROKEN[name])
    assert sum(len(places) for _, places in found.answers) == 5


def test_half_the_noise() -> None:
    whole, half = (counts(seen(maker).messages[1]) for maker in (honest, half_noise))
    true = [1, 0, 5]
    assert [h - t for h, t in zip(half, true, strict=True)] == [
        (w - t) // 2 for w, t in zip(whole, true, strict=True)
    ]
    with pytest.raises(UsageError, match="no noise"):
        OneRun.of(case("all-pairs"), half_noise).view(0, Seeded(1), Seeded(2))


def test_unshuffled_slots_begin_with_the_records_in_their_order() -> None:
    def first_slots(maker: Maker) -> list[int]:
        message = seen(maker).messages
        body = next(m for m in message if m.startswith(b"accord disclosed 1\n"))
        slots = np.frombuffer(body[19 + 5 * 4 : 19 + 5 * 12], "<u8")
        return (slots - sum(counts(message[1])[:2])).tolist()

    assert first_slots(unshuffled) == [0, 1, 2, 3, 4]
    assert first_slots(honest) != [0, 1, 2, 3, 4]


def test_redrawn_noise_differs_every_time() -> None:
    opened = [tuple(counts(m)) for m in seen(redrawn).messages if len(m) == 32 + 8 * 3]
    assert len(opened) == ABORTED + 1
    assert len(set(opened)) > ABORTED // 2


def test_a_calibration_that_forgets_a_pass_draws_less_noise_where_there_are_two() -> None:
    cases = built_in(options("laplace", "1.6", "1e-5") | {"greedy": False})
    by_name = {each.name: each for each in cases if each.side is Side.A}

    def drawn(name: str, maker: Maker) -> float:
        views = [OneRun.of(by_name[name], maker).view(0, Seeded(seed), Seeded(2)) for seed in range(6)]
        return float(np.mean([sum(counts(seen.messages[1])) for seen in views]))

    assert drawn("alone", forgotten_pass) == drawn("alone", honest)
    # About 10 instead of 20 dummies in each of six bins; a false alarm is beyond six deviations.
    assert drawn("passes", forgotten_pass) < 0.75 * drawn("passes", honest)
    with pytest.raises(UsageError, match="no noise"):
        OneRun.of(case("all-pairs"), forgotten_pass).view(0, Seeded(1), Seeded(2))
