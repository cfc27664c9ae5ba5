"""What a run would release: its name follows the agreement and the owner's word, and never the data."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from accord.agreement.document import Agreement
from accord.entropy import Seeded
from accord.fields.columns import Records
from accord.fields.load import load_records
from accord.privacy.budget import Budget
from accord.privacy.events import AllPairs
from accord.privacy.release import Snapshot
from accord.protocols.base import Release
from accord.protocols.parts.slots import content_digest
from accord.run.offer import describe, make_offer
from accord.side import Side
from accord.state.database import Database
from accord.state.ledger import Ask, Ledger
from tests.protocols.test_routed import agreement as routed
from tests.protocols.worlds import Rows, agreement, records
from tests.spent import Spent

ROWS: Rows = [(1, 1), (9, 9)]
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def release(agreed: Agreement, side: Side, held: Records) -> Release:
    return agreed.protocol.release(agreed.task, side, len(held))


def ask(agreed: Agreement, side: Side = Side.A, rows: Rows = ROWS) -> Ask:
    held = records(rows, agreed)
    found = release(agreed, side, held)
    assert found.event is not None
    content = content_digest(agreed.plan, side, held)
    return Ask("offer", "set", "bob", bytes(32), found.place, found.event, Snapshot("now", content))


def key(agreed: Agreement, side: Side = Side.A, rows: Rows = ROWS) -> bytes | None:
    return ask(agreed, side, rows).key


def changed(**changes: Any) -> Agreement:
    plain = agreement().model_dump(mode="json")
    for path, value in changes.items():
        part = plain
        *way, last = path.split("__")
        for name in way:
            part = part[name]
        part[last] = value
    return Agreement.model_validate(plain)


def test_what_the_counts_do_not_depend_on_leaves_the_noise_as_it_is() -> None:
    same = [
        changed(parties__B="another partner"),
        changed(protocol__greedy=False),
        changed(protocol__prune=50),
        changed(protocol__B__epsilon="2"),
        changed(disclose__A=["x"]),
        changed(salt="11111111"),
    ]
    for agreed in same:
        assert key(agreed) == key(agreement())


@given(st.lists(st.tuples(st.integers(0, 15), st.integers(0, 15)), min_size=1, max_size=9))
def test_no_name_depends_on_what_is_in_the_table(rows: Rows) -> None:
    assert key(agreement(), rows=rows) == key(agreement())


def test_a_snapshot_stands_for_ids_and_bins_in_any_order() -> None:
    def content(rows: Rows, prefix: str = "r", **changes: Any) -> bytes:
        return content_digest(agreement().plan, Side.A, records(rows, agreement(), prefix))

    turned = [("r1", 9, 9), ("r0", 1, 1)]
    table = pa.table({"id": [i for i, _, _ in turned], "x": [9, 1], "y": [9, 1]})
    agreed = agreement()
    loaded = load_records(table, agreed.fields, agreed.salt, agreed.disclosed(Side.A))
    assert content_digest(agreed.plan, Side.A, loaded) == content(ROWS)
    # Values that move within a cell leave the bins as they are.
    assert content([(2, 1), (8, 9)]) == content(ROWS)
    others = [content([(1, 1), (9, 5)]), content([(1, 1)]), content([*ROWS, (3, 3)]), content(ROWS, "s")]
    left_out = content_digest(agreed.plan, Side.A, replace(loaded, left_out=1))
    assert len({content(ROWS), left_out, *others}) == 6


def test_what_the_counts_depend_on_makes_another_release() -> None:
    skipping = changed(fields__x__missing="skip")
    other = [
        key(agreement(), Side.B),
        key(skipping),
        key(changed(protocol__A__epsilon="2")),
        key(changed(protocol__A__delta="1e-4")),
        key(changed(protocol__A__noise="gaussian")),
        key(agreement(style="replicate")),
        key(changed(fields__x__max=19)),
    ]
    assert len({key(agreement()), *other}) == 1 + len(other)


def test_all_pairs_draws_nothing() -> None:
    agreed = agreement(protocol="all-pairs")
    held = records(ROWS, agreed)
    found = release(agreed, Side.A, held)
    assert (ask(agreed).key, found.event) == (None, AllPairs())
    assert not found.draw(held, Spent()).any()


def test_noise_is_drawn_when_asked_and_from_the_given_entropy() -> None:
    agreed = agreement()
    held = records(ROWS, agreed)
    draws = [release(agreed, Side.A, held).draw(held, Seeded(seed)) for seed in (1, 1, 2)]
    assert len(draws[0]) == agreed.plan.bins
    assert np.array_equal(draws[0], draws[1])
    assert not np.array_equal(draws[0], draws[2])


def test_an_offer_charges_nothing(tmp_path: Path) -> None:
    agreed, ledger = agreement(), Ledger(Database(tmp_path))
    ledger.set_budget("set", Budget())
    offer = make_offer(agreed, Side.A, records(ROWS, agreed), ledger, ask(agreed))
    assert offer.cost == offer.event.cost
    assert (offer.account.runs, offer.snapshot) == (0, "now")
    assert ledger.runs() == ()


def test_an_offer_mentions_runs_that_wait_and_room_that_lacks(tmp_path: Path) -> None:
    agreed, ledger = agreement(), Ledger(Database(tmp_path))
    ledger.set_budget("set", Budget())
    plain = make_offer(agreed, Side.A, records(ROWS, agreed), ledger, ask(agreed))
    assert "Unfinished" not in describe(plain)
    said = describe(replace(plain, unfinished=("r2",)))
    assert "Unfinished   a run under this agreement; `accord resume r2` continues it\n" in said
    assert "continues it; 1 more in `accord runs`\n" in describe(replace(plain, unfinished=("r2", "r1")))
    assert describe(replace(plain, room=("little is left.",))).endswith("Warning: little is left.")
    unlisted = describe(replace(plain, unlisted={"sex": (30, 40)}))
    assert "Warning: 30 of 40 cells of 'sex' are none of the agreed values." in unlisted


def test_an_offer_says_what_its_promise_rests_on_and_how_much_is_shown(tmp_path: Path) -> None:
    ledger = Ledger(Database(tmp_path))
    ledger.set_budget("set", Budget())
    agreed = Agreement.model_validate(agreement().model_dump() | {"most_matches": {"A": "50%"}})
    for one, bound in ((agreement(), False), (agreed, True)):
        said = describe(make_offer(one, Side.A, records(ROWS, one), ledger, ask(one)))
        assert (
            "This holds against a partner that follows the protocol. One that cheats can learn more" in said
        )
        assert ("Shows        at most 1 record (50%); a run ends before one more\n" in said) == bound
        assert (", but for no more than 50% of all: its id" in said) == bound


def test_an_offer_says_whose_data_the_rule_was_learnt_from(tmp_path: Path) -> None:
    ledger = Ledger(Database(tmp_path))
    ledger.set_budget("set", Budget())

    def said(side: Side, **changes: Any) -> str:
        agreed = changed(**changes)
        return describe(make_offer(agreed, side, records(ROWS, agreed), ledger, ask(agreed, side)))

    assert "learned" not in said(Side.A)
    own, partner = (said(side, learnt_from="A linked") for side in Side)
    name = agreement().party(Side.A)
    for text in (own, partner):
        assert f"Rule         learned from the table of {name} that is linked\n" in text
    warned = (
        f"what the rule reveals about this table of {name}, from which its weights and its threshold were "
        "learned"
    )
    assert warned in own
    assert warned not in partner


def test_an_offer_says_what_is_known_of_a_snapshot(tmp_path: Path) -> None:
    agreed, ledger = agreement(), Ledger(Database(tmp_path))
    ledger.set_budget("set", Budget(None, 3))
    mine = records(ROWS, agreed)

    def said(asked: Ask) -> str:
        return describe(make_offer(agreed, Side.A, mine, ledger, asked))

    assert "Snapshot     'now', new\n" in said(ask(agreed))
    ledger.charge(replace(ask(agreed), run="r1"), lambda: np.array([1]), NOW)
    again = said(ask(agreed))
    assert "Snapshot     'now', known\n" in again
    assert "nothing: the release of 'now' was paid for before; it counts as a run" in again
    assert "left: unlimited; 2 runs" in again
    other = replace(ask(agreed), snapshot=Snapshot("nowe", b""))
    assert "Snapshot     'nowe', new; known: now\n" in said(other)
    assert "known, but this is another release of it" in said(replace(ask(agreed), place=b"other"))
    ledger.forget("r1")
    assert "known, but its noise was forgotten" in said(ask(agreed))
    without = replace(ask(agreed), snapshot=None)
    assert "so does every run of a table without `snapshot=`" in said(without)


def test_an_offer_warns_when_sums_come_to_hold_for_fewer_records(tmp_path: Path) -> None:
    plain = agreement().model_dump(mode="json")
    plain["protocol"]["A"]["records_per_person"] = 3
    people, ledger = Agreement.model_validate(plain), Ledger(Database(tmp_path))
    ledger.set_budget("set", Budget())
    mine = records(ROWS, people)
    ledger.charge(replace(ask(people), run="r1"), lambda: np.array([1]), NOW)
    assert "with this run they hold for 1" in describe(
        make_offer(agreement(), Side.A, mine, ledger, ask(agreement()))
    )
    assert "hold for people" not in describe(make_offer(people, Side.A, mine, ledger, ask(people)))


def test_the_salt_is_in_a_name_only_where_free_text_is_hashed_with_it() -> None:
    def place(salt: str, **more: Any) -> bytes:
        plain = agreement().model_dump(mode="json") | {"salt": salt}
        plain["fields"] |= {"name": {"type": "text", "encoder": "hash", "missing": "skip"}, **more}
        if "town" in more:
            plain["blocking"] = [{"kind": "key", "field": "town", "buckets": 8}]
        agreed = Agreement.model_validate(plain)
        return agreed.protocol.release(agreed.task, Side.A, 5).place

    town = {"town": {"type": "text", "encoder": "hash"}}
    assert place("00000000") == place("11111111")
    assert place("00000000", **town) != place("11111111", **town)
    bloom = {"name": {"type": "text", "encoder": "paper", "missing": "skip"}}
    assert place("00000000", **bloom) == place("00000000"), "how a text is encoded leaves nobody out"
    error = {"name": {"type": "text", "encoder": "hash"}}
    assert place("00000000", **error) != place("00000000")


def test_an_offer_prints_as_the_screen_and_shows_itself_in_a_line(tmp_path: Path) -> None:
    ledger, agreed = Ledger(Database(tmp_path)), agreement()
    ledger.set_budget("set", Budget())
    offer = make_offer(agreed, Side.A, records(ROWS, agreed), ledger, ask(agreed))
    assert str(offer) == describe(offer)
    assert "What bob will learn about your table:" in str(offer)
    assert repr(offer).startswith("<Offer: to bob, of 'set', 2 records, spends ε = ")
    assert "\n" not in repr(offer)


def test_an_offer_of_an_answer_says_why_it_is_paid_for_and_what_has_no_promise(tmp_path: Path) -> None:
    ledger = Ledger(Database(tmp_path))
    ledger.set_budget("set", Budget())

    def said(output: dict[str, Any]) -> str:
        plain = agreed.model_dump(mode="json") | {"output": output, "disclose": {"A": [], "B": []}}
        one = Agreement.model_validate(plain)
        ledger.charge(replace(ask(one), run=[*output][-1]), lambda: np.array([1]), NOW)
        return describe(make_offer(one, Side.A, records(ROWS, one), ledger, ask(one)))

    agreed = routed("x")
    again = said({"answer": "count", "epsilon": "1"})
    assert "'now', known, but an answer has fresh noise in every run, and is paid for each time" in again
    assert "promise" not in again
    exact = said({"answer": "count", "exact": True})
    assert "This spends  no ε, since an exact answer promises nothing; it counts as a run\n" in exact
