"""`accord demo`: the main job on data that Accord makes, between two processes, in a folder that vanishes.

Each party has a folder with its table, its card, the agreement and a state of its own, and runs `accord link`
as its owner would type it. Only the summary at the end has seen both tables.
"""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from accord.cli.children import Children, Ended, Note
from accord.cli.demo_stage import ACCOUNT, Shop, Stage
from accord.cli.generate import Data, generate
from accord.cli.init import Kind, init
from accord.cli.progress_pair import PairDisplay, is_compiling
from accord.cli.terminal import say
from accord.session.notices import Done, Listening

if TYPE_CHECKING:
    from accord.agreement.document import Agreement

_PATIENCE_SECONDS = 2.0


def demo(
    records: Annotated[int, typer.Option(min=1, max=1_000_000, help="Records a side.")] = 5_000,
) -> None:
    """Link the tables of two made-up shops and say who learned what.

    Two processes on this machine, in a folder that vanishes.
    """
    from accord.cli.demo_summary import gather_figures, words

    with tempfile.TemporaryDirectory(prefix="accord-demo-") as folder:
        stage = prepare(Path(folder), records)
        done = link_both(stage)
        say("\n" + words(stage.agreement, gather_figures(stage, done)))


def prepare(here: Path, records: int) -> Stage:
    """Tables, the agreement in both folders, identities, and each other's cards."""
    from accord.agreement.file import read_agreement

    _say("", f"accord generate products --records {records}")
    generate(Data.products, records=records, out=here)
    _say("", "accord init products")
    init(Kind.products, out=here / "agreement.toml")
    agreement = read_agreement(here / "agreement.toml")
    a, b = (_shop(here, agreement, letter) for letter in ("A", "B"))
    for shop, other in ((a, b), (b, a)):
        _exchange_cards(shop, other)
    for shop in (a, b):
        _make_account(shop)
    return Stage(agreement, a, b, here / "truth.csv")


def _shop(here: Path, agreement: Agreement, letter: str) -> Shop:
    from accord.side import Side

    shop = Shop(agreement.party(Side(letter)), letter, here / agreement.party(Side(letter)))
    shop.folder.mkdir()
    (here / f"{letter.lower()}.csv").rename(shop.folder / f"{letter.lower()}.csv")
    (shop.folder / "agreement.toml").write_bytes((here / "agreement.toml").read_bytes())
    return shop


def _exchange_cards(shop: Shop, other: Shop) -> None:
    """Make an identity and let the other trust its card."""
    from accord.session.identity import make_identity
    from accord.session.partners import add_partner

    _say(shop.name, f"accord identity --name {shop.name}")
    card = make_identity(shop.state, shop.name, datetime.now(UTC))
    _say(other.name, f"accord partner add {shop.name} {shop.name}.card")
    add_partner(other.state, shop.name, card)


def _make_account(shop: Shop) -> None:
    """Limit what all releases of the shop's table may come to."""
    from accord.session.accounts import set_budget

    _say(shop.name, f"accord ledger budget {ACCOUNT} --epsilon 5 --delta 2^-30")
    set_budget(ACCOUNT, epsilon="5", delta="2^-30", state=shop.state.folder)


def link_both(stage: Stage) -> Mapping[str, Done]:
    """Run `accord link` on both sides; how each side ended, by its name. If one fails, both end."""
    said: list[str] = []
    done: dict[str, Done] = {}
    code = 0
    with Children() as children, PairDisplay([stage.a.name, stage.b.name]) as display:
        _start(children, stage.a, stage.b, ["--listen", "127.0.0.1:0"])
        for told in children.hear():
            display.show(told)
            match told.what:
                case Listening(_, port):
                    _start(children, stage.b, stage.a, ["--connect", f"127.0.0.1:{port}"])
                case Done() as end:
                    done[told.child] = end
                case Note(line) as note if not is_compiling(note):
                    said.append(f"{told.child}: {line}")
                case Ended(failure) if failure and not code:
                    code = failure
                    # The other hears of it from its partner, and may have something to say about it.
                    children.end(_PATIENCE_SECONDS)
    if code:
        say("\n".join(said), err=True)
        raise typer.Exit(code)
    return done


def _start(children: Children, shop: Shop, other: Shop, way: list[str]) -> None:
    data = f"{shop.letter.lower()}.csv"
    named = ["--agreement", "agreement.toml", "--partner", other.name, "--out", "pairs.csv"]
    arguments = ["link", data, *named, *way, "--yes", "--json"]
    _say(shop.name, f"accord {shlex.join(arguments)}")
    children.start(shop.name, arguments, shop.folder, shop.environment)


def _say(where: str, command: str) -> None:
    say(f"{where}$ {command}", err=True)
