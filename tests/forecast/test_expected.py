"""What is shown before a yes: comparisons, bytes, time, and the warning that matters most."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from accord.agreement.document import Agreement, Expected
from accord.datasets.people import generate_people
from accord.datasets.starter import starter
from accord.fields.load import load_records
from accord.forecast.expected import Outlook, look_ahead
from accord.planning.figures import Range, TimeSpent
from accord.planning.plan import Own, PlanQuestion, price_agreed, route
from accord.privacy.budget import Budget
from accord.run.offer import describe, make_offer
from accord.side import Side
from accord.state.database import Database
from accord.state.ledger import Ledger
from tests.planning.worlds import LAN, birth_key
from tests.protocols.worlds import agreement, records
from tests.run.test_offer import ask

ROWS = [(1, 1), (9, 9), (3, 12)]


def expecting(a: int, b: int) -> Agreement:
    return Agreement.model_validate(agreement().model_dump(mode="json") | {"expected": {"A": a, "B": b}})


def test_without_sizes_nothing_is_said() -> None:
    assert look_ahead(agreement(), None, None) is None
    assert look_ahead(agreement(), Side.A, None) is None


def test_a_partner_is_taken_to_be_as_large_and_that_is_said() -> None:
    agreed = agreement()
    found = look_ahead(agreed, Side.B, records(ROWS, agreed))
    assert found is not None
    assert found.assumed
    assert found.plan.sizes == (3, 3)
    assert "for a partner table of 3 records: it is assumed" in found.describe()


def test_the_agreement_says_what_it_expects() -> None:
    agreed = expecting(40, 50)
    alone, mine = (
        look_ahead(agreed, None, None),
        look_ahead(agreed, Side.A, records(ROWS, agreed)),
    )
    assert alone is not None
    assert mine is not None
    assert (alone.plan.sizes, mine.plan.sizes) == ((40, 50), (3, 50))
    assert "for tables of 40 and 50 records, as agreed" in alone.describe()
    assert "for a partner table of 50 records, as agreed" in mine.describe()
    assert set(alone.to_json()) == {
        *("records", "assumed", "comparisons", "bytes", "seconds", "seconds_on_this_machine", "network"),
        "warning",
    }


def test_a_table_whose_side_is_not_named_tells_as_much() -> None:
    agreed = expecting(40, 5)
    held = records(ROWS, agreed)
    found, named = look_ahead(agreed, None, held), look_ahead(agreed, Side.B, held)
    assert found is not None
    assert named is not None
    # But for a moment of the processor's clock.
    assert found.plan.agreed.comparisons == named.plan.agreed.comparisons


def test_what_matches_spare_is_expected_of_the_overlap() -> None:
    routed = route(starter("people"), PlanQuestion((1_500, 1_500), LAN))
    assert routed is not None
    sized = routed.model_copy(update={"expected": Expected(A=1_500, B=1_500)})
    cascading = sized.model_copy(update={"one_to_one": "pairs"})
    few, many = (look_ahead(cascading, None, None, overlap) for overlap in (0.1, 0.9))
    assert few is not None
    assert many is not None
    assert many.plan.agreed.comparisons.expected < 0.7 * few.plan.agreed.comparisons.expected
    assert "90%" in many.describe()
    assert (whole := look_ahead(sized, None, None, 0.9)) is not None
    assert "90%" not in whole.describe()


def told(processor: float, network: float) -> str:
    """What is said of a run in which the processor and the network would each take so long."""
    found = look_ahead(expecting(40, 50), None, None)
    assert found is not None
    options = tuple(
        replace(
            one,
            work=TimeSpent(processor, network, 0.0),
            seconds=Range(0.0, max(processor, network), 1e9),
        )
        for one in found.plan.options
    )
    return replace(found, plan=replace(found.plan, options=options)).describe()


def test_time_is_said_of_this_machine_and_of_the_line_by_itself() -> None:
    line = "a line of 100 Mbit/s and 20 ms"
    assert f"24 min on this machine; 43 min on {line} (the network takes the time)" in told(1440, 2580)
    assert f"24 min on this machine and {line}; " in told(1440, 10)


def test_the_consent_says_that_no_epsilon_is_needed(tmp_path: Path) -> None:
    """Four points in 16 cells: dummies alone take a thousand times the pairs that there are."""
    agreed, ledger = agreement(), Ledger(Database(tmp_path))
    ledger.set_budget("set", Budget())
    held = records(ROWS, agreed)
    outlook = look_ahead(agreed, Side.A, held)
    said = describe(make_offer(agreed, Side.A, held, ledger, ask(agreed), (), (), outlook))
    assert "\nExpected     " in said
    assert "Warning: No ε need be spent: " in said
    assert "Expected" not in describe(make_offer(agreed, Side.A, held, ledger, ask(agreed)))


def test_the_newcomers_example_is_warned_in_check_and_in_the_consent(tmp_path: Path) -> None:
    """A key on the date of birth, 199 and 220 people: dummies in 47,482 bins against 43,780 pairs."""
    agreed = Agreement.model_validate(
        birth_key().model_dump(mode="json") | {"expected": {"A": 199, "B": 220}}
    )
    held = load_records(generate_people(199, None, 0).a, agreed.fields, agreed.salt)
    own = Own(Side.A, held)
    outlook = Outlook(price_agreed(agreed, PlanQuestion((199, 220), LAN), own), assumed=False)
    assert outlook.warning is not None
    assert outlook.warning.code == "no-epsilon-needed"
    assert " for 43,780 comparisons, where " in outlook.warning.text
    ledger = Ledger(Database(tmp_path))
    ledger.set_budget("set", Budget())
    said = describe(make_offer(agreed, Side.A, held, ledger, ask(agreement()), (), (), outlook))
    assert "Warning: No ε need be spent" in said
