"""The demo: two real processes, a summary whose figures are right, and nothing left behind."""

from __future__ import annotations

import csv
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
import typer

from accord.agreement.file import read_agreement
from accord.cli.children import Children, Ended, Note, Told
from accord.cli.demo import _LANES, link_both, prepare
from accord.cli.demo_stage import Scene, Stage
from accord.cli.demo_summary import Example, Figures, SideFigures, gather_figures, look_at, words
from accord.cli.progress_pair import PairDisplay
from accord.compilers import ALWAYS, LANED
from accord.datasets.starter import starter
from accord.notices import Connected, Progress
from accord.run.compiling import modules_of
from accord.simulation.known import PairFacts
from accord.simulation.pair import Simulation, simulate
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
    found = gather_figures(stage, link_both(stage), look_at(stage))
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
    require_examples(stage, found, same)
    text = words(agreement, found)
    right = round(found.truth.truth_recall * found.truth.true_pairs)
    assert f"found {right:,} of the {found.truth.true_pairs:,} pairs that belong together" in text
    assert f"{found.comparisons:,} comparisons" in text
    assert text.endswith("`accord init --from YOUR.csv`")
    names = stage.a.name, stage.b.name
    assert f"{names[0]}: ε = 1.6, δ = 2^-40; {names[1]}: ε = 1.6, δ = 2^-40" in text


def require_examples(stage: Stage, found: Figures, same: Simulation) -> None:
    """The two examples are true pairs, of which one was found, with the cells of their records."""
    true = {pair: i for i, pair in enumerate(zip(*ids_of(read_truth(stage.truth)), strict=True))}
    output = set(zip(*ids_of(same.pairs), strict=True))
    assert found.found is not None
    assert (found.missed is None) == (found.truth.truth_recall == 1)
    for example, was_found in ((found.found, True), (found.missed, False)):
        if example is None:
            continue
        pair = example.pair
        assert (pair.id_a, pair.id_b) in true
        assert ((pair.id_a, pair.id_b) in output) == pair.found == was_found
        assert was_found or not (pair.accepted and pair.meets)
        for actor, id, cells in (
            (stage.a, pair.id_a, example.cells_a),
            (stage.b, pair.id_b, example.cells_b),
        ):
            rows = csv.DictReader(actor.table.read_text().splitlines())
            row = next(row for row in rows if row["id"] == id)
            assert cells == tuple(row[column] for column in example.columns)
        line = stage.truth.read_text().splitlines()[1 + true[pair.id_a, pair.id_b]]
        assert line.endswith(f'"{example.errors.replace(", ", " ")}"') or not example.errors
    assert found.found.pair.differs


def ids_of(pairs: pa.Table) -> list[list[str]]:
    return [pairs[name].to_pylist() for name in ("id_a", "id_b")]


def example(pair: PairFacts, errors: str = "") -> Example:
    return Example(pair, errors, ("given",), ("Ann",), ("ANNE",))


def test_the_examples_say_what_happened() -> None:
    side = SideFigures("north", 10, 3, 99, "ε = 1")
    scores = Scores(4, 0.5, 0.25, 1 / 3)
    pair = PairFacts("A1", "B2", True, True, True, True, True, ("given",), (), None, ())
    lost = replace(pair, id_a="A3", found=False, accepted=False)
    apart = replace(pair, id_a="A3", found=False, meets=False)
    told = Figures(side, side, 3, 50, 10, 1.0, scores, 2, example(pair, "keyboard, moved"), example(lost))
    text = words(starter("people"), told)
    assert "Found despite errors: A1 and B2 (keyboard, moved)\n  id  given\n" in text
    assert "  A1  Ann\n  B2  ANNE\n" in text
    assert "Missed: A3 and B2; the rule refuses it\n" in text
    assert "found 2 of the 4 pairs that belong together, and 1 that does not." in text
    assert "recall 50.0%, precision 25.0%; the rule itself refuses 2 true pairs\n" in text
    assert "50.0% of all 100 pairs: 2 times fewer; " in text
    more = replace(told, missed=example(apart), found=None, comparisons=101)
    text = words(starter("people"), more)
    assert "Missed: A3 and B2; it meets in no pass\n" in text
    assert "Found despite errors: no pair\n" in text
    assert "101 comparisons; all 100 pairs would be fewer" in text


@pytest.mark.parametrize("scene", Scene)
def test_what_is_compiled_before_the_agreement_is_read_is_what_it_needs(scene: Scene, tmp_path: Path) -> None:
    assert modules_of(prepare(tmp_path, scene, 10).agreement) == (LANED + ALWAYS, _LANES)


def test_buckets_are_those_that_simulate_names(tmp_path: Path) -> None:
    stage = prepare(tmp_path, Scene.people, 40)
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
    assert "south-register: accord: b.csv cannot be read" in capsys.readouterr().err
    assert len(pids) == 2
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def run_demo(folder: Path, scene: str, records: int) -> subprocess.Popen[str]:
    """The command in a process group of its own, with its temporary folders in this one."""
    return subprocess.Popen(
        [sys.executable, "-m", "accord", "demo", scene, "--records", str(records)],
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
@pytest.mark.parametrize(("scene", "kind"), [("people", "register"), ("products", "shop")])
def test_the_command_leaves_nothing_behind(scene: str, kind: str, tmp_path: Path) -> None:
    demo = run_demo(tmp_path, scene, 100)
    out, err = demo.communicate(timeout=120)
    assert demo.returncode == 0, err
    require_nothing_left(demo.pid, tmp_path)
    assert "What each learned about the other" in out
    assert re.search(rf"^  of those that match \(\d+ of north-{kind}, \d+ of south-{kind}\): id, ", out, re.M)
    assert "What neither learned" in out
    assert re.search(rf"^south-{kind}\$ accord link b\.csv .*--connect 127\.0\.0\.1:\d+", err, re.M)
    for name in (f"north-{kind}", f"south-{kind}"):
        assert re.search(rf"^{name}  connected to", err, re.M)
        assert re.search(rf"^{name}  [\d,]+ comparisons", err, re.M)
        assert re.search(rf"^{name}  done: ", err, re.M)


@pytest.mark.slow
def test_an_interrupt_ends_every_process(tmp_path: Path) -> None:
    demo = run_demo(tmp_path, "people", 1_000)
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
    shown = capsys.readouterr().err
    assert "50 %" in shown
    assert "50 comparisons, of which 7 matched, 2.0 MB" in shown


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
    assert capsys.readouterr().err.count(" for this machine, once") == 1
