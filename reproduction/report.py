"""The evaluation as a page: every figure with its sentences, Table 1, the claims; all from the results."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from datetime import date
from functools import partial
from pathlib import Path

from accord import __version__
from reproduction.catalogue import EVIDENCE, EXHIBITS, EXPERIMENTS, Exhibit
from reproduction.claims import Claim, Evidence, Finding, judge
from reproduction.claims_paper import CLAIMS
from reproduction.drawing import NAMES, save
from reproduction.lab import Lab, Size
from reproduction.sweep import Row, number, stored
from reproduction.table1 import METHODS
from reproduction.wording import joined

MACHINE = "machine.json"


def remember_machine(folder: Path, cores: int, load: float) -> None:
    """Write down where the results of this folder were made, and when."""
    folder.mkdir(parents=True, exist_ok=True)
    facts = {
        "date": date.today().isoformat(),
        "processor": platform.machine(),
        "cores": cores,
        "load": round(load, 1),
        "system": platform.system(),
        "python": platform.python_version(),
        "accord": __version__,
    }
    (folder / MACHINE).write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


def showable(rows: Mapping[str, Sequence[Row]], size: Size) -> list[Exhibit]:
    """The figures whose rows suffice."""
    begun = [each for each in EXHIBITS if rows.get(each.experiment)]
    return [each for each in begun if _suffices(each, rows[each.experiment], size)]


def _suffices(exhibit: Exhibit, rows: Sequence[Row], size: Size) -> bool:
    """With all points there a failure to draw is a fault of ours; with a part of them, what they lack."""
    if len(rows) == len(EXPERIMENTS[exhibit.experiment].points(size)):
        return True
    try:
        exhibit.says(rows)
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
        parts.append(
            f"### "
            f"{exhibit.title}\n\n![{exhibit.title}](figures/{exhibit.name}.png)\n\n{exhibit.says(found)} "
            f"`python -m reproduction {exhibit.experiment}`; data: {_sources(found)}."
        )
    return "\n\n".join(parts) + "\n"


def _head(lab: Lab, results: Path, rows: Mapping[str, Sequence[Row]]) -> str:
    machine = _machine(results)
    spent = sum(number(row, "seconds") for found in rows.values() for row in found)
    quick = " --quick" if lab.size.name == "quick" else ""
    return (
        f"# The paper's evaluation, rebuilt\n\n"
        f"Written by `python -m reproduction report` from the results beside this page (`results/*.csv`), "
        f"not by hand; `python -m reproduction all{quick} --seed {lab.seed}` makes them again. Accord "
        f"{machine['accord']}, "
        f"{machine['date']}, {machine['system']} on {machine['processor']}, {machine['cores']} cores with a "
        f"load "
        f"of {machine['load']} by all that ran there, Python {machine['python']}; the measurements took "
        f"{spent / 60:.0f} minutes in all.{_missing(lab, rows)} Costs are numbers of secure comparisons, "
        f"the same on "
        f"every machine for the same seed and data; only times depend on the machine.\n\n"
        f"LP is the Laplace Protocol, APC all pairs, PSI+X set intersection with expansion; GMC is Greedy "
        f"Match & Clean, "
        f"S and SP Sort & Prune. 'The paper's noise' is `paper-2017`, the published formula with its shift "
        f"rounded up to a whole number; 'our noise' is `geometric`. "
        f"δ = 1e-5 unless it varies. Recall is against the rule, as in the paper.{_made(rows)}"
    )


def _machine(results: Path) -> dict[str, str]:
    """What was written down about the machine; a run that was killed may have had no time to."""
    try:
        found: dict[str, str] = json.loads((results / MACHINE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        names = ("date", "processor", "cores", "load", "system", "python", "accord")
        return dict.fromkeys(names, "(not recorded)")
    return found


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
        "| approach | recall | audit | ε at least (claimed; at most shown) | growth | cost / all pairs |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        narrow = " (Hamming ≤ 1)" if row["recall_rule"] != "hamming <= 5" else ""
        lines.append(
            f"| {METHODS[str(row['method'])]} (`{row['method']}`) | {number(row, 'recall'):.2f}{narrow} | "
            f"{row['verdict']} | "
            f"{number(row, 'epsilon_lower'):.2f} ({number(row, 'epsilon_claimed'):g}; "
            f"{number(row, 'epsilon_most'):.1f}) | "
            f"n^{number(row, 'exponent'):.2f} | "
            f"{number(row, 'cost_ratio'):.3g} |"
        )
    size = number(rows[0], "per_day")
    # cost / cost_ratio is n² at the largest size.
    days = (number(rows[0], "cost") / number(rows[0], "cost_ratio")) ** 0.5 / size
    trials = " or ".join(str(t) for t in sorted({int(row["trials"]) for row in rows}))
    return "\n".join(lines) + (
        f"\n\nAB with {size:,.0f} records a day; growth over 1, 2 and 4 days, cost / all pairs at "
        f"{days:.0f} days; {trials} audited runs of each table; in brackets the ε that the verdict is "
        f"about, and the most that so many runs could have shown. "
        f"PSI+X is priced here by the values it lists, n·(1 + γ); in the figures of cost against data size "
        f"by the paper's estimate γ·n·ln ln n. The window of local DP is half the bins. A verdict of 'no "
        f"leak found' is not a proof: [audits](audit.md)."
    )


def claims_text(findings: Sequence[tuple[Claim, Finding]]) -> str:
    """The claims as Markdown."""
    lines = ["| | the paper | ours | verdict | explanation |", "|---|---|---|---|---|"]
    for claim, found in findings:
        word = "**fails**" if found.failed else found.verdict.value
        lines.append(f"| {claim.number} | {claim.paper} | {found.ours} | {word} | {found.explanation} |")
    return "\n".join(lines)


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
        f"\n\nAB with {number(first, 'per_day'):,.0f} records a side: the rule accepts "
        f"{number(first, 'matches'):,.0f} pairs, "
        f"the true mapping has {number(first, 'true_pairs'):,.0f}. The paper's rule is strict; no protocol "
        f"can find what "
        f"the rule denies."
    )
