"""What a linkage is given, what it would release and spend, and what its owner is told.

The name of a release follows the agreement and the owner's word, and never the data. The screen's words are
in the transcripts of commands; here is that each fact changes them.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import accord
from accord.agreement.document import Agreement
from accord.errors import UncoveredError, UsageError
from accord.fields.load import load_records
from accord.notices import _KINDS, Connected, Progress, decode_notice
from accord.peer.connection import Reach
from accord.privacy.budget import Budget
from accord.privacy.release import Snapshot
from accord.protocols.parts.slots import content_digest
from accord.run import request as request_module
from accord.run.narrator import Narrator
from accord.run.offer import Offer, describe, make_offer
from accord.run.remembered import Remembered, remember
from accord.run.request import Output, Request, Resumption, WorkerChoice, request_again, store
from accord.side import Side
from accord.state.ledger import Ask, Ledger
from accord.state.manifest import Manifest, decode_manifest
from accord.state.store import Store
from accord.table.layout import Layout
from tests.protocols.worlds import Rows, agreement, records, routed
from tests.run import faults
from tests.run.faults import Wire
from tests.test_vectors import GOOD, octets_of

ROWS: Rows = [(1, 1), (9, 9)]
NOW = datetime(2026, 1, 1, tzinfo=UTC)


# -- the name of a release -----------------------------------------------------------------------------------


def ask(agreed: Agreement, side: Side = Side.A, rows: Rows = ROWS) -> Ask:
    held = records(rows, agreed)
    found = agreed.protocol.release(agreed.task, side, len(held))
    assert found.event is not None
    content = content_digest(agreed.plan, side, held)
    return Ask("offer", "set", "bob", bytes(32), found.place, found.event, Snapshot("now", content))


def key(agreed: Agreement, side: Side = Side.A, rows: Rows = ROWS) -> bytes | None:
    return ask(agreed, side, rows).key


def changed(**changes: Any) -> Agreement:
    plain = agreement().model_dump(mode="json")
    for path, value in changes.items():
        *way, last = path.split("__")
        part = plain
        for name in way:
            part = part[name]
        part[last] = value
    return Agreement.model_validate(plain)


def test_noise_is_drawn_anew_exactly_where_the_counts_may_be_others() -> None:
    same = [
        changed(parties__B="another partner"),
        changed(protocol__greedy=False),
        changed(protocol__prune=50),
        changed(protocol__B__epsilon="2"),
        changed(disclose__A=["x"]),
        changed(salt="11111111"),
    ]
    first = key(agreement())
    assert {key(agreed) for agreed in same} == {first, key(agreement(), rows=[(3, 14)])}
    other = [
        key(agreement(), Side.B),
        key(changed(fields__x__missing="skip")),
        key(changed(protocol__A__epsilon="2")),
        key(changed(protocol__A__delta="1e-4")),
        key(changed(protocol__A__noise="gaussian")),
        key(agreement(style="replicate")),
        key(changed(fields__x__max=19)),
    ]
    assert len({first, *other}) == 1 + len(other)


def test_the_salt_is_in_a_name_only_where_free_text_is_hashed_with_it() -> None:
    def place(salt: str = "00000000", town: str = "", **name: str) -> bytes:
        plain = agreement().model_dump(mode="json") | {"salt": salt}
        plain["fields"]["name"] = {"type": "text", "encoder": "hash"} | name
        if town:
            plain["fields"]["town"] = {"type": "text", "encoder": "hash"}
            plain["blocking"] = [{"kind": "key", "field": town, "buckets": 8}]
        agreed = Agreement.model_validate(plain)
        return agreed.protocol.release(agreed.task, Side.A, 5).place

    assert place(missing="skip") == place("11111111", missing="skip")
    assert place(town="town") != place("11111111", town="town")
    # How a text is encoded leaves nobody out.
    assert place(missing="skip") == place(missing="skip", encoder="paper") != place()


def test_a_snapshot_stands_for_ids_and_bins_in_any_order() -> None:
    def content(rows: Rows, prefix: str = "r") -> bytes:
        return content_digest(agreement().plan, Side.A, records(rows, agreement(), prefix))

    agreed, table = agreement(), pa.table({"id": ["r1", "r0"], "x": [9, 1], "y": [9, 1]})
    loaded = load_records(table, agreed.fields, agreed.salt, agreed.disclosed(Side.A))
    assert content_digest(agreed.plan, Side.A, loaded) == content(ROWS)
    # Values that move within a cell leave the bins as they are.
    assert content([(2, 1), (8, 9)]) == content(ROWS)
    others = [content([(1, 1), (9, 5)]), content([(1, 1)]), content([*ROWS, (3, 3)]), content(ROWS, "s")]
    left_out = content_digest(agreed.plan, Side.A, replace(loaded, left_out=1))
    assert len({content(ROWS), left_out, *others}) == 6


# -- what the owner is told ----------------------------------------------------------------------------------


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    made = Ledger(Store(tmp_path))
    made.set_budget("set", Budget(None, 3))
    return made


def offer(ledger: Ledger, asked: Ask | None = None, agreed: Agreement | None = None, **more: Any) -> Offer:
    agreed = agreed or agreement()
    return make_offer(agreed, Side.A, records(ROWS, agreed), ledger, asked or ask(agreed), **more)


def test_an_offer_charges_nothing_and_knows_its_snapshot(ledger: Ledger) -> None:
    new = offer(ledger)
    assert (new.cost, new.account.runs, new.snapshot, new.known) == (new.event.cost, 0, "now", ())
    assert ledger.runs() == ()
    ledger.charge(replace(ask(agreement()), run="r1"), lambda: np.array([1]), NOW)
    again = offer(ledger)
    assert again.cost is not None
    assert (int(again.cost.epsilon), list(again.known)) == (0, ["now"])
    assert (again.account.runs, again.forgotten) == (1, False)
    other = offer(ledger, replace(ask(agreement()), place=b"other"))
    assert other.cost == new.cost
    ledger.forget("r1")
    forgotten = offer(ledger)
    assert (forgotten.cost, forgotten.forgotten) == (new.cost, True)
    unnamed = offer(ledger, replace(ask(agreement()), snapshot=None))
    told = [describe(one) for one in (new, again, other, forgotten, unnamed)]
    assert len(set(told)) == 5


def test_every_fact_of_an_offer_is_on_its_screen(ledger: Ledger) -> None:
    """Also a warning where sums come to hold for fewer records."""
    plain = offer(ledger)
    variants: list[dict[str, Any]] = [
        {"unfinished": ("r1",)},
        {"unfinished": ("r2", "r1")},
        {"room": ("little is left.",)},
        {"unlisted": {"x": (30, 40)}},
        {"unfit": ("some",)},
        {"uncovered": 3},
        {"left_out": 1},
        {"agreement": changed(learnt_from="A linked")},
        {"agreement": changed(most_matches={"A": "50%"})},
    ]
    told = [describe(replace(plain, **variant)) for variant in variants]
    assert len({describe(plain), *told}) == 1 + len(variants)
    assert str(plain) == describe(plain)
    assert "\n" not in repr(plain)
    people = changed(protocol__A__records_per_person=3)
    ledger.charge(replace(ask(people), run="r1"), lambda: np.array([1]), NOW)
    assert len(offer(ledger).warnings) == len(offer(ledger, agreed=people).warnings) + 1


def test_an_answer_is_paid_for_again_under_any_snapshot(ledger: Ledger) -> None:
    plain = routed("x").model_dump(mode="json") | {"disclose": {"A": [], "B": []}}
    noisy = Agreement.model_validate(plain | {"output": {"answer": "count", "epsilon": "1"}})
    exact = Agreement.model_validate(plain | {"output": {"answer": "count", "exact": True}})
    ledger.charge(replace(ask(noisy), run="r1"), lambda: np.array([1]), NOW)
    again = offer(ledger, replace(ask(noisy), run="r2"), noisy)
    assert (again.cost, again.known) == (again.event.cost, ("now",))
    free = offer(ledger, ask(exact), exact)
    assert free.cost is None
    assert describe(free) not in {describe(again), describe(offer(ledger, ask(noisy), noisy))}


def test_every_notice_has_words_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    """And how far it is is told now and then."""
    recorded = (octets_of(vector) for vector in GOOD.values() if vector["format"] == "notice")
    notices, lines = [decode_notice(line.decode()) for line in recorded], list[str]()
    for notice in notices:
        Narrator(lines.append, lambda: 0.0).tell(notice)
    assert len(set(lines)) >= len(_KINDS)
    assert {type(notice) for notice in notices} == set(_KINDS)
    accord.narrate()(notices[0])
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", f"{lines[0]}\n")
    seconds = iter([0.0, *(n / 2 for n in range(60))])
    narrator, told = Narrator(lines.append, lambda: next(seconds)), len(lines)
    for number in range(60):
        narrator.tell(Progress(number, 60, 0, 0, 1.0, None))
    narrator.tell(Connected("bob"))
    assert 4 <= len(lines) - told <= 9


@pytest.mark.usefixtures("quick")
def test_how_many_are_uncovered_stays_with_their_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the ledger and in the owner's report, and not in the receipt. What was allowed stays allowed."""
    both = faults.offices(tmp_path, "routed")
    office = both[Side.A]
    rows = "".join(f"A{i},5,{y}\n" for i, y in enumerate(range(0, 16, 4)))
    office.data.write_text(f"id,x,y\n{rows}")
    with pytest.raises(UncoveredError):
        faults.link(both)
    with monkeypatch.context() as patch:
        patch.setattr(request_module, "UNCOVERED", 1)
        faults.link(both, Wire(12))
    linked = faults.require_linked(faults.resume(both, faults.the_run(both)))
    for side, count in ((Side.A, 4), (Side.B, 0)):
        assert [entry.uncovered for entry in both[side].ledger.runs()] == [count]
        known = remember(both[side].state, linked[side].run)
        assert isinstance(known, Remembered)
        assert known.uncovered == count
        assert "uncovered" not in linked[side].receipt.read_text()


# -- requests ------------------------------------------------------------------------------------------------


def request(**changes: Any) -> Request:
    asked: dict[str, Any] = {"data": Path("/data/a.csv"), "agreement": agreement(), "partner": "bob"}
    return Request(**asked | {"dataset": "table", "reach": Reach(listen=":7000")} | changes)


def manifest(asked: Request) -> Manifest:
    """Of a run that was asked for so."""
    return Manifest("0123", "bob", "A", "table", "", 1, 1, "", "", store(asked))


@pytest.mark.parametrize("snapshot", [None, "2026-11"])
def test_a_request_is_kept_and_what_is_named_anew_replaces_it(snapshot: str | None) -> None:
    layout = Layout(id="key", delimiter=";", encoding="latin-1")
    output, workers = Output(Path("/tmp/pairs.csv"), raw=True), WorkerChoice("8@ray", True)
    asked = request(layout=layout, output=output, workers=workers, snapshot=snapshot)
    kept = decode_manifest(asdict(manifest(asked)))
    # The owner's word for a cluster is for one time.
    once = replace(asked, workers=replace(workers, trust_cluster=False))
    assert request_again(kept, asked.agreement, Resumption()) == once
    new = {"data": Path("/data/moved.csv"), "reach": Reach(connect="partner:1"), "workers": WorkerChoice(2)}
    changes = Resumption(output=Output(Path("/tmp/other.csv"), force=True), **new)  # type: ignore[arg-type]
    there = Output(Path("/tmp/other.csv"), raw=True, force=True)
    assert request_again(kept, asked.agreement, changes) == replace(asked, output=there, **new)  # type: ignore[arg-type]
    # A table that Python had must be named again.
    with pytest.raises(UsageError):
        request_again(manifest(request(data=pa.table({"id": ["1"]}))), agreement(), Resumption())


def test_a_manifest_whose_request_was_changed_is_broken() -> None:
    good = asdict(manifest(request()))
    assert decode_manifest(good) == manifest(request())
    other = {"raw": "yes", "layout": "{", "workers": True, "out": None, "other": 1, "data": 7}
    broken = [good | {"request": good["request"] | {key: value}} for key, value in other.items()]
    broken.append({key: value for key, value in good.items() if key != "request"})
    for content in broken:
        with pytest.raises(ValueError, match="manifest"):
            decode_manifest(content)
