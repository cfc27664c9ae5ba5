"""Two organisations over TLS on loopback: same output as `simulate`."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from accord.agreement.document import Agreement
from accord.cli.link import _show as show
from accord.errors import (
    StoppedError,
    TooManyMatchesError,
)
from accord.notices import Done, Progress, encode_notice
from accord.peer.partners import add_partner
from accord.privacy.budget import Budget
from accord.privacy.events import Cost
from accord.protocols.parts import slots
from accord.run.link import Linked
from accord.run.offer import Offer
from accord.run.receipt import read_receipt
from accord.side import Side
from accord.simulation.pair import simulate
from accord.state.ledger import Ledger
from accord.state.runs import find_unfinished, open_run
from accord.table.layout import Layout
from tests.cli import terminal
from tests.protocols.worlds import WITHOUT_INDEX, agreement
from tests.run import worlds

Both = tuple[worlds.Organisation, worlds.Organisation]


@pytest.fixture
def both(tmp_path: Path) -> Both:
    return worlds.introduce(tmp_path, agreement())


def test_more_matches_than_agreed_end_the_run_on_both_sides(both: Both) -> None:
    agreed = Agreement.model_validate(agreement().model_dump() | {"most_matches": {"A": 1}})
    a, b = worlds.link_both(*both, agreed)
    assert isinstance(a, TooManyMatchesError)
    assert a.exit_code == 14
    assert "More than 1 of your records match, and the agreement lets bob see no more of them" in str(a)
    assert isinstance(b, StoppedError)
    assert "alice stopped: more of its records match than the agreement lets it show" in str(b)
    assert "agree on another; then both link again" in str(b)
    for own in both:
        (row,) = Ledger(own.state.database).runs()
        assert row.paid, "what was charged stands"
        assert open_run(own.state, row.run).manifest.state == "most_matches"
        assert find_unfinished(own.state, agreed.party(own.side.other), agreed.to_toml()) == ()
        where = "--state", str(own.state.folder)
        listed = terminal.accord(own.state.folder, *where, "runs")
        assert "ended by most_matches" in " ".join(listed.stdout.split())
        assert "Go on with" not in listed.stderr
        (told,) = json.loads(terminal.accord(own.state.folder, *where, "runs", "--json").stdout)
        assert (told["ended"], told["done"], told["closed"]) == ("most_matches", False, False)
        # No run waits: it is not chosen, and by its name it is told what comes of it.
        assert "No run waits" in terminal.accord(own.state.folder, *where, "resume").stderr
        named = terminal.accord(own.state.folder, *where, "resume", row.run, "--data", "none.csv")
        assert "It would end there again" in " ".join(named.stderr.split())


def test_the_digest_of_a_table_is_made_once_and_before_anybody_is_called(
    both: Both, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its time follows the texts of the table, and a partner would see it."""
    made: list[str] = []
    parts = slots._table_parts

    def walk(records: Any) -> Any:
        made.append("digest")
        return parts(records)

    def yes(offer: Offer) -> bool:
        made.append("asked")
        return True

    monkeypatch.setattr(slots, "_table_parts", walk)
    worlds.link_both(*both, agreement(), a_options={"confirm": yes}, b_options={"confirm": yes})
    assert sorted(made) == ["asked", "asked", "digest", "digest"]
    assert made[0] == "digest"
    assert made[-1] == "asked"


def one_to_one(agreed: Agreement) -> Agreement:
    return Agreement.model_validate(agreed.model_dump(mode="json") | {"one_to_one": "pairs"})


@pytest.mark.parametrize(
    "agreed",
    [
        agreement(),
        agreement(style="replicate"),
        agreement(greedy=False),
        agreement(protocol="all-pairs"),
        agreement(rule=WITHOUT_INDEX, sort=False),
        agreement(prune=20),
        agreement(protocol="psi", rule="same(x)"),
        one_to_one(agreement(protocol="all-pairs", rule="within(x, 8)")),
        one_to_one(agreement(greedy=False, rule="within(x, 8) and within(y, 8)")),
    ],
    ids=[
        *("laplace", "replicate", "not greedy", "all-pairs", "candidates", "pruned"),
        *("psi", "one to one", "one to one, not greedy"),
    ],
)
def test_both_sides_hold_what_simulate_finds(
    both: Both, agreed: Agreement, capsys: pytest.CaptureFixture[str]
) -> None:
    left, right = worlds.link_both(*both, agreed)
    assert isinstance(left, Linked), left
    assert isinstance(right, Linked), right
    assert left.pairs.equals(right.pairs)
    tables = worlds.table(worlds.A_ROWS, "a"), worlds.table(worlds.B_ROWS, "b")
    expected = simulate(*tables, agreed).pairs.sort_by([("id_a", "ascending"), ("id_b", "ascending")])
    if not getattr(agreed.protocol, "prune", 0):
        assert left.pairs.equals(expected.combine_chunks())
        assert left.matches > 0
    assert (left.run, left.comparisons, left.bytes) == (right.run, right.comparisons, right.bytes)
    receipts = [read_receipt(end.receipt).facts for end in (left, right)]
    assert receipts[0] == receipts[1]
    assert (receipts[0]["run"], receipts[0]["agreement"]) == (left.run, agreed.digest)
    assert (receipts[0]["matches"], receipts[0]["comparisons"]) == (left.matches, left.comparisons)
    for own in both:
        events = [notice.event for notice in own.told if not isinstance(notice, Progress)]
        assert events[-3:] == ["connected", "charged", "done"]
        assert own.heard(Done)[0].matches == left.matches
        assert own.heard(Done)[0].matches_found == left.matches_found == receipts[0].get("matches_found")
    if agreed.one_to_one:
        assert left.matches < (left.matches_found or 0)
        assert f"{left.matches} kept one to one of {left.matches_found} found" in repr(left)
        show(replace(left, out=Path("pairs.csv")), as_json=False, raw=False)
        told = f"in pairs.csv, kept one to one of {left.matches_found} found."
        assert told in capsys.readouterr().out


def test_the_done_event_has_what_scripts_read(both: Both) -> None:
    left, _ = worlds.link_both(*both)
    (notice,) = both[0].heard(Done)
    done = json.loads(encode_notice(notice))
    assert {"matches", "comparisons", "bytes", "seconds", "epsilon", "delta"} <= set(done)
    assert (done["epsilon"], done["charged_epsilon"]) == (
        float(left.cost.epsilon),
        float(left.charged.epsilon),
    )
    assert done["epsilon"]


def test_a_snapshot_is_charged_once_and_keeps_its_noise(both: Both) -> None:
    named = {"snapshot": "2026-11"}
    first, _ = worlds.link_both(*both, a_options=named)
    again, _ = worlds.link_both(*both, a_options={"snapshot": "2026\N{FULLWIDTH HYPHEN-MINUS}11"})
    assert first.run != again.run
    assert first.charged == first.cost
    assert float(again.charged.epsilon) == 0
    assert again.cost == first.cost
    runs = Ledger(both[0].state.database).runs()
    assert [run.paid for run in runs] == [True, False]
    assert runs[0].drawing == runs[1].drawing, "the same release has other noise"
    assert [run.snapshot for run in runs] == ["2026-11", "2026\N{FULLWIDTH HYPHEN-MINUS}11"]
    assert again.pairs.equals(first.pairs)
    # B named none, so each of its runs was drawn and charged.
    theirs = Ledger(both[1].state.database).runs()
    assert [run.paid for run in theirs] == [True, True]
    assert theirs[0].drawing != theirs[1].drawing


def test_the_parties_names_decide_nothing(both: Both) -> None:
    """Whoever writes the agreement may call the owner what it likes: the account is the owner's."""
    plain = agreement().model_dump(mode="json")
    for name in ("alice", "Alice", "ALICE"):
        renamed = Agreement.model_validate(plain | {"parties": {"A": name, "B": plain["parties"]["B"]}})
        add_partner(both[1].state, name, both[0].card)
        left, _ = worlds.link_both(*both, renamed, a_options={"snapshot": "2026-11"})
        assert isinstance(left, Linked), left
    runs = Ledger(both[0].state.database).runs()
    assert [run.paid for run in runs] == [True, False, False]
    assert {run.dataset for run in runs} == {worlds.ACCOUNT}


@pytest.mark.parametrize(
    "ending", ["parquet", *(pytest.param(ending, marks=pytest.mark.slow) for ending in ("csv", "arrow"))]
)
def test_the_output_is_written_whole_and_the_same_on_both_sides(
    both: Both, tmp_path: Path, ending: str
) -> None:
    outs = tmp_path / f"a.{ending}", tmp_path / f"b.{ending}"
    left, right = worlds.link_both(*both, a_options={"out": outs[0]}, b_options={"out": outs[1]})
    assert isinstance(left, Linked), left
    assert isinstance(right, Linked), right
    assert outs[0].read_bytes() == outs[1].read_bytes()
    assert not list(tmp_path.glob(".*")), "a half-written file is left"


def test_the_offer_tells_what_is_spent_and_learnt(both: Both) -> None:
    Ledger(both[0].state.database).set_budget("mine", Budget(Cost(Fraction(5), Fraction("1e-3")), 9))
    seen: list[Offer] = []

    def confirm(offer: Offer) -> bool:
        seen.append(offer)
        return True

    worlds.link_both(*both, a_options={"confirm": confirm, "dataset": "mine"})
    (offer,) = seen
    assert offer.cost == offer.event.cost
    assert offer.account.left is not None
    assert offer.account.budget.runs == 9
    assert any("how many records" in line for line in offer.learned)
    assert offer.partner == agreement().party(Side.B)
    from accord.run.offer import describe

    said = describe(offer)
    for part in ("This spends  ε = ", "left: ε = 5", "9 runs", "will learn about your table"):
        assert part in said


# -- from the command line ----------------------------------------------------------------------------------


def test_two_processes_from_the_command_line(both: Both, tmp_path: Path) -> None:
    """One listens at a port of its choice, the other connects; events end with `done`."""
    import pyarrow.csv

    agreed = agreement()
    (tmp_path / "agreement.toml").write_text(agreed.to_toml())
    for side, rows in ((Side.A, worlds.A_ROWS), (Side.B, worlds.B_ROWS)):
        pyarrow.csv.write_csv(worlds.table(rows, side.value.lower()), tmp_path / f"{side.value}.csv")

    def start(own: worlds.Organisation, *way: str) -> subprocess.Popen[str]:
        side = own.side
        return subprocess.Popen(
            [
                *(sys.executable, "-m", "accord", "--state", str(own.state.folder)),
                *("link", f"{side.value}.csv", *way, "--yes", "--json"),
                *("--agreement", "agreement.toml", "--partner", agreed.party(side.other)),
                *("--out", f"out-{side.value}.csv"),
            ],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    a = start(both[0], "--listen", "[::1]:0")
    watchdog = threading.Timer(120, a.kill)
    watchdog.start()
    assert a.stdout is not None
    listening = json.loads(a.stdout.readline())
    b = start(both[1], "--connect", f"[::1]:{listening['port']}")
    ends = [process.communicate(timeout=120) for process in (b, a)]
    watchdog.cancel()
    assert (a.returncode, b.returncode) == (0, 0), ends
    for out, err in ends:
        last = json.loads(out.splitlines()[-1])
        assert last["event"] == "done"
        assert last["matches"] == 2
        assert err == ""
    assert (tmp_path / "out-A.csv").read_bytes() == (tmp_path / "out-B.csv").read_bytes()


def for_people() -> Agreement:
    """Side A promises to people with up to two records."""
    plain = agreement().model_dump(mode="json")
    plain["protocol"]["A"]["records_per_person"] = 2
    return Agreement.model_validate(plain)


def of_people(*who: str) -> pa.Table:
    """A's table, with whose records they are."""
    return worlds.table(worlds.A_ROWS, "a").append_column("who", pa.array(who))


def test_a_promise_to_people(both: Both) -> None:
    """What is charged says whom it is for, and a run that goes on knows the column again."""
    mine = {"data": of_people("p", "q", "p", "r"), "layout": Layout(person="who")}
    left, right = worlds.link_both(*both, for_people(), a_options=mine)
    assert isinstance(left, Linked), left
    assert isinstance(right, Linked), right
    plain, _ = worlds.link_both(*both, agreement())
    assert left.pairs == plain.pairs
    events = [run.event for run in Ledger(both[0].state.database).runs()]
    assert sorted(getattr(event, "records_per_person", 1) for event in events) == [1, 2]
    assert open_run(both[0].state, left.run).manifest.request.read_layout().person == "who"
    parties = read_receipt(left.receipt).facts["parties"]
    assert parties["A"]["records_per_person"] == 2
    assert "records_per_person" not in parties["B"], "for one record receipts are what they were"
    said = terminal.accord(left.receipt.parent, "--state", str(both[0].state.folder), "receipt", "receipt")
    assert said.stdout.count("for each person with up to 2 records;") == 1


def test_people_from_the_command_line(both: Both, tmp_path: Path) -> None:
    """Without the column, or with somebody who has too many records, nobody is called: the port is never
    opened, and the error says what to do."""
    import pyarrow.csv

    (tmp_path / "agreement.toml").write_text(for_people().to_toml())
    pyarrow.csv.write_csv(of_people("p", "p", "q", "p"), tmp_path / "a.csv")
    link = ("link", "a.csv", "--agreement", "agreement.toml", "--partner", agreement().party(Side.B))
    typed = ("--state", str(both[0].state.folder), *link, "--listen", "127.0.0.1:0", "--yes")
    done = terminal.accord(tmp_path, *typed)
    assert done.returncode == 2, done.stderr
    assert "Name that column with --person" in done.stderr
    (tmp_path / "a.csv.layout.toml").write_text('person = "who"\n')
    done = terminal.accord(tmp_path, *typed)
    assert done.returncode == 4, done.stderr
    assert "rows 1, 2, 4, column 'who'" in done.stderr
    assert "more than 2 records" in done.stderr
    assert worlds.untouched(*both)
