"""The shared report of a real run holds nothing that only one side knows; its owner's report does.

What is looked for: every id and cell of both tables, rows that are left out among them; columns' own names;
accounts, snapshots and paths; exact sizes of bins and numbers of dummies. That the search finds such things
is shown by the private pages, which hold several of them.
"""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest

from accord.agreement.document import Agreement
from accord.privacy.budget import Budget
from accord.report.dpia import assess
from accord.report.receipt_page import share
from accord.report.run_page import describe_run
from accord.run.link import Linked
from accord.run.remembered import Remembered, remember
from accord.side import Side
from accord.state.ledger import Ledger
from accord.table.layout import Layout
from accord.wording import sized
from tests.run import test_canaries as canaries
from tests.run.worlds import introduce, link_both

LEFT_OUT = 5


def _agreed() -> Agreement:
    """Rows without a shelf are left out."""
    plain = canaries.agreed()
    fields = plain.model_dump(mode="json")["fields"]
    fields["shelf"]["missing"] = "skip"
    return canaries.agreed(fields=fields)


def _own(side: Side, kind: str) -> str:
    """A name that occurs nowhere else."""
    return f"{kind}{side.value}{canaries.word(ord(side.value) + len(kind), 10)}"


def _table(side: Side) -> pa.Table:
    whole = canaries.table(side).to_pydict()
    for i in range(LEFT_OUT):
        whole["id"].append(f"left{side.value}{canaries.word(500 + i, 12)}")
        whole["name"].append(canaries.word(600 + i + ord(side.value)))
        whole["shelf"].append("")
        whole["note"].append(f"note{canaries.word(700 + i, 12)}")
    local = {"name": _own(side, "column"), "id": _own(side, "key")}
    return pa.table({local.get(name, name): cells for name, cells in whole.items()})


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> dict[Side, Remembered]:
    """A run over the network between two folders, as each side remembers it."""
    folder, agreed = tmp_path_factory.mktemp("shared"), _agreed()
    sides = introduce(folder, agreed)
    options = {}
    for own in sides:
        Ledger(own.state.store).set_budget(_own(own.side, "account"), Budget())
        data = folder / f"{_own(own.side, 'table')}.csv"
        pyarrow.csv.write_csv(_table(own.side), data)
        options[own.side] = {
            "data": data,
            "out": folder / f"{_own(own.side, 'out')}.csv",
            "dataset": _own(own.side, "account"),
            "snapshot": _own(own.side, "snapshot"),
            "layout": Layout(id=_own(own.side, "key"), columns={"name": _own(own.side, "column")}),
        }
    ends = link_both(*sides, agreed, a_options=options[Side.A], b_options=options[Side.B])
    assert all(isinstance(end, Linked) for end in ends), ends
    found = {own.side: remember(own.state, ends[0].run) for own in sides}
    return {side: each for side, each in found.items() if isinstance(each, Remembered)}


def _shared(known: Remembered) -> str:
    assert known.receipt is not None
    return share(known.agreement, known.receipt)


def _words(side: Side, known: Remembered) -> dict[str, list[str]]:
    """What only this side knows, as text."""
    table = _table(side)
    names = [_own(side, kind) for kind in ("account", "snapshot", "column", "key", "table", "out")]
    cells = {
        name: [cell for cell in table[name].to_pylist() if cell]
        for name in table.column_names
        if name != "shelf"
    }
    return cells | {"names": names, "paths": [known.out, str(Path(known.out).parent)]}


def _numbers(text: str) -> set[int]:
    """Whole numbers, with or without commas, that are no part of a longer one, a date or a digest."""
    found = re.findall(r"(?<![\w.,:^+-])\d[\d,]*(?![\w%:+]|[.,-]\d)", text)
    return {int(number.replace(",", "")) for number in found}


def _seen(page: str) -> str:
    """What a reader sees, also unfolded; but for the powers of ten along an axis, whatever is drawn there."""
    body = re.sub('<svg [^>]*class="scale">.*?</svg>', "", page.split("<body>")[1])
    return html.unescape(re.sub(r"<[^>]*>", " ", body))


def _secret_numbers(known: Remembered) -> set[int]:
    """Exact sizes of bins, and dummies, but for those that are public for another reason."""
    assert known.receipt is not None
    assert known.bins is not None
    public = _numbers(known.agreement.to_toml() + json.dumps(known.receipt.facts, indent=1))
    secret = {*known.bins.real.tolist(), int(known.bins.dummies.sum()), int(known.bins.real.sum())}
    # What the letter of the promise has in it, wherever it is told: 2^-40, 80 bits.
    return secret - public - {40, 80}


@pytest.mark.parametrize("maker", list(Side))
@pytest.mark.parametrize("side", list(Side))
def test_what_is_handed_over_holds_no_canary_of_either_side(
    known: dict[Side, Remembered], maker: Side, side: Side
) -> None:
    mine = known[maker]
    page, assessment = _shared(mine), assess(mine.agreement, mine.receipt)
    for kind, words in _words(side, known[side]).items():
        assert words
        assert [word for word in words if word in html.unescape(page) + assessment] == [], kind
    secret = _secret_numbers(known[side])
    assert _numbers(_seen(page)) & secret == set()
    # Numbers of articles, and others that the agreement alone brings, are no secret.
    told = _numbers(assessment) - _numbers(assess(mine.agreement))
    assert len(told) >= 3
    assert told & secret == set()
    assert assessment == assess(known[side].agreement, known[side].receipt)


@pytest.mark.parametrize("side", list(Side))
def test_the_search_finds_what_the_owner_is_shown(known: dict[Side, Remembered], side: Side) -> None:
    """The run is one to look for canaries in. Bytes are kept by phase."""
    mine, table = known[side], _table(side)
    assert mine.receipt is not None
    assert mine.bins is not None
    assert mine.traffic is not None
    assert mine.bytes is not None
    assert mine.receipt.facts["matches"] == canaries.MATCHING
    assert mine.receipt.facts["parties"][side.value]["records"] == len(table)
    assert int(mine.bins.real.sum()) == len(table) - LEFT_OUT, "rows were left out"
    page, words = describe_run(mine), _words(side, mine)
    shown = html.unescape(page)
    assert [name in shown for name in words["names"]] == [True, True, False, False, False, True]
    assert words["paths"][0] in shown
    assert len(_secret_numbers(mine)) >= 4
    assert _secret_numbers(mine) <= _numbers(_seen(page))
    # And what would be found, were a cell on the page.
    canary = words["note"][0]
    assert canary in html.unescape(page.replace("</main>", f"<p>{canary}</p></main>"))
    assert list(mine.traffic) == ["set_up", "compare", "disclose"]
    assert min(mine.traffic.values()) > 0
    # The greeting and the receipt are in no phase.
    assert 0 < sum(mine.traffic.values()) < mine.bytes
    assert all(sized(part) in page for part in mine.traffic.values())
