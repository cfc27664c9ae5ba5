"""The Laplace Protocol's noise: for each side as agreed, for records or for people."""

from __future__ import annotations

import pytest

from accord.agreement.document import Agreement
from accord.privacy.calibration import calibrate
from accord.privacy.events import NoisyCounts
from accord.privacy.release import Snapshot
from accord.protocols.all_pairs import AllPairs
from accord.side import Side
from accord.state.ledger import Ask
from tests.protocols import worlds


def agreement(records_per_person: int, noise: str = "geometric") -> Agreement:
    """With that many records a person on side A."""
    plain = worlds.agreement().model_dump(mode="json")
    plain["protocol"]["A"] |= {"records_per_person": records_per_person, "noise": noise}
    return Agreement.model_validate(plain)


def released(agreed: Agreement, side: Side) -> NoisyCounts:
    event = agreed.protocol.release(agreed.task, side, 10).event
    assert isinstance(event, NoisyCounts)
    return event


@pytest.mark.parametrize("noise", ["geometric", "gaussian"])
def test_the_noise_hides_all_records_of_a_person(noise: str) -> None:
    agreed = agreement(3, noise)
    bins = agreed.plan.per_record(Side.A)
    privacy = agreed.protocol.model_dump(mode="json")["A"]
    setting = calibrate(noise, privacy["epsilon"], privacy["delta"], bins, records_per_person=3)
    event = released(agreed, Side.A)
    assert (event.noise, event.records_per_person) == (setting.noise, 3)
    assert (event.cost.epsilon, event.cost.delta) == (setting.epsilon, setting.delta)
    assert released(agreed, Side.B).records_per_person == 1
    most = agreed.protocol.padding(agreed.task, Side.A, 10), agreement(1, noise)
    assert most[0] != most[1].protocol.padding(most[1].task, Side.A, 10)


def test_noise_for_records_is_not_used_for_people() -> None:
    """Nor the other way round: they are two releases under any snapshot."""
    keys = set()
    for count in (1, 2, 3):
        agreed = agreement(count)
        release = agreed.protocol.release(agreed.task, Side.A, 2)
        assert release.event is not None
        keys.add(Ask("r", "d", "p", b"", release.place, release.event, Snapshot("s", b"")).key)
    assert len(keys) == 3


def test_whom_a_promise_covers() -> None:
    agreed = agreement(5)
    assert [agreed.protocol.records_per_person(agreed.task, side) for side in Side] == [5, 1]
    assert AllPairs(name="all-pairs").records_per_person(agreed.task, Side.A) is None
