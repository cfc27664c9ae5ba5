"""Every time, rate and amount of memory or traffic in the docs comes from a committed result.

A section that has one links to the file it is from, `results/….csv`. All others are listed here with what
their numbers are instead: limits, settings, guesses that are named as such, and what tests compute.
"""

from __future__ import annotations

import re
from pathlib import Path

from accord.privacy.calibration import as_claimed

DOCS = Path(__file__).parents[2] / "docs"
_FENCE = re.compile(r"^```.*?^```", re.M | re.S)
_AMOUNT = re.compile(r"\d\s?(?:[nµm]?s|min|seconds?|minutes|hours|days|[kMG]B|[KMG]iB|rows/s)\b")

INSTEAD = {
    ("reference/agreement.md", "Limits"): "a limit",
    ("cores.md", "When a node is lost"): "a setting of Ray's",
    ("prepare.md", "Bad files"): "limits",
    ("prepare.md", "The pairs in a spreadsheet"): "a limit",
    ("engines.md", "Rows held in shares"): "a formula",
    ("engines.md", "Garbled circuits"): "a size that follows from the parameters",
    ("engines.md", "Silent OTs"): "a size that follows from the parameters",
    ("engines.md", "What a node costs with `ot`"): "a price",
    ("maths.md", "6 Suppression leaks"): "a formula",
    ("maths.md", "13 Corrections to the paper"): "numbers of the paper",
    ("maths.md", "14.4 The 21 claims"): "numbers of the paper, and what is derived from them",
    ("rules.md", "Rules"): "an example of a rule",
    ("rules.md", "Edits and mismatches"): "prices, kept by test_engines.py",
    ("wire.md", "Workers"): "a setting",
    ("wire.md", "The hello"): "a setting",
    ("cores.md", "Use more cores, or a cluster"): "a setting",
    ("wire.md", "Waiting"): "settings",
}
WRITTEN = "evaluation.md"
"""From the results, by `python -m reproduction report`; tests/reproduction keeps it so."""


def sections(text: str) -> dict[str, str]:
    """What stands under each heading, without code."""
    parts = re.split(r"^#+ +(.+)$", _FENCE.sub("", text), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def unfounded(text: str) -> set[str]:
    """The headings of sections with an amount and no result."""
    return {name for name, body in sections(text).items() if _AMOUNT.search(body) and "results/" not in body}


def test_amounts_are_measured_or_accounted_for() -> None:
    pages = {str(path.relative_to(DOCS)): path.read_text() for path in DOCS.rglob("*.md")}
    found = {(page, name) for page, text in pages.items() if page != WRITTEN for name in unfounded(text)}
    assert found == INSTEAD.keys()


def test_an_amount_without_a_result_would_be_found() -> None:
    said = "# Speed\nIt takes 0.7 µs.\n# Memory\n[all](results/a.csv): 3 GiB\n# Code\n```\n5 s\n```\n"
    assert unfounded(said) == {"Speed"}


def test_results_that_are_named_are_there() -> None:
    named = {
        name
        for path in DOCS.rglob("*.md")
        for name in re.findall(r"\]\(.*?results/(\S+?)\)", path.read_text())
    }
    assert len(named) >= 4
    assert all((DOCS / "results" / name).is_file() for name in named)


def test_the_deviations_of_noise_are_computed() -> None:
    page = (DOCS / "privacy.md").read_text()
    head = re.search(r"^\| `geometric`, δ = 2\^-40, one bin per record \| ε = (.*) \|$", page, re.M)
    row = re.search(r"^\| standard deviation per bin \| (.*) \|$", page, re.M)
    assert head
    assert row
    for epsilon, said in zip(head[1].split(" | "), row[1].split(" | "), strict=True):
        deviation = as_claimed("geometric", epsilon, "2^-40").noise.window.deviation
        assert f"{deviation:.2g}" == said, (epsilon, deviation)
