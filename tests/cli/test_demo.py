"""The demo: two real processes, a summary whose figures are right, and nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import typer

from accord.agreement.file import read_agreement
from accord.cli.children import Children, Ended, Note, Told
from accord.cli.demo import _LANES, link_both, prepare
from accord.cli.demo_stage import Scene
from accord.cli.demo_summary import Figures, SideFigures, gather_figures, words
from accord.compilers import ALWAYS, LANED
from accord.datasets.starter import starter
from accord.notices import Connected
from accord.run.compiling import modules_of
from accord.simulation.pair import simulate
from accord.simulation.truth import Scores, read_truth, score
from tests.cli.terminal import environment


@pytest.mark.parametrize(
    ("scene", "records"),
    [
        pytest.param(Scene.people, 80, marks=pytest.mark.slow),
        pytest.param(Scene.products, 300, marks=pytest.mark.whole),
    ],
)
def test_the_figures_are_those_of_the_run_and_of_simulate(scene: Scene, records: int, tmp_path: Path) -> None:
    stage = prepare(tmp_path, scene, records)
    found = gather_figures(stage, link_both(stage))
    agreement = read_agreement(stage.a.folder / "agreement.toml")
    same = simulate(stage.a.table, stage.b.table, agreement, seed=1)
    assert found.matches == same.matches > 10
    assert found.truth == score(same.pairs, read_truth(stage.truth))
    assert found.a.matched == len(same.pairs["id_a"].unique())
    assert found.b.matched == len(same.pairs["id_b"].unique())
    assert (found.a.records, found.b.records) == (records, records)
    assert found.a.noisy_total > records
    outputs = [(actor.folder / "pairs.csv").read_bytes() for actor in (stage.a, stage.b)]
    assert outputs[0] == outputs[1]
    assert f"{found.comparisons:,}" in words(agreement, found)


def test_the_summary_compares_with_all_pairs() -> None:
    side = SideFigures("north", 10, 3, 99, "ε = 1")
    figures = Figures(side, side, 3, 50, 10, 1.0, Scores(4, 0.5, 0.25, 1 / 3))
    text = words(starter("people"), figures)
    assert [number in text for number in ("2 of the 4", "50.0%", "25.0%", "2 times")] == [True] * 4
    assert "times" not in words(starter("people"), replace(figures, comparisons=101)).split("101")[1]


@pytest.mark.parametrize("scene", Scene)
def test_what_is_compiled_before_the_agreement_is_read_is_what_it_needs(scene: Scene, tmp_path: Path) -> None:
    stage = prepare(tmp_path, scene, 40)
    assert modules_of(stage.agreement) == (LANED + ALWAYS, _LANES)
    facts = simulate(stage.a.table, stage.b.table, stage.agreement, seed=1).passes
    assert [one.buckets for one in facts] == [one.best_buckets for one in facts]


@pytest.mark.whole
def test_the_error_of_a_child_is_shown_and_both_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = prepare(tmp_path, Scene.people, 20)
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
    assert "b.csv" in capsys.readouterr().err
    assert len(pids) == 2
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def run_demo(folder: Path, scene: Scene, records: int) -> subprocess.Popen[str]:
    """The command in a process group of its own, with its temporary folders in this one."""
    return subprocess.Popen(
        [sys.executable, "-m", "accord", "demo", scene.value, "--records", str(records)],
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
def test_an_interrupt_ends_every_process(tmp_path: Path) -> None:
    demo = run_demo(tmp_path, Scene.people, 1_000)
    assert demo.stderr is not None
    # Only the parent hears it: in a terminal the children would, too.
    next(line for line in demo.stderr if "  Run " in line)
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
    assert told[-1].what == Ended(4)


def test_that_loops_are_compiled_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stage = prepare(tmp_path, Scene.products, 10)
    names = stage.a.name, stage.b.name
    note = Note("Compiling for this machine, once: it takes about ten seconds.")
    both = [Told(name, what) for what in (note, note, Ended(0)) for name in names]
    monkeypatch.setattr(Children, "hear", lambda _: iter(both))
    monkeypatch.setattr(Children, "start", lambda *_: None)
    link_both(stage)
    assert capsys.readouterr().err.count("Compiling") == 1
