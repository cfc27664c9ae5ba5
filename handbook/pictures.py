"""All drawings of the documentation, from what is in the repository; the demo's screen from a real run.

docs/diagrams/*.txt      →  *.svg beside them
docs/pictures/demo.txt   →  demo.svg; the text is what `accord demo` showed on a terminal
docs/results/size.csv    →  docs/pictures/cost.svg
docs/results/routed.csv, routed-plan.csv  →  docs/pictures/routed.svg
the graphs of neighbours  →  docs/pictures/neighbours.svg
"""

from __future__ import annotations

from pathlib import Path

from handbook.cost import draw_cost, draw_growth
from handbook.idea import draw_idea
from handbook.neighbours import draw_neighbours
from handbook.screen import draw_screen, record_demo
from handbook.sequence import draw, parse

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


def draw_all(run_demo: bool) -> None:
    """Write every drawing; with `run_demo` the demo is run and its screen kept first."""
    if run_demo:
        (DOCS / "pictures" / "demo.txt").write_text(record_demo())
    for path, drawn in drawings(DOCS).items():
        path.write_text(drawn)


def drawings(docs: Path) -> dict[Path, str]:
    """Every drawing by the file it belongs into: a function of the texts that are there."""
    sequences = {path: draw(parse(path.read_text())) for path in sorted((docs / "diagrams").glob("*.txt"))}
    results = docs / "results"
    runs, plans = ((results / name).read_text() for name in ("routed.csv", "routed-plan.csv"))
    return {
        **{path.with_suffix(".svg"): drawn for path, drawn in sequences.items()},
        docs / "diagrams" / "idea.svg": draw_idea(),
        docs / "pictures" / "demo.svg": draw_screen((docs / "pictures" / "demo.txt").read_text()),
        docs / "pictures" / "cost.svg": draw_cost((results / "size.csv").read_text()),
        docs / "pictures" / "routed.svg": draw_growth(runs, plans),
        docs / "pictures" / "neighbours.svg": draw_neighbours(),
    }
