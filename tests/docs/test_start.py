"""README and `start`, typed as they are written, in two terminals.

A block marked ```sh NAME is typed in the terminal NAME. The sections of a page are its steps; in each step
the terminals work at the same time. A block marked ```text NAME is what that terminal shows. Every question
is answered with yes, and those of `accord init --from` with Enter, or as ANSWERS says; the page explains
each of them. The block marked ```text python of another page is the same from Python. The one thing that is
changed is the port, since a test cannot own a number.
"""

from __future__ import annotations

import csv
import os
import pty
import re
import subprocess
import time
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from pyarrow.csv import write_csv

import accord
from accord.datasets.products import generate_products
from accord.datasets.starter import starter
from tests.cli.terminal import environment, free_port
from tests.run.worlds import in_threads

ROOT = Path(__file__).parents[2]
SHOPS, REGISTERS = ("north-shop", "south-shop"), ("north-register", "south-register")
START, FROM_PYTHON = ROOT / "docs" / "start.md", ROOT / "docs" / "notebooks.md"
PAGES = {ROOT / "README.md": SHOPS, START: REGISTERS}
# Types, both names, both sizes; copies twice, how many values, which share, how long, sexes, dates
# of birth, what is shown.
ANSWERS = {"north-register": ["", *REGISTERS, "300", "300", *[""] * 8], "south-register": [""]}
PORT = "7000"


def steps(page: str, terminal: str) -> list[str]:
    """What is typed in a terminal, section by section."""
    sections = re.split(r"^## ", page, flags=re.M)
    return ["".join(blocks(section, f"sh {terminal}")) for section in sections]


def blocks(text: str, mark: str) -> list[str]:
    return re.findall(rf"^```{mark}\n(.*?)^```", text, re.M | re.S)


def script(page: str, terminal: str, port: int, folder: Path) -> str:
    """All that a terminal types; after each step it waits for the other."""
    parts = []
    for number, step in enumerate(steps(page, terminal)):
        marks = [folder / f".{name}.{number}" for name in (terminal, partner_of(terminal))]
        parts += [step.replace(f":{PORT}", f":{port}")]
        parts += [f"touch '{marks[0]}'\nuntil [ -e '{marks[1]}' ]; do sleep 0.05; done\n"]
    return "".join(parts)


def partner_of(terminal: str) -> str:
    return next(
        other for pair in (SHOPS, REGISTERS) if terminal in pair for other in pair if other != terminal
    )


def typed(folder: Path, terminal: str, text: str) -> tuple[subprocess.Popen[bytes], int]:
    """A shell that runs what is typed, at a terminal where somebody has answered in advance."""
    home = folder / f".home-{terminal}"
    home.mkdir()
    user, system = pty.openpty()
    os.write(user, "\n".join([*ANSWERS.get(terminal, []), "y", "y\n"]).encode())
    with (folder / f".{terminal}.out").open("wb") as out:
        shell = subprocess.Popen(
            ["bash", "-eu", "-c", text],
            cwd=folder,
            env=environment(home),
            stdin=system,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    os.close(system)
    return shell, user


def finished(shells: dict[str, subprocess.Popen[bytes]]) -> dict[str, int]:
    """The exit codes, as soon as all have ended or one has failed."""
    until = time.monotonic() + 300
    while time.monotonic() < until:
        codes = {name: code for name, shell in shells.items() if (code := shell.poll()) is not None}
        if len(codes) == len(shells) or any(codes.values()):
            return codes
        time.sleep(0.05)
    return {}


def require_screen(printed: str, shown: str) -> None:
    """All that is printed is shown; and where consent is asked, all that is shown is printed, in that order.

    An ellipsis in what is printed stands for anything.
    """
    lines = [line.strip() for line in shown.replace("\r", "\n").splitlines()]
    for pattern in patterns(printed):
        assert any(pattern.search(line) for line in lines), pattern.pattern
    wanted = iter(patterns(consent(printed)))
    for line in consent("\n".join(lines)).splitlines() if printed else []:
        assert not line or any(pattern.fullmatch(line) for pattern in wanted), (
            f"not there, or not here: {line}"
        )


def consent(screen: str) -> str:
    """What stands between who one is and the question."""
    return screen.partition("You are")[2].partition("Continue?")[0].partition("\n")[2]


def patterns(printed: str) -> list[re.Pattern[str]]:
    known = [line.strip() for line in printed.splitlines() if line.strip()]
    return [re.compile(".*".join(map(re.escape, line.split("…")))) for line in known]


def type_page(page: Path, folder: Path) -> dict[str, str]:
    """Type a page in its two terminals; what each has shown."""
    text, port, terminals = page.read_text(), free_port(), PAGES[page]
    assert all("accord link" in "".join(steps(text, terminal)) for terminal in terminals)
    opened = {name: typed(folder, name, script(text, name, port, folder)) for name in terminals}
    shells = {name: shell for name, (shell, _) in opened.items()}
    try:
        codes = finished(shells)
    finally:
        for shell in shells.values():
            if shell.poll() is None:
                os.killpg(shell.pid, 9)
            shell.wait()
        for _, user in opened.values():
            os.close(user)
    shown = {name: (folder / f".{name}.out").read_text() for name in terminals}
    assert codes == dict.fromkeys(terminals, 0), shown
    outputs = [(folder / name / "pairs.csv").read_bytes() for name in terminals]
    assert outputs[0] == outputs[1]
    assert outputs[0].count(b"\n") > 1
    return shown


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=pytest.mark.whole if page == START else pytest.mark.slow) for page in PAGES],
    ids=lambda page: page.name,
)
def test_every_command_works_as_written(page: Path, tmp_path: Path) -> None:
    shown = type_page(page, tmp_path)
    for name, screen in shown.items():
        require_screen("".join(blocks(page.read_text(), f"text {name}")), screen)
    if page == START:
        require_quality(tmp_path / "north-register")
        explained = re.findall(r"^\| ([^|]+) \|", page.read_text().partition("| question |")[2], re.M)
        assert len(explained) >= 8
        assert [question for question in explained if question not in shown["north-register"]] == []


def test_it_takes_five_commands_a_side_and_few_words() -> None:
    """Without the step that makes up tables, and told in what one reads in some minutes."""
    page = START.read_text()
    for terminal in REGISTERS:
        typed = re.findall(r"^accord (\w+)", "".join(steps(page, terminal)[2:]), re.M)
        assert sorted(typed) == ["identity", "init", "ledger", "link", "partner"]
    assert len(page.split()) <= 900


def require_quality(folder: Path) -> None:
    """What a newcomer finds is true, and what is true is found."""
    with (folder / "pairs.csv").open() as found, (folder / "made" / "truth.csv").open() as known:
        pairs, truth = ({tuple(row[:2]) for row in islice(csv.reader(f), 1, None)} for f in (found, known))
    assert len(pairs & truth) >= 0.95 * len(truth)
    assert len(pairs & truth) >= 0.95 * len(pairs)


SCREEN = "Yours [500]:\n…\nYou are      north\nRecords      …\nExpected     … MB\nContinue?"
SHOWN = "Yours [500]:\nYou are      north\nRecords      1,000\nExpected     3 MB\nContinue? [y/N]: y\n"


def test_a_screen_that_differs_from_the_page_is_noticed() -> None:
    require_screen(SCREEN, SHOWN)
    require_screen("", SHOWN)
    lines = SHOWN.splitlines()
    swapped = [*lines[:2], lines[3], lines[2], *lines[4:]]
    for wrong in (swapped, [*lines[:4], "Warning: more", *lines[4:]], [*lines[:3], *lines[4:]]):
        with pytest.raises(AssertionError):
            require_screen(SCREEN, "\n".join(wrong))


@pytest.mark.whole
def test_the_same_from_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The block marked ```text python, as north-shop; south-shop is another thread."""
    page, port = FROM_PYTHON.read_text(), free_port()
    (program,) = blocks(page, "text python")
    north, south = tmp_path / "north", tmp_path / "south"
    north.mkdir()
    made, agreed = generate_products(300, None, 0), starter("products")
    write_csv(made.a, north / "a.csv")
    (north / "agreement.toml").write_text(agreed.to_toml())
    accord.identity("south-shop", out=north / "south-shop.card", state=south)
    accord.set_budget("products", epsilon=2, delta="1e-9", state=south)
    monkeypatch.chdir(north)
    monkeypatch.setenv("XDG_STATE_HOME", str(north / "state"))
    monkeypatch.setattr("builtins.input", lambda question: "y")

    def link_south() -> accord.Linked:
        card = north / "north-shop.card"
        while not card.exists() or not card.read_bytes().endswith(b"-----END CERTIFICATE-----\n"):
            time.sleep(0.05)
        accord.trust("north-shop", card, state=south)
        way = f"localhost:{port}"
        return accord.link(
            made.b,
            agreed,
            partner="north-shop",
            snapshot="2026-11",
            connect=way,
            confirm=accord.agree,
            state=south,
        )

    names: dict[str, Any] = {}
    ends = in_threads(lambda: exec(program.replace(f":{PORT}", f":{port}"), names), link_south)
    assert not isinstance(ends[0], BaseException), ends[0]
    assert isinstance(ends[1], accord.Linked), ends[1]
    assert names["linked"].pairs.equals(ends[1].pairs)
    assert names["linked"].matches > 50
