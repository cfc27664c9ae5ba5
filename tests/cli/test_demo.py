"""The demo: two real processes, a summary whose figures are right, and nothing left behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from accord.agreement.file import read_agreement
from accord.cli.children import Children, Ended, Note, Told
from accord.cli.demo import link_both, prepare
from accord.cli.demo_stage import Stage
from accord.cli.demo_summary import gather_figures, words
from accord.cli.progress_pair import PairDisplay
from accord.session.notices import Connected, Progress
from accord.simulation import simulate
from accord.truth import read_truth, score
from tests.cli.terminal import environment


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    return prepare(tmp_path_factory.mktemp("demo"), 300)


def test_the_figures_are_those_of_the_run_and_of_simulate(stage: Stage) -> None:
    done = link_both(stage)
    found = gather_figures(stage, done)
    agreement = read_agreement(stage.a.folder / "agreement.toml")
    tables = stage.a.folder / "a.csv", stage.b.folder / "b.csv"
    same = simulate(*tables, agreement, seed=1)
    assert found.matches == same.matches > 10
    assert (found.recall, found.precision) == (same.recall, same.precision) == (1.0, 1.0)
    scores = score(same.pairs, read_truth(stage.truth))
    assert (found.true_pairs, found.truth_recall) == (scores.true_pairs, scores.truth_recall)
    assert found.a.matched == len(same.pairs["id_a"].unique())
    assert found.b.matched == len(same.pairs["id_b"].unique())
    assert (found.a.records, found.b.records) == (300, 300)
    assert found.a.noisy_total > 300
    outputs = [(shop.folder / "pairs.csv").read_bytes() for shop in (stage.a, stage.b)]
    assert outputs[0] == outputs[1]
    text = words(agreement, found)
    assert f"{found.matches:,} pairs of records match" in text
    assert f"Recall       1.0000 of the {same.all_matches:,} pairs" in text
    assert f"{found.comparisons / 90_000:.2%} of all 90,000 pairs" in text
    assert "north-shop: ε = 1.6, δ = 2^-40; south-shop: ε = 1.6, δ = 2^-40" in text


def test_the_error_of_a_child_is_shown_and_both_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = prepare(tmp_path, 20)
    (broken.b.folder / "b.csv").unlink()
    pids: list[int] = []
    start = subprocess.Popen

    def noted(*args: object, **options: object) -> subprocess.Popen[str]:
        process: subprocess.Popen[str] = start(*args, **options)  # type: ignore[call-overload]
        pids.append(process.pid)
        return process

    monkeypatch.setattr(subprocess, "Popen", noted)
    with pytest.raises(typer.Exit) as ended:
        link_both(broken)
    assert ended.value.exit_code == 4
    assert "south-shop: accord: b.csv cannot be read" in capsys.readouterr().err
    assert len(pids) == 2
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def run_demo(folder: Path, records: int) -> subprocess.Popen[str]:
    """The command in a process group of its own, with its temporary folders in this one."""
    return subprocess.Popen(
        [sys.executable, "-m", "accord", "demo", "--records", str(records)],
        env=environment(folder) | {"TMPDIR": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=_hear_interrupts,
    )


def _hear_interrupts() -> None:
    """Whoever starts the tests in the background has had interrupts ignored, and children inherit that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def require_nothing_left(group: int, folder: Path) -> None:
    with pytest.raises(ProcessLookupError):
        os.killpg(group, 0)
    assert list(folder.iterdir()) == []


@pytest.mark.slow
def test_the_command_leaves_nothing_behind(tmp_path: Path) -> None:
    demo = run_demo(tmp_path, 100)
    out, err = demo.communicate(timeout=120)
    assert demo.returncode == 0, err
    require_nothing_left(demo.pid, tmp_path)
    assert "What south-shop learned about north-shop" in out
    assert "What neither learned" in out
    assert re.search(r"^south-shop\$ accord link b\.csv .*--connect 127\.0\.0\.1:\d+", err, re.M)
    for shop in ("north-shop", "south-shop"):
        assert re.search(rf"^{shop}  connected to", err, re.M)
        assert re.search(rf"^{shop}  [\d,]+ comparisons", err, re.M)
        assert re.search(rf"^{shop}  done: ", err, re.M)


def test_an_interrupt_ends_every_process(tmp_path: Path) -> None:
    demo = run_demo(tmp_path, 20_000)
    assert demo.stderr is not None
    # Only the parent hears it: in a terminal the children would, too.
    next(line for line in demo.stderr if "ledger charged" in line)
    demo.send_signal(signal.SIGINT)
    demo.communicate(timeout=120)
    assert demo.returncode == 130
    require_nothing_left(demo.pid, tmp_path)


def test_a_child_that_ignores_its_end_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deaf = tmp_path / "accord"
    deaf.mkdir()
    (deaf / "__init__.py").touch()
    (deaf / "__main__.py").write_text(
        "import signal, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        'print(\'{"event": "connected", "partner": "nobody"}\', flush=True)\n'
        "time.sleep(600)\n"
    )
    monkeypatch.setattr("accord.cli.children._GRACE_SECONDS", 0.2)
    with Children() as children:
        children.start("deaf", [], tmp_path, {})
        told = children.hear()
        assert next(told).what == Connected("nobody")
        children.end(0.0)
        (last,) = told
    assert last.what == Ended(-signal.SIGKILL)


def test_what_is_no_event_is_a_note(tmp_path: Path) -> None:
    with Children() as children:
        children.start("it", ["check", "nowhere.toml"], tmp_path, environment(tmp_path))
        told = list(children.hear())
    assert {type(t.what) for t in told} == {Note, Ended}
    assert isinstance(told[0].what, Note)
    assert "nowhere.toml cannot be read" in told[0].what.line
    assert told[-1].what == Ended(4)


def test_bars_on_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    half = Progress(50, 100, matches=7, bytes=2_000_000, seconds=1.0, seconds_left=1.0)
    with PairDisplay(["north", "south"]) as display:
        display.show(Told("north", half))
        display.show(Told("south", Note("Compiling _choose for this machine, once.")))
    shown = capsys.readouterr().err
    assert "50 %" in shown
    assert "7 matches, 2 MB" in shown
    assert "compiles for this machine" in shown
