"""The evaluation as a page: every figure with its sentences, Table 1, the claims; all from the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from reproduction.catalogue import EXHIBITS, EXPERIMENTS, Exhibit
from reproduction.claims import Claim, Evidence, Finding, judge
from reproduction.claims_paper import CLAIMS
from reproduction.drawing import NAMES, save
from reproduction.fuzzy import fuzzy_text
from reproduction.lab import Lab, Size
from reproduction.provenance import table
from reproduction.seeds import FOLDER, sizes
from reproduction.seeds import found as found_of_seeds
from reproduction.sources import Source, sources_of
from reproduction.sweep import Row, number, stored
from reproduction.table1 import METHODS, audited_tables
from reproduction.wording import joined


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
        save(partial(exhibit.draw, rows[exhibit.experiment]), folder, exhibit.name)
        for exhibit in showable(rows, size)
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
    parts = [_head(lab, rows)]
    if "table1" in rows:
        parts.append("## Table 1\n\n" + table1_text(rows["table1"]))
    by_seed = found_of_seeds(lab.size, lab.seed, results)
    claimed = [row for each in by_seed for found in each.values() for row in found]
    if claimed:
        parts.append("## The claims of the paper\n\n" + claims_text(findings(lab, results), lab.size))
    if "mapping" in rows:
        parts.append("## Recall against the rule and against the truth\n\n" + mapping_text(rows["mapping"]))
    parts.append("## Figures")
    for exhibit in showable(rows, lab.size):
        found = rows[exhibit.experiment]
        said, *beside = exhibit.parts(found)
        parts.append(
            f"### {exhibit.title}\n\n![{exhibit.title}](figures/{exhibit.name}.png)\n\n{said} `python -m "
            f"reproduction {exhibit.experiment}`; data: {_sources(found)}."
        )
        parts += beside
    if (fuzzy := fuzzy_text(results)) is not None:
        parts.append("## Sparse places, beside a fuzzy intersection\n\n" + fuzzy)
    whole = {**rows, **({FOLDER: claimed} if claimed else {})}
    parts.append("## How it was measured\n\n" + _measured(lab, results, whole))
    return "\n\n".join(parts) + "\n"


def _measured(lab: Lab, results: Path, rows: Mapping[str, Sequence[Row]]) -> str:
    """Seeds, machine and commit of each experiment; then the data that they rest on."""
    sources = "\n".join(_source_text(source) for source in sources_of(rows, lab.seed))
    note = (
        "The load is that of all that ran there. In brackets stand the first digits of a SHA-256 over the "
        "files, or that they were generated. What these are, and which results rest on them:"
    )
    return f"{table(results, rows)}\n\n{note}\n\n{sources}"


def _source_text(source: Source) -> str:
    """A set as a line of a list."""
    files = ", ".join(f"`{name}` {digest}" for name, digest in source.checksums.items())
    whole = f" SHA-256: {files}." if files else ""
    return (
        f"- **{NAMES[source.data]} ({source.source.removeprefix('real ')})**, for "
        f"{joined(source.experiments)}: {source.how}.{whole}"
    )


def _head(lab: Lab, rows: Mapping[str, Sequence[Row]]) -> str:
    spent = sum(number(row, "seconds") for found in rows.values() for row in found)
    quick = " --quick" if lab.size.name == "quick" else ""
    return (
        "# The paper's evaluation, rebuilt\n\nWritten by `python -m reproduction report` from the results "
        f"beside this page (`results/*.csv`), not by hand; `python -m reproduction all{quick} --seed "
        f"{lab.seed}` makes them again. The measurements took {spent / 60:.0f} minutes in "
        f"all.{_missing(lab, rows)} Costs are numbers of secure comparisons, the same on every machine for "
        "the same seed and data; only times (clock, link) depend on the machine.\n\nLP is the Laplace "
        "Protocol, APC all pairs, PSI+X set intersection with expansion; GMC is Greedy Match & Clean, S and "
        "SP Sort & Prune. 'The paper's noise' is `paper-2017`, the published formula with its shift rounded "
        "up to a whole number; 'our noise' is `geometric`. δ = 1e-5 unless it varies. Recall is against the "
        f"rule, as in the paper.{_made(rows)}"
    )


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
        " Taxi is resampled: real pick-ups of one city, with their true hour but without a common day, are "
        f"drawn with replacement, up to {most:,.0f} a day, and moved by a few metres; B is A moved by up to "
        "θ."
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


def findings(lab: Lab, results: Path) -> list[tuple[Claim, Finding]]:
    """The claims, judged by the rows of their seeds that are there."""
    # All seeds are judged as a whole: one without the largest days lacks rows, and is no smaller run.
    size = sizes(lab.size)[0]
    return judge(CLAIMS, [Evidence(size, rows) for rows in found_of_seeds(lab.size, lab.seed, results)])


def claims_text(judged: Sequence[tuple[Claim, Finding]], size: Size) -> str:
    """The claims as Markdown."""
    lines = ["| | the paper | measured (due) | verdict | explanation |", "|---|---|---|---|---|"]
    for claim, finding in judged:
        word = "**fails**" if finding.failed else finding.verdict.value
        lines.append(f"| {claim.number} | {claim.paper} | {finding.ours} | {word} | {finding.explanation} |")
    return "\n".join(lines) + (
        f"\n\nEvery number is a mean over seeds, each with tables and noise of its own: {_counted(size)}. ± "
        "is its 95 % interval, in brackets stands where it is due; ✓ is inside, ≈ within half an order of "
        "what the paper says, ✗ outside, ? across an end. How ranges and verdicts follow is one rule for "
        "all: [maths](maths.md#144-the-21-claims). LP is with the paper's noise. The paper compares LP with "
        "GMC to APC without ('LP alone with GMC'); a claim about the two has parts for like with like, too. "
        "Factors are APC/LP: how many times cheaper LP is, below 1 how many times dearer."
    )


def _counted(size: Size) -> str:
    """How many seeds the means are of."""
    days = [own.taxi_days[-1] for own in sizes(size)]
    if len(set(days)) == 1:
        return f"{len(days)} of them"
    return f"{len(days)} of them, those of Taxi at T = {days[0]} {days.count(days[0])}"


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
