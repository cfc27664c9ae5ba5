"""From results to the page: nothing finished is lost or run twice, the page follows the rows, exit codes."""

from __future__ import annotations

import csv
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from accord.errors import OutputError
from reproduction import catalogue, report, seeds
from reproduction.__main__ import main
from reproduction.catalogue import EXHIBITS, EXPERIMENTS
from reproduction.claims import Claim, ClaimError, Part, Range
from reproduction.claims_paper import CLAIMS
from reproduction.drawing import save
from reproduction.lab import FULL, QUICK, Lab
from reproduction.report import available, draw_all, page
from reproduction.seeds import EVIDENCE, FOLDER, gather, needed, sizes
from reproduction.seeds import found as found_seeds
from reproduction.sweep import (
    Row,
    Watch,
    carry_out,
    stored,
)
from tests.reproduction.worlds import ROOT, TINY, Squares, lab, quiet

# -- results that are kept ---------------------------------------------------------------------------------


def squares(folder: Path, seed: int = 0, version: int = 1) -> list[int]:
    """Those that are there."""
    rows = stored(Squares().experiment(version), lab(seed), folder)
    return [int(row["square"]) for row in rows]


def asked(folder: Path, seed: int = 0, version: int = 1) -> list[int]:
    """What is run of an experiment that is asked for."""
    again = Squares()
    rows = carry_out(again.experiment(version), lab(seed), folder, quiet)
    assert [row["square"] for row in rows] == [x**2 + seed for x in range(4)]
    return again.asked


def test_a_run_cut_off_goes_on_where_it_was(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    with pytest.raises(KeyboardInterrupt):
        carry_out(Squares(breaks_at=2).experiment(), lab(), tmp_path, lambda *done: told.append(done))
    assert told == [(0, 4), (1, 4), (2, 4)]
    assert squares(tmp_path) == [0, 1]
    assert asked(tmp_path) == [2, 3]
    assert asked(tmp_path) == []
    # Another seed or version is another row; an older version is dropped.
    assert asked(tmp_path, seed=7) == [0, 1, 2, 3]
    assert squares(tmp_path) == [0, 1, 4, 9]
    assert asked(tmp_path, version=2) == [0, 1, 2, 3]
    assert squares(tmp_path) == []


@pytest.mark.parametrize("cut", [1, 2, 11, 12, 13, 25, 39])
def test_whatever_a_torn_end_took_is_run_again_and_kept(tmp_path: Path, cut: int) -> None:
    """The last row, and more; a kill during the rewrite of what is left loses no row."""
    asked(tmp_path)
    path = tmp_path / "squares.csv"
    path.write_text(path.read_text()[:-cut])
    left = path.read_text().count("\n") - 1

    def killed(self: csv.DictWriter[str], rows: object) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv.DictWriter, "writerows", killed)
        with pytest.raises(KeyboardInterrupt):
            carry_out(Squares().experiment(), lab(), tmp_path, quiet)
    assert squares(tmp_path) == [0, 1, 4, 9][:left]
    assert asked(tmp_path) == [0, 1, 2, 3][left:]
    assert squares(tmp_path) == [0, 1, 4, 9]
    assert [each.name for each in tmp_path.iterdir()] == ["squares.csv"]


def test_a_file_of_something_else_is_replaced_and_a_bad_place_named(tmp_path: Path) -> None:
    (tmp_path / "squares.csv").write_text("a,b\n1,2\n")
    assert asked(tmp_path) == [0, 1, 2, 3]
    (tmp_path / "taken").write_text("")
    with pytest.raises(OutputError):
        carry_out(Squares().experiment(), lab(), tmp_path / "taken", quiet)
    with pytest.raises(OutputError):
        save(lambda: EXHIBITS[0].draw([]), tmp_path / "taken", "x")


# -- seeds -------------------------------------------------------------------------------------------------


def test_seeds_have_each_point_that_a_claim_reads_once() -> None:
    """Of the paper's noise, run once; three have the largest days of Taxi."""
    assert [size.taxi_days for size in sizes(FULL)] == [(1, 16)] * 3 + [(1,)] * 7
    assert [size.taxi_days for size in sizes(QUICK)] == [QUICK.taxi_days] * 3
    for size in (*sizes(FULL), *sizes(QUICK)):
        assert size.ab_days in (FULL.ab_days, QUICK.ab_days)
        for experiment in EVIDENCE:
            points = needed(experiment, size)
            keys = {tuple(point[name] for name in experiment.parameters) for point in points}
            assert len(keys) == len(points) > 0
            assert all(point.get("noise", "none") in ("paper-2017", "none") for point in points)
            assert experiment.name == "spread" or all(point.get("runs", 1) == 1 for point in points)


@contextmanager
def unwatched(name: str) -> Iterator[Watch]:
    yield quiet


def test_seeds_that_are_finished_are_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(first: int, breaks_at: int | None = None) -> tuple[list[int], list[int]]:
        made = Squares(breaks_at)
        monkeypatch.setattr(seeds, "EVIDENCE", (made.experiment(),))
        rows = gather(TINY, None, first, tmp_path, unwatched)
        assert rows == found_seeds(TINY, first, tmp_path)
        return made.asked, [int(row["square"]) for seed in rows for row in seed["squares"]]

    with pytest.raises(KeyboardInterrupt):
        run(5, breaks_at=2)
    assert run(5) == ([2, 3, *range(4), *range(4)], [x**2 + seed for seed in (5, 6, 7) for x in range(4)])
    # The next first seed shares all but one.
    assert run(6)[0] == [*range(4)]


# -- figures and the page ----------------------------------------------------------------------------------

DOCS = ROOT / "docs"
WHOLE = Lab(FULL, None, 0)


@pytest.fixture(scope="module")
def rows() -> dict[str, list[Row]]:
    """Those that the project shows, of every experiment."""
    return available(WHOLE, DOCS / "results")


def test_the_page_of_the_project_is_that_of_its_results(rows: dict[str, list[Row]]) -> None:
    """Made from the files alone: neither the day nor the machine nor the data at hand changes it."""
    text = page(WHOLE, DOCS / "results")
    assert text == (DOCS / "evaluation.md").read_text(encoding="utf-8")
    assert set(rows) == set(EXPERIMENTS)
    for exhibit in EXHIBITS:
        assert f"(figures/{exhibit.name}.png)" in text
        assert all(part in text for part in exhibit.parts(rows[exhibit.experiment]))


def test_a_figure_is_drawn_twice_alike(rows: dict[str, list[Row]], tmp_path: Path) -> None:
    first = EXHIBITS[0]
    draw = partial(first.draw, rows[first.experiment])
    drawn = [save(draw, tmp_path / folder, first.name) for folder in ("one", "two")]
    assert drawn[0].read_bytes() == drawn[1].read_bytes()


@pytest.mark.parametrize("part", [0.02, pytest.param(0.5, marks=pytest.mark.slow)])
def test_a_part_of_the_rows_is_reported_as_far_as_it_goes(tmp_path: Path, part: float) -> None:
    (tmp_path / FOLDER).mkdir()
    files = [DOCS / "results" / f"{name}.csv" for name in EXPERIMENTS]
    for path in (*files, *(DOCS / "results" / FOLDER).iterdir()):
        lines = path.read_text().splitlines(keepends=True)
        kept = "".join(lines[: 2 + int(part * (len(lines) - 2))])
        (tmp_path / path.relative_to(DOCS / "results")).write_text(kept)
    text = page(WHOLE, tmp_path)
    shown = {path.stem for path in draw_all(available(WHOLE, tmp_path), tmp_path / "figures", FULL)}
    assert {e.name for e in EXHIBITS if f"figures/{e.name}.png" in text} == shown
    assert "Not run: size (" in text


# -- the command -------------------------------------------------------------------------------------------

Command = Callable[..., int]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    def call(*words: str) -> int:
        out = ("--out", str(tmp_path), "--data", str(tmp_path)) if "--out" not in words else ()
        monkeypatch.setattr(sys, "argv", ["reproduction", *words, *(out if len(words) > 1 else ())])
        with pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code or 0)

    return call


def test_it_runs_as_a_module_and_lists_everything() -> None:
    command = [sys.executable, "-m", "reproduction", "list"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert {*EXPERIMENTS, "claims", "report", "all"} <= {line.split()[0] for line in done.stdout.splitlines()}


def test_what_cannot_be_done_is_an_exit_code(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("tradeof") == 2
    assert "'tradeoff'" in capsys.readouterr().err
    assert command() == 2
    assert command("noise", "--out", str(tmp_path / "out"), "--data", str(tmp_path / "no")) == 2
    assert not (tmp_path / "out").exists()
    assert command("report", "--out", str(tmp_path / "out")) == 2
    (tmp_path / "taken").write_text("")
    assert command("noise", "--quick", "--out", str(tmp_path / "taken"), "--data", str(tmp_path)) == 5


def test_ctrl_c_ends_with_its_code_and_the_same_command_goes_on(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """And the machine is written down only if something ran."""
    machine = tmp_path / "results" / "machine.json"
    for breaks_at, code, asked in ((2, 130, [0, 1]), (None, 0, [2, 3]), (None, 0, [])):
        made = Squares(breaks_at)
        experiment = made.experiment()
        monkeypatch.setattr(catalogue, "EXPERIMENTS", {"squares": experiment})
        monkeypatch.setattr(catalogue, "TITLES", {experiment: "x²"})
        assert command("squares", "--quick") == code
        assert made.asked == asked
        assert ("long ago" in machine.read_text()) is (asked == [])
        machine.write_text('{"date": "long ago"}')
    assert squares(tmp_path / "results") == [0, 1, 4, 9]


def test_a_claim_that_fails_or_lacks_rows_ends_with_its_exit_code(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seeds, "EVIDENCE", ())
    for value, explanation, code in ((2, "", ClaimError.exit_code), (2, "known", 0), (1, "", 0)):
        part = Part("so", Range(1, 1), lambda e, value=value: value)  # type: ignore[misc]
        claim = Claim(5, "so", (part,), lambda means, text=explanation: text, about=())  # type: ignore[misc]
        monkeypatch.setattr(report, "CLAIMS", (claim,))
        assert command("claims", "--quick") == code
    monkeypatch.setattr(report, "CLAIMS", CLAIMS)
    assert command("claims", "--quick") == ClaimError.exit_code
