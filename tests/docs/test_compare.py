"""docs/compare.md: what this project says that it measured is in its results, and the page stays short."""

from __future__ import annotations

import csv
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "compare.md").read_text()


def rows(name: str) -> list[dict[str, str]]:
    with (DOCS / "results" / name).open() as file:
        return list(csv.DictReader(file))


def line(start: str) -> str:
    (found,) = [one for one in PAGE.splitlines() if one.startswith(f"| {start}")]
    return found


def test_quality() -> None:
    found = {row["system"]: row for row in rows("quality.csv") if row["dataset"] == "febrl4"}
    said = line("FEBRL 4")
    assert f"{float(found['tuned']['f1']):.4f}, {float(found['tuned']['seconds']):.1f} s, private" in said
    for name, system in (("Splink", "splink-half"), ("anonlink", "anonlink")):
        f1, seconds = (float(found[system][key]) for key in ("f1", "seconds"))
        assert f"{name} {f1:.4f}, {seconds:.1f} s" in said


def test_equal_keys() -> None:
    found = {row["system"]: row for row in rows("psi.csv") if row["records"] == "300000"}
    said = line("equal keys")
    for start, system in (("| ", "accord in the run with the others"), ("RR22 ", "SecretFlow RR22")):
        seconds, size = (float(found[system][key]) for key in ("seconds", "megabytes"))
        assert f"{start}{seconds:.1f} s, {size:.1f} MB" in said


def test_places_and_people() -> None:
    routed = [row for row in rows("routed.csv") if row["protocol"] == "routed"]
    (places,) = [row for row in routed if row["kind"] == "places"]
    (people,) = [row for row in routed if row["records"] == "1000000"]
    (other,) = rows("fuzzy.csv")
    said = line("places at most")
    assert f"{int(places['bytes']) / 1e6:.0f} MB, {60 * float(places['processor_minutes']):.0f} s" in said
    assert f"daOT {other['megabytes']} MB, {other['processor_seconds']} s" in said
    size, recall = int(people["bytes"]) / 1e9, float(people["recall"])
    told = f"{float(people['minutes']):.0f} minutes, {size:.1f} GB, recall {recall:.2f}"
    assert told in line("a million people")


def test_it_stays_short() -> None:
    assert len(PAGE.replace("|", " ").split()) < 850
