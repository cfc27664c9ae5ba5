"""What a run will take, promise and keep, before it is run: `plan`, `check` and the consent show it."""

from __future__ import annotations

import itertools
import os
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import accord
from accord.agreement.document import Agreement
from accord.agreement.file import parse_agreement
from accord.datasets.starter import starter_text
from accord.errors import DeclinedError, RefusedError, UsageError
from accord.fields.load import load_records
from accord.forecast import pace, room
from accord.forecast.expected import Outlook, look_ahead
from accord.forecast.promises import AGAIN, afterwards, composed, side_facts
from accord.planning.figures import Range, TimeSpent
from accord.planning.plan import Own, PlanQuestion, price_agreed
from accord.privacy.budget import Budget
from accord.privacy.calibration import calibrate
from accord.privacy.events import AllPairs, Cost, Promise, released
from accord.run.offer import Offer, describe, make_offer
from accord.side import Side
from accord.state.ledger import Ledger
from accord.state.runs import open_run
from accord.state.store import Store
from tests.learning.worlds import ROUTED
from tests.planning.worlds import LAN, birth_key
from tests.prepared import people
from tests.protocols.worlds import agreement, records
from tests.run import worlds
from tests.run.test_offer import ask

AGREED = agreement()
ROWS = [(1, 1), (9, 9), (3, 12)]


def expecting(a: int, b: int, agreed: Agreement = AGREED) -> Agreement:
    return Agreement.model_validate(agreed.model_dump(mode="json") | {"expected": {"A": a, "B": b}})


def look(agreed: Agreement, *given: Any) -> Outlook:
    """What is expected of a run."""
    found = look_ahead(agreed, *given)
    assert found is not None
    return found


def test_a_plan_follows_from_counts_given_or_agreed() -> None:
    found = accord.plan(AGREED, records=(100, 80), network="lan")
    assert (found.sizes, found.network) == ((100, 80), "1000/0.5")
    assert accord.plan(expecting(7, 9)).sizes == (7, 9)
    with pytest.raises(UsageError) as raised:
        accord.plan(AGREED)
    assert "`records=`" in str(raised.value)


@pytest.mark.parametrize(
    "wish",
    [
        *({"recall": 1.5}, {"max_time": 0}, {"max_bytes": -1}, {"overlap": 2.0}, {"network": "fast"}),
        *({"max_epsilon": -1}, {"max_epsilon": float("nan")}, {"covered": 1.1}, {"overlap": -0.1}),
        *({"records": records} for records in ((5,), (0, 5), (5, 0), (1, 20_000_001))),
    ],
    ids=str,
)
def test_a_wish_that_means_nothing_is_refused(wish: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        accord.plan(AGREED, **{"records": (5, 5)} | wish)


def test_the_least_of_many_tries_is_the_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    for tick, found in ((0.0, 1 / 8), (1.0, 8.0), (9.1e-4, 1.0), (4.55e-4, 0.5)):
        ticks = itertools.count(step=tick)
        monkeypatch.setattr("accord.forecast.pace.time.process_time", ticks.__next__)
        assert pace.measure_pace() == pytest.approx(found)


@pytest.mark.parametrize(
    ("agreed", "side", "held", "sizes", "assumed"),
    [
        (AGREED, Side.B, True, (3, 3), True),
        (AGREED, None, True, (3, 3), True),
        (expecting(40, 50), None, False, (40, 50), False),
        (expecting(40, 50), Side.A, True, (3, 50), False),
        # A table whose side is not named is taken for that of the nearest size.
        (expecting(40, 5), None, True, (40, 3), False),
    ],
)
def test_sizes_are_agreed_or_those_of_the_own_table(
    agreed: Agreement, side: Side | None, held: bool, sizes: tuple[int, int], assumed: bool
) -> None:
    found = look(agreed, side, records(ROWS, agreed) if held else None)
    assert (found.plan.sizes, found.assumed) == (sizes, assumed)
    assert f"{sizes[side is Side.A]:,}" in found.describe()
    assert {*found.to_json()} == {
        *("records", "assumed", "comparisons", "bytes", "seconds", "seconds_on_this_machine", "network"),
        "warning",
    }
    assert [look_ahead(AGREED, one, None) for one in (None, Side.A)] == [None, None]


def test_what_matches_spare_is_expected_of_the_overlap() -> None:
    sized = expecting(400, 400, parse_agreement(ROUTED))
    cascading = sized.model_copy(update={"one_to_one": "pairs"})
    few, many = (look(cascading, None, None, overlap) for overlap in (0.1, 0.9))
    assert many.plan.agreed.comparisons.expected < 0.7 * few.plan.agreed.comparisons.expected
    assert ["90%" in one.describe() for one in (many, look(sized, None, None, 0.9))] == [True, False]


@pytest.mark.parametrize(("network", "there"), [(2580.0, ["24 min", "43 min"]), (10.0, ["24 min"])])
def test_time_is_that_of_this_machine_and_of_a_slow_line(network: float, there: list[str]) -> None:
    found = look(expecting(40, 50), None, None)
    work, seconds = TimeSpent(1440.0, network, 0.0), Range(0.0, max(1440.0, network), 1e9)
    options = tuple(replace(one, work=work, seconds=seconds) for one in found.plan.options)
    told = replace(found, plan=replace(found.plan, options=options)).describe()
    assert [time for time in ("24 min", "43 min") if time in told] == there
    assert all(number in told for number in ("100", "20"))


def test_the_consent_warns_where_no_epsilon_is_needed(tmp_path: Path) -> None:
    """A key on the date of birth, 199 and 220 people: dummies in 47,482 bins against 43,780 pairs."""
    agreed = expecting(199, 220, birth_key())
    own = Own(Side.A, load_records(people(199).a, agreed.fields, agreed.salt))
    outlook = Outlook(price_agreed(agreed, PlanQuestion((199, 220), LAN), own), assumed=False)
    assert outlook.warning is not None
    assert outlook.warning.code == "no-epsilon-needed"
    assert "43,780" in outlook.warning.text
    held, ledger = records(ROWS, AGREED), Ledger(Store(tmp_path))
    ledger.set_budget("set", Budget())
    for given, warns in (((outlook,), True), ((), False)):
        told = describe(make_offer(AGREED, Side.A, held, ledger, ask(AGREED), (), (), *given))
        assert (outlook.warning.text in " ".join(told.split())) == warns == ("43,780" in told)


# -- what is promised ---------------------------------------------------------------------------------------

HALF = Promise(Cost(Fraction(1, 2), Fraction("1e-9")))


def test_a_side_of_laplace() -> None:
    agreed, setting = agreement(style="replicate"), calibrate("geometric", "1", "1e-3", 4)
    facts = side_facts(agreed, Side.B, 5_000)
    assert facts.cost == Cost(Fraction(1), Fraction(1, 1000))
    assert facts.noise is not None
    assert (facts.noise.delta_exact, facts.noise.bins_per_record) == (setting.delta_exact, 4)
    assert facts.dummies == pytest.approx(16 * setting.expected_dummies)
    assert facts.again == composed([released(setting)] * AGAIN)
    assert facts.again.sums == Cost(Fraction(10), Fraction(1, 100))
    assert 3 < facts.again.epsilon < 10
    assert ["1/n" in warning for warning in facts.warnings] == [True]
    assert side_facts(agreed, Side.B, None).warnings == ()
    free = side_facts(agreement(protocol="all-pairs"), Side.A, None)
    assert (free.cost, free.noise, free.dummies) == (AllPairs().cost, None, 0)
    assert free.again == composed([AllPairs()] * AGAIN)


@pytest.mark.parametrize(
    ("budget", "allowed"),
    [
        (Budget(Cost(Fraction(3), Fraction(1, 100))), True),
        (Budget(Cost(Fraction(1, 2), Fraction(1, 10_000))), False),
        (Budget(None, 4), True),
        (Budget(None, 3), False),
        (Budget(), True),
    ],
)
def test_a_run_is_added_to_what_was_spent_and_the_budget_is_asked(budget: Budget, allowed: bool) -> None:
    found = afterwards(AGREED, Side.A, None, "patients", [HALF, HALF], 3, budget)
    assert found is not None
    assert (found.before.releases, found.after.releases) == (2, 3)
    assert found.before.sums == Cost(Fraction(1), 2 * HALF.cost.delta)
    assert found.after.sums == Cost(Fraction(2), 2 * HALF.cost.delta + Fraction(1, 1000))
    assert (found.limited, found.refusal == "") == (budget != Budget(), allowed)


def test_a_side_that_promises_to_people() -> None:
    text = starter_text("products", "00000000")
    agreed = parse_agreement(text.replace("epsilon = 1.6", "epsilon = 1.6\nrecords_per_person = 2", 1))
    of_people, of_records = (side_facts(agreed, side, None) for side in Side)
    assert (of_people.records_per_person, of_records.records_per_person) == (2, 1)
    assert of_people.cost == of_records.cost
    assert of_people.noise is not None
    assert of_people.beyond <= of_people.noise.delta_exact * (1 + 1e-9)
    assert of_people.dummies > 1.9 * of_records.dummies


def predicted(rows: int, length: int) -> tuple[int, int]:
    table = worlds.table([(1, 2)] * rows, "a").append_column("note", pa.array(["n" * length] * rows))
    return room.predict(AGREED.task, Side.A, load_records(table, AGREED.fields, AGREED.salt, ["note"]))


def test_a_prediction_grows_with_records_and_with_what_is_disclosed() -> None:
    state, out = predicted(100, 10)
    assert predicted(200, 10) > (state, out)
    more_state, more_out = predicted(100, 1010)
    assert (more_state - state, more_out - out) == (100_000, 200_000)


def test_a_prediction_covers_what_a_run_keeps(tmp_path: Path, quick: None) -> None:
    """Frames and tags of a small run are more than its records."""
    one, two = worlds.introduce(tmp_path, AGREED)
    linked, _ = worlds.link_both(one, two, AGREED)
    rows = worlds.table(worlds.A_ROWS, "a")
    held = load_records(rows, AGREED.fields, AGREED.salt, AGREED.disclosed(Side.A))
    run = open_run(one.state, linked.run)
    with one.state.store.reading() as state:
        kept = len(run.read("slots")) + sum(len(row["content"]) for row in state.rows("step"))
    assert kept < room.predict(AGREED.task, Side.A, held)[0] + 4096


@pytest.mark.parametrize(("free", "warned"), [(0, True), (1 << 40, False)])
def test_the_owner_is_warned_before_the_partner_is_called(
    free: int, warned: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "free_bytes", lambda folder: free)
    one, _ = worlds.introduce(tmp_path, AGREED)
    offers: dict[str, Offer] = {}
    given = worlds.options(one, worlds.A_ROWS, AGREED) | {
        "listen": "127.0.0.1:0",
        "confirm": lambda offer: offers.setdefault("one", offer) is None,
    }
    with pytest.raises(DeclinedError):
        accord.link(**given, out=tmp_path / "out.csv", tell=one.told.append)
    offer = offers["one"]
    assert bool(offer.room) is warned
    assert (str(one.state.folder) in describe(offer)) is warned
    assert not one.told


def test_folders_on_other_disks_are_judged_by_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = load_records(worlds.table(worlds.A_ROWS, "a"), AGREED.fields, AGREED.salt)
    state, out = tmp_path / "state", tmp_path / "results"
    for folder in (state, out):
        folder.mkdir()
    kept, written = room.predict(AGREED.task, Side.A, held)

    def warnings(*free: int) -> int:
        monkeypatch.setattr(room, "free_bytes", dict(zip((state, out), free, strict=False)).__getitem__)
        return len(room.warn_of_room(AGREED.task, Side.A, held, state, out / "out.csv"))

    assert [warnings(kept + written), warnings(kept + written - 1)] == [0, 1]
    monkeypatch.setattr(room, "_device", lambda folder: len(str(folder)))
    assert [warnings(kept, written), warnings(kept - 1, written - 1)] == [0, 2]


def test_more_pairs_of_slots_than_numbers_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A match is kept as one number of 64 bits, whatever memory there is."""
    assert np.iinfo(np.int64).max == room.MOST_PAIRS
    monkeypatch.setattr(os, "sysconf", lambda name: 1 << 40)
    task, size = AGREED.task, 1 << 30
    most = room.most_slots(task, Side.A, size) * room.most_slots(task, Side.B, size)
    assert most < 1 << 63
    monkeypatch.setattr(room, "MOST_PAIRS", most)
    room.require_room(task, Side.A, "bob", size, size)
    with pytest.raises(RefusedError):
        room.require_room(task, Side.A, "bob", size, size + 1)
