"""Records that share a key with too many others: counted for their owner before anybody is called, limited by
the owner alone, and told to nobody else."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from accord.agreement.document import Agreement
from accord.errors import DeclinedError, UncoveredError, UsageError
from accord.privacy.budget import Budget
from accord.run import request
from accord.run.link import Linked
from accord.run.offer import Offer, describe, make_offer
from accord.run.remembered import Remembered, remember
from accord.run.verbs import link
from accord.side import Side
from accord.state.database import Database
from accord.state.ledger import Ledger
from tests.cli.terminal import Done, accord
from tests.protocols.test_routed import agreement
from tests.protocols.worlds import Rows, records
from tests.run import faults, worlds
from tests.run.faults import Wire
from tests.run.test_offer import ask
from tests.run.worlds import Organisation

pytestmark = pytest.mark.usefixtures("quick")

ROWS: Rows = [(5, 0), (5, 3), (5, 6), *((x, 9) for x in range(6, 13))]
"""Three of ten share a key with two others."""
AGREED = agreement("x", cap=2)


def given(own: Organisation, agreed: Agreement = AGREED, **more: Any) -> dict[str, Any]:
    return worlds.options(own, ROWS, agreed) | {"listen": "127.0.0.1:0", "tell": own.told.append} | more


def linking(own: Organisation, agreed: Agreement = AGREED, **more: Any) -> Linked:
    options = given(own, agreed, **more)
    return link(options.pop("data"), options.pop("agreement"), **options)


def never(offer: Offer) -> bool:
    raise AssertionError("nobody was to be asked")


def decline(offer: Offer) -> bool:
    return False


@pytest.mark.parametrize("share", [None, 0, "0%", 0.29, "29.9%", "1/4"])
def test_with_more_than_the_owner_allows_the_run_does_not_begin(share: Any, tmp_path: Path) -> None:
    own, other = worlds.introduce(tmp_path, AGREED)
    with pytest.raises(UncoveredError) as refused:
        linking(own, confirm=never, uncovered=share)
    assert refused.value.exit_code == 6
    assert not own.told
    assert worlds.untouched(own, other)


@pytest.mark.parametrize("share", [0.3, "30%", "3/10", 1, "100%"])
def test_with_as_many_as_the_owner_allows_the_owner_is_asked(share: Any, tmp_path: Path) -> None:
    own, other = worlds.introduce(tmp_path, AGREED)
    with pytest.raises(DeclinedError):
        linking(own, confirm=decline, uncovered=share)
    assert worlds.untouched(own, other)


@pytest.mark.parametrize("share", [-0.1, 1.1, "101%", "some", "%", True])
def test_a_share_is_a_part_of_the_whole(share: Any, tmp_path: Path) -> None:
    own, _ = worlds.introduce(tmp_path, AGREED)
    with pytest.raises(UsageError, match="uncovered="):
        linking(own, confirm=never, uncovered=share)


@pytest.mark.parametrize(
    ("output", "covered"),
    [({}, ()), ({"to": "A"}, (Side.A,)), ({"answer": "count", "epsilon": "1"}, tuple(Side))],
)
def test_a_promise_without_a_condition_needs_no_limit(
    output: dict[str, Any], covered: tuple[Side, ...], tmp_path: Path
) -> None:
    plain = AGREED.model_dump(mode="json") | {"disclose": {"A": [], "B": []}}
    agreed = Agreement.model_validate(plain | {"output": output})
    for own in worlds.introduce(tmp_path, agreed):
        with pytest.raises(DeclinedError if own.side in covered else UncoveredError):
            linking(own, agreed, confirm=decline)


def test_an_allowed_run_tells_its_owner_and_nobody_else(tmp_path: Path) -> None:
    """In the consent, in the ledger and in the owner's report."""
    both, offers = worlds.introduce(tmp_path, AGREED), []

    def agree(offer: Offer) -> bool:
        offers.append(offer)
        return True

    options = {"data": worlds.table(ROWS, "a"), "confirm": agree, "uncovered": "40%"}
    results = worlds.link_both(*both, AGREED, a_options=options)
    assert all(isinstance(one, Linked) for one in results), results
    (offer,), run = offers, results[0].run
    assert offer.uncovered == 3
    assert "\nNot covered  3 of your 10 records (30.0 %): " in describe(offer)
    books = [json.loads(typed(own, "ledger", "--json").stdout)["runs"][0] for own in both]
    assert [book["uncovered"] for book in books] == [3, 0]
    pages = []
    for own in both:
        for name, how in (("own.html", ()), ("others.html", ("--share",))):
            assert typed(own, "report", run, "--out", name, "--force", *how).returncode == 0
            pages.append((tmp_path / name).read_text())
    assert ["3 of your 10 records" in page for page in pages] == [True, False, False, False]
    known = [remember(own.state, run) for own in both]
    assert [one.uncovered for one in known if isinstance(one, Remembered)] == [3, 0]
    receipts = [json.loads(typed(own, "receipt", run, "--json").stdout) for own in both]
    assert [receipt.pop("signers")["A"]["known_as"] for receipt in receipts] == ["yourself", "alice"]
    assert receipts[0] == receipts[1]
    assert "uncovered" not in receipts[0]


def typed(own: Organisation, *words: str) -> Done:
    return accord(own.state.folder.parent, "--state", str(own.state.folder), *words)


def test_a_timer_stops_with_its_own_message(tmp_path: Path) -> None:
    """A yes to all that is spent is no yes to this."""
    own, other = worlds.introduce(tmp_path, AGREED)
    (tmp_path / "agreed.toml").write_text(AGREED.to_toml())
    rows = "".join(f"r{i},{x},{y}\n" for i, (x, y) in enumerate(ROWS))
    (tmp_path / "a.csv").write_text(f"id,x,y\n{rows}")
    words = ("link", "a.csv", "--agreement", "agreed.toml", "--partner", "bob", "--listen", "127.0.0.1:0")
    for more in ((), ("--yes",), ("--yes", "--uncovered", "29%"), ("--yes", "--json", "--out", "p.csv")):
        done = typed(own, *words, *more)
        assert done.returncode == 6
        assert "--uncovered 30%" in done.stderr
        assert "listening" not in done.stdout + done.stderr
    asked = typed(own, *words, "--uncovered", "30%")
    assert asked.returncode == 2
    assert "Not covered  3 of your 10 records" in asked.stderr
    assert worlds.untouched(own, other)


def test_a_run_that_is_resumed_was_allowed_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both = faults.offices(tmp_path, "routed")
    office = both[Side.A]
    rows = "".join(f"A{i},5,{y}\n" for i, y in enumerate(range(0, 16, 4)))
    office.data.write_text(f"id,x,y\n{rows}")
    with pytest.raises(UncoveredError):
        faults.link(both)
    with monkeypatch.context() as patch:
        patch.setattr(request, "UNCOVERED", 1)
        faults.link(both, Wire(12))
    assert office.run is not None
    assert not office.run.manifest.done
    faults.resume(both, office.run.manifest.run)
    assert office.run.manifest.done
    assert [entry.uncovered for entry in office.ledger.runs()] == [4]


def test_the_screen_has_no_line_where_all_are_covered(tmp_path: Path) -> None:
    ledger = Ledger(Database(tmp_path))
    ledger.set_budget("set", Budget())
    held = records(ROWS, AGREED)
    plain = ask(AGREED, rows=ROWS)
    for count in (0, 3):
        offer = make_offer(AGREED, Side.A, held, ledger, replace(plain, uncovered=count))
        assert offer.uncovered == count
        assert ("Not covered" in describe(offer)) == bool(count)
