"""Figures and page are pure functions of rows. One is drawn with every change, all with `slow`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from reproduction.captions_beyond import replication_steps
from reproduction.catalogue import EXHIBITS, EXPERIMENTS
from reproduction.drawing import save, short, slope
from reproduction.fuzzy import fuzzy_text
from reproduction.lab import FULL, OURS, PAPER, QUICK, Lab
from reproduction.provenance import remember
from reproduction.replication import STEPS, factors
from reproduction.report import available, draw_all, page, table1_text
from reproduction.seeds import EVIDENCE, FOLDER, needed, sizes
from reproduction.sweep import Experiment, Point, Results, Row, only

WORDS = {
    "how": "measured",
    "verdict": "no leak found",
    "recall_rule": "hamming <= 5",
    "audited_case": "alone",
    "audited_sides": "A and B",
}


def made_up(experiment: Experiment, lab: Lab, folder: Path, points: Sequence[Point] | None = None) -> None:
    """A complete results file with plausible numbers, so that drawing needs no run."""
    results = Results(experiment, folder / f"{experiment.name}.csv")
    for place, point in enumerate(experiment.points(lab.size) if points is None else points):
        days = float(point.get("days", 1))
        values: dict[str, float | str] = {name: 1e4 * days + place for name in experiment.measures}
        values |= {name: 0.5 for name in ("recall", "expected_recall", "ratio") if name in values}
        values |= {"n": days * 5_000} if "n" in values else {}
        values |= {name: 1e-5 * (1 + place) for name in ("delta_exact", "delta_unrounded") if name in values}
        values |= {name: word for name, word in WORDS.items() if name in values}
        if point.get("engine") in ("paillier", "paillier-packed"):
            values["how"] = "extrapolated"
        results.append(lab, point, {**values, "seconds": 1.5})


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> tuple[Lab, Path]:
    lab, folder = Lab(FULL, None, 0), tmp_path_factory.mktemp("evaluation")
    for experiment in EXPERIMENTS.values():
        remember(folder / "results", experiment.name, 0.5)
        made_up(experiment, lab, folder / "results")
    for number, size in enumerate(sizes(FULL)):
        for experiment in EVIDENCE:
            made_up(
                experiment, Lab(size, None, number), folder / "results" / FOLDER, needed(experiment, size)
            )
    return lab, folder


Rows = dict[str, list[Row]]


@pytest.fixture(scope="module")
def rows(results: tuple[Lab, Path]) -> Rows:
    """All of them, read back; tests change copies."""
    lab, folder = results
    return available(lab, folder / "results")


def test_a_figure_is_drawn_and_twice_alike(rows: Rows, tmp_path: Path) -> None:
    assert set(rows) == set(EXPERIMENTS)
    one, two = (
        save(lambda: EXHIBITS[0].draw(rows[EXHIBITS[0].experiment]), tmp_path / folder, EXHIBITS[0].name)
        for folder in ("one", "two")
    )
    assert one.name == f"{EXHIBITS[0].name}.png"
    assert one.stat().st_size < 120_000
    assert one.read_bytes() == two.read_bytes()


@pytest.mark.slow
def test_every_figure_is_drawn_and_twice_alike(results: tuple[Lab, Path], rows: Rows, tmp_path: Path) -> None:
    lab, _ = results
    assert set(rows) == set(EXPERIMENTS)
    paths = draw_all(rows, tmp_path / "one", lab.size)
    assert {path.name for path in paths} == {f"{e.name}.png" for e in EXHIBITS}
    assert all(path.stat().st_size < 120_000 for path in paths)
    first = EXHIBITS[0]
    again = save(lambda: first.draw(rows[first.experiment]), tmp_path / "two", first.name)
    assert again.read_bytes() == (tmp_path / "one" / again.name).read_bytes()


@pytest.mark.parametrize("exhibit", EXHIBITS, ids=lambda exhibit: exhibit.name)
def test_figures_have_labels_and_fit_a_column(exhibit: object, rows: Rows) -> None:
    assert hasattr(exhibit, "draw")
    figure = exhibit.draw(rows[exhibit.experiment])  # type: ignore[attr-defined]
    assert figure.get_size_inches()[0] in (3.3, 7.0)
    drawn = [axes for axes in figure.axes if axes.has_data()]
    assert drawn
    assert any(axes.get_ylabel() or axes.get_xlabel() for axes in drawn)
    assert figure.legends


def test_the_page_has_every_figure_with_two_sentences(results: tuple[Lab, Path], rows: Rows) -> None:
    lab, folder = results
    text = page(lab, folder / "results")
    for exhibit in EXHIBITS:
        assert f"![{exhibit.title}](figures/{exhibit.name}.png)" in text
        said, *beside = exhibit.parts(rows[exhibit.experiment])
        assert all(part in text for part in (said, *beside))
        assert said.rstrip().endswith(".")
        assert said.count(". ") >= 1
    assert "| 21 |" in text
    assert "Not run" not in text


@pytest.mark.slow
def test_a_quick_run_has_all_that_the_sentences_need(tmp_path: Path) -> None:
    lab = Lab(QUICK, None, 0)
    for exhibit in EXHIBITS:
        made_up(EXPERIMENTS[exhibit.experiment], lab, tmp_path)
        rows = available(lab, tmp_path)[exhibit.experiment]
        assert exhibit.says(rows).endswith(".")
        assert exhibit.draw(rows).axes


def changed(rows: list[Row], measure: str, value: float, **where: object) -> list[Row]:
    """The rows with one measure replaced in some."""
    return [
        {**row, measure: value} if all(row[k] == v for k, v in where.items()) else row for row in rows
    ]  # fmt: skip


def said(name: str, rows: list[Row]) -> str:
    (exhibit,) = [exhibit for exhibit in EXHIBITS if exhibit.name == name]
    return exhibit.says(rows)


def test_sentences_turn_with_the_rows(rows: Rows) -> None:
    pruned = changed(rows["size"], "recall", 0.96, method="laplace", prune=10, data="ab", days=1)
    assert "0.5 to 0.96 on AB (above 0.95 in 6 of 30 settings)" in said("size_recall_95", pruned)
    assert "one run on Taxi and 10 runs on AB" in said("size_recall_1", rows["size"])
    cheap = changed(rows["size"], "cost", 1.0, method="laplace", prune=0, data="taxi", epsilon=0.4)
    assert "LP costs less than it at ε = 0.4 on Taxi and at no ε on AB" in said("size_recall_1", cheap)
    assert "Left out with this noise: Taxi at T = 16." in said("variants_ours", rows["variants"])
    assert "Left out" not in said("variants", rows["variants"])
    part = changed(rows["replication"], "recall", 0.9)
    assert "recall: 0.9;" in said("replication", part)
    dear = changed(rows["size"], "cost", 1e12, method="all-pairs-greedy")
    assert "LP costs more nowhere here" in said("size_recall_1", dear)
    cheap = changed(dear, "cost", 1.0, method="all-pairs-greedy", data="taxi", days=1)
    assert "LP costs more at ε = 0.1 on Taxi with n = 5k, at ε = 0.4 on Taxi" in said("size_recall_1", cheap)
    dear = changed(rows["noise"], "dummies", 1e9, noise="geometric", bins=1)
    assert "fewer" not in said("dummies", dear).split(". ")[0]


def test_replication_is_compared_with_the_same_noise_and_each_at_its_best_cell(rows: Rows) -> None:
    found = changed(rows["replication"], "cost", 900.0)
    where = {"epsilon": 1.6, "greedy": "no"}
    for cost, more in (
        (6_000.0, {"noise": PAPER}),
        (3_000.0, {"style": "neighbours", "cell": 0.005, "noise": OURS}),
        (600.0, {"style": "neighbours", "cell": 0.0025, "noise": OURS}),
        (300.0, {"style": "replicate", "cell": 0.01, "noise": OURS}),
        (200.0, {"style": "replicate", "cell": 0.02, "noise": "best"}),
    ):
        found = changed(found, "cost", cost, **where, **more)
    assert "1.00 (cells of 0.001°) and 2.00 (cells of 0.0025° and 0.01°) times" in said("replication", found)
    assert (
        "| no | 1.6 | 6e3 | × 2.00 | × 5.00 | × 2.00 | × 1.50 | × 30.0 | 2e2 |" in replication_steps(found)
    )  # fmt: skip


def test_table_1_says_on_which_tables_its_audits_ran(rows: Rows) -> None:
    table = changed(rows["table1"], "audited_records", 2)
    table = changed(changed(table, "audited_partner", 1), "audited_case", "matched", method="laplace")  # type: ignore[arg-type]
    text = table1_text(table)
    assert "not on AB" in text
    assert "one record of either side" in text
    assert "`alone`, 2 records against 1: a record in a bin of its own, or in another bin of its own" in text
    assert "| LP (`laplace`) | 0.50 | no leak found | `matched` |" in text
    assert "one record of side B" in table1_text([{**row, "audited_sides": "B"} for row in table])


def test_the_baseline_says_what_decides_its_cost_and_where_it_wins(rows: Rows) -> None:
    baseline = rows["baseline"]
    for measure, value in {"components": 2_197, "unmatched_a": 186, "unmatched_b": 3_417}.items():
        baseline = changed(baseline, measure, value, data="taxi", per_day=300_000)
    lose = changed(changed(baseline, "cost", 2.4e7, method="all-pairs"), "cost", 1.2e7, method="laplace")
    text = said("baseline", lose)
    assert "2,197 components and 186 such records make 2,383 rows, of 10,071 comparisons on average" in text
    assert "2.00 times LP at ε = 1.6 with the paper's noise (1.2e7)" in text
    assert text.endswith("It beats LP at ε = 1.6 at no size of the 4 sets.")
    win = changed(lose, "cost", 5.4e6, method="all-pairs", data="taxi", per_day=300_000)
    assert "0.450 times LP at ε = 1.6 with the paper's noise" in said("baseline", win)
    assert "It beats LP at ε = 1.6 on Taxi at n = 300k with the paper's noise" in said("baseline", win)
    # 186 and 3,417 of 300,000.
    assert "0.062 % of A and 1.1 % of B on Taxi" in said("sparse", baseline)


def test_the_page_says_how_taxi_was_made(results: tuple[Lab, Path], tmp_path: Path) -> None:
    lab, folder = results
    assert "Taxi generated" in page(lab, folder / "results")
    assert "resampled" not in page(lab, folder / "results")
    (tmp_path / "data" / "taxi").mkdir(parents=True)
    # Only whether the folder is there decides; where files are looked at, one is needed.
    (tmp_path / "data" / "taxi" / "pickups.csv").write_text("quality\n")
    real = Lab(FULL, tmp_path / "data", 0)
    remember(tmp_path, "replication", 0.5)
    made_up(EXPERIMENTS["replication"], real, tmp_path)
    text = page(real, tmp_path)
    assert "up to 300,000 a day" in text
    assert "data: Taxi resampled from real pick-ups." in text


def test_what_is_not_complete_is_named_and_not_shown(tmp_path: Path) -> None:
    lab = Lab(FULL, None, 0)
    remember(tmp_path, "noise", 0.5)
    made_up(EXPERIMENTS["noise"], lab, tmp_path)
    text = page(lab, tmp_path)
    assert "Not run: size (220 of 220 points), variants" in text
    assert "noise (" not in text
    assert "figures/dummies.png" in text
    assert "figures/clock.png" not in text


@pytest.mark.parametrize(
    "share", [0.02, *(pytest.param(s, marks=pytest.mark.slow) for s in (0.3, 0.5, 0.98))]
)
def test_a_part_of_the_rows_is_reported_as_far_as_it_goes(
    results: tuple[Lab, Path], tmp_path: Path, share: float
) -> None:
    lab, whole = results
    (tmp_path / FOLDER).mkdir()
    for path in (whole / "results").rglob("*.csv"):
        lines = path.read_text().splitlines(keepends=True)
        kept = "".join(lines[: 2 + int(share * (len(lines) - 2))])
        (tmp_path / path.relative_to(whole / "results")).write_text(kept)
    text = page(lab, tmp_path)
    rows = available(lab, tmp_path)
    shown = {path.stem for path in draw_all(rows, tmp_path / "figures", lab.size)}
    assert {e.name for e in EXHIBITS if f"figures/{e.name}.png" in text} == shown
    assert "Not run: size (" in text
    assert "| not run | There is no row with data = " in text
    assert "on a machine that was not recorded" in text


def test_the_page_of_the_project_is_that_of_its_results() -> None:
    """Made from the files alone: neither the day nor the machine nor the data at hand changes it."""
    docs = Path(__file__).parents[2] / "docs"
    assert page(Lab(FULL, None, 0), docs / "results") == (docs / "evaluation.md").read_text(encoding="utf-8")


def test_what_other_pages_say_of_replication_is_what_was_measured() -> None:
    root = Path(__file__).parents[2]
    rows = available(Lab(FULL, None, 0), root / "docs" / "results")["replication"]
    basic, greedy = (
        [
            list(factors(only(rows, greedy=each, epsilon=e)))[STEPS.index("replication")]
            for e in (0.1, 0.4, 1.6)
        ]
        for each in ("no", "yes")
    )
    for name in ("docs/blocking.md", "docs/maths.md"):
        text = " ".join((root / name).read_text(encoding="utf-8").split())
        assert f"{min(basic):.1f} to {max(basic):.1f} " in text
        assert f"{min(greedy):.2f} to {max(greedy):.2f} " in text


def test_places_stand_beside_a_fuzzy_intersection_where_both_were_measured(tmp_path: Path) -> None:
    docs = Path(__file__).parents[2] / "docs"
    rows = (docs / "results" / "routed.csv").read_text()
    (tmp_path / "routed.csv").write_text(rows)
    assert fuzzy_text(tmp_path) is None
    (tmp_path / "fuzzy.csv").write_text((docs / "results" / "fuzzy.csv").read_text())
    assert "| 170,522 | 119 | 16 |" in str(fuzzy_text(tmp_path))
    (place,) = [line for line in rows.splitlines() if line.startswith("routed,places,65536")]
    (tmp_path / "routed.csv").write_text(rows + place.replace("118912716", "77000000") + "\n")
    text = str(fuzzy_text(tmp_path))
    assert "| 170,522 | 77 | 16 |" in text
    assert "Accord sends 1.00 times (`routed`)" in text


def test_slopes_and_short_numbers() -> None:
    rows: list[Row] = [{"n": 10**k, "cost": 3 * 10 ** (2 * k)} for k in (2, 3, 4)]
    assert slope(rows, "n", "cost") == pytest.approx(2)
    assert [short(x) for x in (12, 5_000, 1_200_000, 3e9)] == ["12", "5k", "1.2M", "3G"]
    assert only(rows, n=100) == rows[:1]


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    from matplotlib.figure import Figure

    from accord.errors import OutputError

    (tmp_path / "taken").write_text("")
    with pytest.raises(OutputError, match="taken"):
        save(Figure, tmp_path / "taken", "x")
