"""Every system is asked the same question, and lines that are there are not measured again."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from accord import read_agreement, simulate
from accord.agreement.adjusting import adjust
from accord.rules.rule import Score
from accord.table.layout import Layout
from reproduction import quality
from reproduction.halves import Judged
from reproduction.quality import Measured, agreement, measure, read_case, read_scores, study
from reproduction.quality_data import DATASETS, PEERS, Dataset, _write
from reproduction.quality_drafted import Drafted
from reproduction.quality_private import Private
from reproduction.quality_rows import SYSTEMS

ROOT = Path(__file__).parents[2]
SMALL = next(one for one in DATASETS if one.name == "rldata500")
NAMES = ("anna", "berta", "clara", "dora", "emil", "franz", "gustav", "heinz", "ida", "julia")


def write_small(folder: Path, people: int = 60) -> None:
    """People with the columns of RLdata; every third is in both tables, and its name has a slip in B."""
    a, b, truth = [], [], []
    for number in range(people):
        given, surname = NAMES[number % 10], NAMES[number * 7 // 10 % 10] + "mann"
        cells = {"given": given, "middle": "", "surname": surname, "surname_2": ""}
        cells["birth"] = f"19{number:02}0{number % 9 + 1}1{number % 10}"
        if number % 3 != 1:
            a.append({"id": f"a{number}", **cells})
        if number % 3 != 2:
            b.append({"id": f"b{number}", **cells, "given": given[1:] if number % 3 == 0 else given})
        if number % 3 == 0:
            truth.append((f"a{number}", f"b{number}"))
    _write(folder, a, b, truth)


@pytest.mark.parametrize("dataset", DATASETS, ids=lambda one: one.name)
def test_every_set_has_an_agreement_that_reads_its_columns(dataset: Dataset) -> None:
    agreed = agreement(dataset)
    assert isinstance(agreed.rule, Score)
    assert set(agreed.names) <= set(dataset.kinds)
    assert agreed.engine.name == "ot"
    assert (agreed.protocol.name == "all-pairs") == dataset.all_pairs
    if not dataset.all_pairs:
        assert agreed.to_toml().count("1.6") == agreed.to_toml().count("2^-40") == 2


def test_accord_is_judged_on_what_it_did_not_see(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quality, "TURNS", 3)
    write_small(tmp_path)
    found = measure(read_case(SMALL, tmp_path, 0), "tuned")
    assert len(found.turns) == quality.TURNS
    assert sum(one.f1 for one in found.turns) / quality.TURNS > 0.9


def drafted(folder: Path) -> Drafted:
    """What a newcomer might agree on, without the time that drafting takes."""
    (folder / "agreement.toml").write_text((ROOT / AGREED).read_text(encoding="utf-8"), encoding="utf-8")
    agreed = adjust(read_agreement(folder / "agreement.toml"), protocol="all-pairs")
    return Drafted(agreed, (folder / "a.csv", folder / "b.csv"), (Layout(), Layout()))


AGREED = "reproduction/agreements/rldata.toml"


def test_a_draft_is_judged_as_it_is_linked_and_with_labels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quality, "TURNS", 2)
    write_small(tmp_path)
    made = drafted(tmp_path)
    monkeypatch.setattr(quality, "draft", lambda *_: made)
    private = Private(made.ids(made.pairs(made.agreement.rule)), 5, 1.5, 7)
    monkeypatch.setattr(quality, "link_privately", lambda *_: private)
    case = read_case(SMALL, tmp_path, 0)
    found = measure(case, "drafted")
    assert len(found.turns) == 1
    learned = measure(case, "learned")
    assert sum(one.f1 for one in learned.turns) / 2 > 0.9
    monkeypatch.setattr(quality, "link_privately", lambda *_: Private(frozenset(), 5, 1.5, 7))
    with pytest.raises(RuntimeError, match="rldata500: the draft found other pairs privately"):
        measure(case, "drafted")


@pytest.mark.parametrize(
    ("name", "protocol"), [("rldata500", None), ("rldata10000", None), ("rldata10000", "routed")]
)
def test_what_is_judged_is_what_the_protocol_finds(tmp_path: Path, name: str, protocol: str | None) -> None:
    dataset = next(one for one in DATASETS if one.name == name)
    write_small(tmp_path)
    tables, agreed = read_case(dataset, tmp_path, 0).tables, agreement(dataset)
    if protocol is not None:
        agreed = adjust(agreed, protocol=protocol).model_copy(update={"one_to_one": "pairs"})
    pairs = simulate(tables.a, tables.b, agreed, seed=3).pairs
    found = frozenset(zip(pairs["id_a"].to_pylist(), pairs["id_b"].to_pylist(), strict=True))
    made = Drafted(agreed, (tmp_path / "a.csv", tmp_path / "b.csv"), (Layout(), Layout()))
    assert found == made.ids(made.pairs(agreed.rule))
    assert len(found) >= 15


def test_a_peer_is_given_the_set_and_its_scores_are_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_small(tmp_path)
    jobs = []

    def peer(script: str, path: Path) -> str:
        job = json.loads(path.read_text())
        jobs.append((script, job))
        with path.with_name("halves.csv").open(newline="") as file:
            head, *rows = csv.reader(file)
        assert head == ["id", *map(str, range(quality.TURNS))]
        assert {cell for row in rows for cell in row[1:]} == {"0", "1"}
        truth = path.with_name("truth.csv").read_text().splitlines()[1:]
        lines = [f"{pair},1.0" for pair in truth] + ["a2,b1,0.5"]
        path.with_name("pairs.csv").write_text("\n".join(["id_a,id_b,score", *lines]))
        return 'a note\n{"seconds": 2.5}\n'

    monkeypatch.setattr(quality, "run_peer", peer)
    case = read_case(SMALL, tmp_path, 0)
    found = measure(case, "splink")
    assert found.turns == [Judged(1.0, 1.0, 1.0)] * quality.TURNS
    assert (found.seconds, found.bytes) == (2.5, (tmp_path / "b.csv").stat().st_size)
    assert measure(case, "anonlink").bytes == 128 * sum(case.truth.sizes)
    assert [script for script, _ in jobs] == ["with_splink", "with_anonlink"]
    assert jobs[0][1]["kinds"] == SMALL.kinds
    assert jobs[0][1]["certain"] == [["given", "birth"], ["surname", "birth"]]
    assert jobs[0][1]["prior"] == 20 / (40 * 40)
    half = measure(case, "splink-half")
    assert (jobs[-1][0], jobs[-1][1]["prior"]) == ("with_splink", None)
    assert all(one.recall == 1 for one in half.turns)


def test_scores_of_each_turn_are_its_own(tmp_path: Path) -> None:
    write_small(tmp_path)
    path = tmp_path / "pairs.csv"
    path.write_text("id_a,id_b,score 0,score 1\na0,b0,1,2.5\na3,b0,3,-4\n")
    left, right, scores = read_scores(path, read_case(SMALL, tmp_path, 0).tables)
    assert (left.tolist(), right.tolist()) == ([0, 2], [0, 0])
    assert [one.tolist() for one in scores] == [[1, 3], [2.5, -4]]


def test_a_study_cut_off_goes_on_and_another_seed_starts_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_small(tmp_path / "data" / SMALL.name)
    monkeypatch.setattr(quality, "prepare", lambda folder, data: (SMALL,))
    monkeypatch.setattr(quality, "_warm_up", lambda case, folder: None)
    read = quality.read_case
    monkeypatch.setattr(
        quality,
        "read_case",
        lambda dataset, folder, seed: read(dataset, tmp_path / "data" / SMALL.name, seed),
    )
    asked: list[str] = []

    def fake(case: object, system: str) -> Measured:
        if system == "recordlinkage" and "cut" not in asked:
            raise KeyboardInterrupt
        asked.append(system)
        return Measured([Judged(1.0, 0.5, 2 / 3), Judged(1.0, 0.5, 2 / 3)], 1.234, 99)

    monkeypatch.setattr(quality, "measure", fake)
    told: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        study(tmp_path, None, 0, True, told.append)
    asked.append("cut")
    lines, turns = study(tmp_path, None, 0, True, told.append)
    assert asked == [*SYSTEMS[:-2], "cut", *SYSTEMS[-2:]]
    assert [one.system for one in lines] == list(SYSTEMS)
    assert (lines[0].f1, lines[0].seconds, lines[0].bytes) == (0.6667, 1.23, 99)
    assert len(turns) == 2 * len(SYSTEMS)
    study(tmp_path, None, 0, True, told.append)
    assert len(asked) == len(SYSTEMS) + 1
    study(tmp_path, None, 1, True, told.append)
    assert asked[len(SYSTEMS) + 1 :] == list(SYSTEMS)


@pytest.mark.slow
@pytest.mark.skipif(
    not (ROOT / PEERS).exists(), reason="the peers live in .venv-peers: `make quality` makes it"
)
@pytest.mark.parametrize("system", SYSTEMS[3:])
def test_each_peer_finds_what_is_plain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: str) -> None:
    monkeypatch.chdir(ROOT)
    write_small(tmp_path, people=90)
    found = measure(read_case(SMALL, tmp_path, 0), system)
    assert sum(one.f1 for one in found.turns) / quality.TURNS > 0.8
    assert found.seconds > 0
