"""The evaluation as a page: every figure with its sentences, Table 1, the claims; all from the results."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from functools import partial
from pathlib import Path

from accord import __version__
from reproduction.catalogue import EVIDENCE, EXHIBITS, EXPERIMENTS, Exhibit
from reproduction.claims import Claim, Evidence, Finding, judge
from reproduction.claims_paper import CLAIMS
from reproduction.drawing import NAMES, save
from reproduction.fuzzy import fuzzy_text
from reproduction.lab import Lab, Size
from reproduction.sweep import Row, number, stored
from reproduction.table1 import METHODS, audited_tables
from reproduction.wording import joined

MACHINE = "machine.json"
Facts = dict[str, str | int | float]
"""What is written down about a machine."""


def remember_machine(folder: Path, name: str, cores: int, load: float) -> None:
    """Write down where the last results of an experiment were made, and when."""
    folder.mkdir(parents=True, exist_ok=True)
    facts: Facts = {
        "date": date.today().isoformat(),
        "processor": platform.machine(),
        "cores": cores,
        "load": round(load, 1),
        "system": platform.system(),
        "python": platform.python_version(),
        "accord": __version__,
    }
    known = _machines(folder) | {name: facts}
    (folder / MACHINE).write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")


def _machines(results: Path) -> dict[str, Facts]:
    """What was written down, by experiment; a run that was killed may have had no time to."""
    try:
        found = json.loads((results / MACHINE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return {name: facts for name, facts in found.items() if isinstance(facts, dict)}


def showable(rows: Mapping[str, Sequence[Row]], size: Size) -> list[Exhibit]:
    """The figures whose rows suffice."""
    begun = [each for each in EXHIBITS if rows.get(each.experiment)]
    return [each for each in begun if _suffices(each, rows[each.experiment], size)]


def _suffices(exhibit: Exhibit, rows: Sequence[Row], size: Size) -> bool:
    """With all points there a failure to draw is a fault of ours; with a part of them, what they lack."""
    if len(rows) == len(EXPERIMENTS[exhibit.experiment].points(size)):
        return True
    try:
        exhibit.parts(rows)
        exhibit.draw(rows)
    except (LookupError, ValueError, TypeError):
        return False
    return True


def draw_all(rows: Mapping[str, Sequence[Row]], folder: Path, size: Size) -> list[Path]:
    """Draw every figure whose rows suffice."""
    return [
        path
        for exhibit in showable(rows, size)
        for path in save(partial(exhibit.draw, rows[exhibit.experiment]), folder, exhibit.name)
    ]


def available(lab: Lab, results: Path) -> dict[str, list[Row]]:
    """The rows that are there, of every experiment that was begun."""
    rows = {name: stored(experiment, lab, results) for name, experiment in EXPERIMENTS.items()}
    return {name: found for name, found in rows.items() if found}


def _missing(lab: Lab, rows: Mapping[str, Sequence[Row]]) -> str:
    """What was not run, so that nobody takes a part for the whole."""
    parts = []
    for name, experiment in EXPERIMENTS.items():
        due, found = len(experiment.points(lab.size)), len(rows.get(name, ()))
        if found < due:
            parts.append(f"{name} ({due - found} of {due} points)")
    return f" Not run: {', '.join(parts)}." if parts else ""


def page(lab: Lab, results: Path) -> str:
    """The text of evaluation.md."""
    rows = available(lab, results)
    parts = [_head(lab, results, rows)]
    if "table1" in rows:
        parts.append("## Table 1\n\n" + table1_text(rows["table1"]))
    if any(name in rows for name in EVIDENCE):
        findings = judge(CLAIMS, Evidence(lab.size, rows))
        parts.append("## The claims of the paper\n\n" + claims_text(findings))
    if "mapping" in rows:
        parts.append("## Recall against the rule and against the truth\n\n" + mapping_text(rows["mapping"]))
    parts.append("## Figures")
    for exhibit in showable(rows, lab.size):
        found = rows[exhibit.experiment]
        said, *beside = exhibit.parts(found)
        parts.append(
            f"### "
            f"{exhibit.title}\n\n![{exhibit.title}](figures/{exhibit.name}.png)\n\n{said} "
            f"`python -m reproduction {exhibit.experiment}`; data: {_sources(found)}."
        )
        parts += beside
    if (fuzzy := fuzzy_text(results)) is not None:
        parts.append("## Sparse places, beside a fuzzy intersection\n\n" + fuzzy)
    return "\n\n".join(parts) + "\n"


def _head(lab: Lab, results: Path, rows: Mapping[str, Sequence[Row]]) -> str:
    spent = sum(number(row, "seconds") for found in rows.values() for row in found)
    quick = " --quick" if lab.size.name == "quick" else ""
    return (
        "# The paper's evaluation, rebuilt\n\nWritten by `python -m reproduction report` from the results "
        f"beside this page (`results/*.csv`), not by hand; `python -m reproduction all{quick} --seed "
        f"{lab.seed}` makes them again. The measurements took {spent / 60:.0f} minutes in all."
        f"{_missing(lab, rows)} Costs are numbers of secure comparisons, the same on every machine for the "
        "same seed and data; only times (clock, link) depend on the machine. Where the last points of each "
        f"experiment were measured: {_where(results, rows)}.\n\nLP is the "
        "Laplace Protocol, APC all pairs, PSI+X set intersection with expansion; GMC is Greedy Match & "
        "Clean, S and SP Sort & Prune. 'The paper's noise' is `paper-2017`, the published formula with its "
        "shift rounded up to a whole number; 'our noise' is `geometric`. δ = 1e-5 unless it varies. Recall "
        f"is against the rule, as in the paper.{_made(rows)}"
    )


def _where(results: Path, names: Iterable[str]) -> str:
    """On which machines the results were made; of a resumed experiment, its last points."""
    machines, groups = _machines(results), dict[str, dict[str, float]]()
    for name in names:
        facts = machines.get(name)
        words = (
            "on a machine that was not recorded"
            if facts is None
            else (
                f"{facts['date']}, Accord {facts['accord']} on Python {facts['python']}, {facts['system']} "
                "on "
                f"{facts['processor']}, {facts['cores']} cores"
            )
        )
        groups.setdefault(words, {})[name] = 0.0 if facts is None else float(facts["load"])
    return "; ".join(f"{', '.join(loads)}: {words}{_load(loads)}" for words, loads in groups.items())


def _load(loads: Mapping[str, float]) -> str:
    """From the least to the most of what else the machine did; nothing where it was not recorded."""
    ends = dict.fromkeys(f"{end:g}" for end in (min(loads.values()), max(loads.values())))
    return f" with a load of {' to '.join(ends)} by all that ran there" if any(loads.values()) else ""


REAL = {
    "ab": "AB drawn with replacement from the real Abt-Buy tables",
    "taxi": "Taxi resampled from real pick-ups",
}


def _sources(rows: Sequence[Row]) -> str:
    """Where the tables of an experiment come from."""
    if all("data" not in row for row in rows):
        return "none, exact computation"
    found = {str(row["data"]): str(row["source"]) for row in rows}
    return joined(
        REAL[data] if source.startswith("real") else f"{NAMES[data]} generated"
        for data, source in found.items()
    )


def _made(rows: Mapping[str, Sequence[Row]]) -> str:
    """How the days of Taxi were made, where they are from real pick-ups."""
    taxi = [row for found in rows.values() for row in found if row.get("data") == "taxi"]
    if not any(str(row["source"]).startswith("real") for row in taxi):
        return ""
    most = max(number(row, "per_day") for row in taxi)
    return (
        f" Taxi is resampled: real pick-ups of one city, with their true hour but without a common day, are "
        f"drawn with replacement, up to {most:,.0f} a day, and moved by a few metres; B is A moved by up "
        f"to θ."
    )


def table1_text(rows: Sequence[Row]) -> str:
    """Table 1 as Markdown."""
    lines = [
        "| approach | recall | audit | audited tables | ε at least (claimed; at most shown) | growth | "
        "cost / all pairs |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        narrow = " (Hamming ≤ 1)" if row["recall_rule"] != "hamming <= 5" else ""
        lines.append(
            f"| {METHODS[str(row['method'])]} (`{row['method']}`) | {number(row, 'recall'):.2f}{narrow} | "
            f"{row['verdict']} | `{row['audited_case']}` | {number(row, 'epsilon_lower'):.2f} "
            f"({number(row, 'epsilon_claimed'):g}; {number(row, 'epsilon_most'):.1f}) | "
            f"n^{number(row, 'exponent'):.2f} | {number(row, 'cost_ratio'):.3g} |"
        )
    size = number(rows[0], "per_day")
    # cost / cost_ratio is n² at the largest size.
    days = (number(rows[0], "cost") / number(rows[0], "cost_ratio")) ** 0.5 / size
    trials = " or ".join(str(t) for t in sorted({int(row["trials"]) for row in rows}))
    return "\n".join(lines) + (
        f"\n\nRecall, growth and cost are of AB with {size:,.0f} records a day; recall on one day, growth "
        f"over 1, 2 and 4 days, cost / all pairs at {days:.0f} days, without greedy. {audited_tables(rows)} "
        f"{trials} runs of each table; in brackets the ε that the verdict is about, and the most that so "
        "many runs could have shown. PSI+X is priced here by the values it lists, n·(1 + γ); in the figures "
        "of cost against data size by the paper's estimate γ·n·ln ln n. The window of local DP is half the "
        "bins. A verdict of 'no leak found' is not a proof: [audits](audit.md)."
    )


def claims_text(findings: Sequence[tuple[Claim, Finding]]) -> str:
    """The claims as Markdown."""
    lines = ["| | the paper | held if | ours | verdict | explanation |", "|---|---|---|---|---|---|"]
    for claim, found in findings:
        word = "**fails**" if found.failed else found.verdict.value
        lines.append(
            f"| {claim.number} | {claim.paper} | {claim.tolerance} | {found.ours} | {word} | "
            f"{found.explanation} |"
        )
    return "\n".join(lines) + (
        "\n\nLP is with the paper's noise. The paper compares LP with GMC to APC without; here a claim about "
        "the two is held only like with like, basic and with GMC on both sides, and held in part if the "
        "paper's own comparison is as it says. × is APC/LP: how many times cheaper LP is, below 1 how many "
        "times dearer. What is not held needs an explanation whose conditions are checked, too, or the claim "
        "fails."
    )


def mapping_text(rows: Sequence[Row]) -> str:
    """Both recalls, as Markdown."""
    lines = [
        "| | recall of the rule's matches | recall of the true pairs | precision against the truth |",
        "|---|---|---|---|",
    ]
    for row in rows:
        lines.append(
            f"| `{row['method']}` | {number(row, 'recall'):.3f} | {number(row, 'recall_of_truth'):.3f} | "
            f"{number(row, 'precision_of_truth'):.3f} |"
        )
    first = rows[0]
    return "\n".join(lines) + (
        f"\n\nAB with {number(first, 'per_day'):,.0f} records per side: the rule accepts "
        f"{number(first, 'matches'):,.0f} pairs, the true mapping has {number(first, 'true_pairs'):,.0f}. "
        "The paper's rule is strict; no protocol can find what the rule denies."
    )
