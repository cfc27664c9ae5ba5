"""`accord demo`: the main job on data that Accord makes, between two processes, in a temporary folder.

Each party has a folder with its table, its card, the agreement and a state of its own, and runs `accord link`
as its owner would type it.
"""

from __future__ import annotations

import re
import shlex
import socket
import tempfile
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from accord.cli.children import Children, Ended, Note
from accord.cli.demo_stage import Actor, Scene, Stage
from accord.cli.generate import Data, generate
from accord.cli.init import Kind, write_template
from accord.cli.terminal import say
from accord.notices import Done
from accord.run.narrator import Narrator

if TYPE_CHECKING:
    from accord.agreement.document import Agreement

_PATIENCE_SECONDS = 2.0
_LANES = (8,)
"""Of the rules of both scenes: what they need is compiled before they are read."""
_HERE = "10000/0"
"""Between two processes of one machine: nothing is done to save bytes."""


def demo(
    scene: Annotated[
        Scene, typer.Argument(help="Whose tables to link: those of registers, or of shops.")
    ] = Scene.people,
    records: Annotated[
        int | None,
        typer.Option(min=1, max=1_000_000, help="Records per side; default: 1,500 people or 5,000 products."),
    ] = None,
) -> None:
    """Link two made-up tables and say who learned what.

    Two processes on this machine, in a temporary folder.
    """
    from accord.cli.demo_summary import gather_figures, words
    from accord.compilers import ALWAYS, LANED, Compilers

    with tempfile.TemporaryDirectory(prefix="accord-demo-") as folder, Compilers() as compilers:
        compilers.start(LANED + ALWAYS, _LANES)
        stage = prepare(Path(folder), scene, scene.records if records is None else records)
        figures = gather_figures(stage, link_both(stage))
        say("\n" + words(stage.agreement, figures))


def prepare(here: Path, scene: Scene, records: int) -> Stage:
    """Tables, the agreement in both folders, identities, and each other's cards."""
    from accord.agreement.file import read_agreement

    _say("", f"accord generate {scene} --records {records}")
    generate(Data(scene), records=records, out=here)
    _say("", f"accord init --template {scene}")
    write_template(Kind(scene), here / "agreement.toml")
    _fit(here / "agreement.toml", records)
    agreement = read_agreement(here / "agreement.toml")
    a, b = (_actor(here, agreement, letter) for letter in ("A", "B"))
    for actor, other in ((a, b), (b, a)):
        _exchange_cards(actor, other)
    for actor in (a, b):
        _make_account(actor, scene)
    return Stage(scene, agreement, a, b, here / "truth.csv")


def _fit(path: Path, records: int) -> None:
    """Fit a template to two processes and so many records: one pass, which for few records costs a fraction
    of what several do and finds nearly as much, and the buckets that `accord simulate` names for it."""
    from accord.agreement.by_pass import best_buckets
    from accord.agreement.file import read_agreement

    text = path.read_text().replace('engine = "ot"', f'engine = {{ name = "ot", network = "{_HERE}" }}')
    others = re.findall(r"^\[\[blocking\.pass\]\]\n(?:.+\n)+\n", text, re.M)[1:]
    for other in others:
        text = text.replace(other, "")
    path.write_text(text)
    best = [number for number in best_buckets(read_agreement(path), (records, records)) if number is not None]
    numbers = iter(best)
    path.write_text(re.sub(r"(?<=buckets = )\d+", lambda _: str(next(numbers)), text))
    buckets = f"{', '.join(map(str, best))} buckets for {records:,} records" if best else ""
    kept = "the first of its passes" if others else ""
    say(f"Fitted it: {', '.join(filter(None, (kept, buckets, 'the network of one machine')))}.", err=True)


def _actor(here: Path, agreement: Agreement, letter: str) -> Actor:
    from accord.side import Side

    actor = Actor(agreement.party(Side(letter)), letter, here / agreement.party(Side(letter)))
    actor.folder.mkdir()
    (here / f"{letter.lower()}.csv").rename(actor.table)
    (actor.folder / "agreement.toml").write_bytes((here / "agreement.toml").read_bytes())
    return actor


def _exchange_cards(actor: Actor, other: Actor) -> None:
    """Make an identity and let the other trust its card."""
    from accord.peer.identity import make_identity
    from accord.peer.partners import add_partner

    _say(actor.name, f"accord identity --name {actor.name}")
    card = make_identity(actor.state, actor.name, datetime.now(UTC))
    _say(other.name, f"accord partner add {actor.name} {actor.name}.card")
    add_partner(other.state, actor.name, card)


def _make_account(actor: Actor, scene: Scene) -> None:
    """Limit what all releases of its table may come to."""
    from accord.state.accounts import set_budget

    _say(actor.name, f"accord ledger budget {scene} --epsilon 5 --delta 2^-30")
    set_budget(scene.value, epsilon="5", delta="2^-30", state=actor.state.folder)


def link_both(stage: Stage) -> Mapping[str, Done]:
    """Run `accord link` on both sides; how each side ended, by its name. If one fails, both end."""
    said: list[str] = []
    done: dict[str, Done] = {}
    code, compiling = 0, False
    narrators = {actor.name: _narrator(actor.name) for actor in (stage.a, stage.b)}
    with Children() as children:
        address = f"127.0.0.1:{_free_port()}"
        _start(children, stage.a, stage.b, ["--listen", address])
        _start(children, stage.b, stage.a, ["--connect", address])
        for told in children.hear():
            match told.what:
                case Note(line) if line.startswith("Compiling "):
                    # Said once, of whichever process does it.
                    if not compiling:
                        say(line, err=True)
                    compiling = True
                case Note(line):
                    said.append(f"{told.child}: {line}")
                case Ended(failure) if failure and not code:
                    code = failure
                    # The other hears of it from its partner, and may have something to say about it.
                    children.end(_PATIENCE_SECONDS)
                case Ended():
                    pass
                case notice:
                    narrators[told.child].tell(notice)
                    if isinstance(notice, Done):
                        done[told.child] = notice
    if code:
        say("\n".join(said), err=True)
        raise typer.Exit(code)
    return done


def _narrator(name: str) -> Narrator:
    return Narrator(lambda line: say(f"{name}  {line}", err=True), time.monotonic)


def _free_port() -> int:
    """A port that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def _start(children: Children, actor: Actor, other: Actor, way: list[str]) -> None:
    named = ["--agreement", "agreement.toml", "--partner", other.name, "--out", "pairs.csv"]
    arguments = ["link", actor.table.name, *named, *way, "--yes", "--json"]
    _say(actor.name, f"accord {shlex.join(arguments)}")
    children.start(actor.name, arguments, actor.folder, actor.environment)


def _say(where: str, command: str) -> None:
    say(f"{where}$ {command}", err=True)
