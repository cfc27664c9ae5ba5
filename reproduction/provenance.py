"""Where results come from: machine, commit, seeds and data of each experiment, as a table for the page."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path

from accord import __version__
from reproduction.drawing import NAMES
from reproduction.sweep import Row
from reproduction.wording import joined

MACHINE = "machine.json"
Facts = dict[str, str | int | float]
"""What is written down about a machine, and the code that ran there."""
_ROOT = Path(__file__).parents[1]


def remember(results: Path, name: str, load: float) -> None:
    """Write down where, when and by which code the last results of an experiment were made."""
    results.mkdir(parents=True, exist_ok=True)
    facts: Facts = {
        "date": date.today().isoformat(),
        "processor": platform.machine(),
        "cores": os.cpu_count() or 1,
        "load": round(load, 1),
        "system": platform.system(),
        "python": platform.python_version(),
        "accord": __version__,
        "commit": _commit(),
    }
    known = _machines(results) | {name: facts}
    (results / MACHINE).write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")


def _commit() -> str:
    """That of the checkout, and whether its code has changes beyond it."""
    try:
        head, changes = (
            subprocess.run(["git", *words], cwd=_ROOT, capture_output=True, text=True, check=True).stdout
            for words in (
                ("rev-parse", "--short=8", "HEAD"),
                ("status", "--porcelain", "--", "src", "reproduction"),
            )
        )
    except (OSError, subprocess.CalledProcessError):
        return "not recorded"
    return head.strip() + (" and changes" if changes else "")


def _machines(results: Path) -> dict[str, Facts]:
    """What was written down, by experiment; a run that was killed may have had no time to."""
    try:
        found = json.loads((results / MACHINE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return {name: facts for name, facts in found.items() if isinstance(facts, dict)}


def table(results: Path, rows: Mapping[str, Sequence[Row]]) -> str:
    """One line an experiment, as Markdown; of one that was resumed, where its last points were made."""
    machines = _machines(results)
    lines = ["| results | seeds | data | measured | load | code |", "|---|---|---|---|---|---|"]
    for name, found in rows.items():
        seeds = sorted({int(row["seed"]) for row in found})
        span = str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
        lines.append(f"| {name} | {span} | {_data(found)} | {_where(machines.get(name))} |")
    return "\n".join(lines)


def _where(facts: Facts | None) -> str:
    if facts is None:
        return "on a machine that was not recorded | | "
    return (
        f"{facts['date']}, {facts['system']} on {facts['processor']}, {facts['cores']} cores, Python "
        f"{facts['python']} | {facts['load']:g} | {facts.get('commit', 'not recorded')}"
    )


def _data(rows: Sequence[Row]) -> str:
    """The sets with the digest of their files."""
    found = {str(row["data"]): str(row["source"]) for row in rows if "data" in row}
    if not found:
        return "none, exact computation"
    return joined(f"{NAMES[data]} ({source.removeprefix('real ')})" for data, source in found.items())
