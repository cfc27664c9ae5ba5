"""`python -m release build [FOLDER]` makes a release, `lowest` prints constraints, `size` checks limits."""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from pathlib import Path

from release.building import ROOT, build, require_clean, time_of, write_sums
from release.lowest import lowest
from release.materials import bill, resolve
from release.pins import MACHINES, PYTHON, write_pins
from release.size import faults, sizes, with_limits


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m release", description="The files of a release.")
    commands = parser.add_subparsers(dest="command", required=True)
    building = commands.add_parser(
        "build", help="sdist, wheel, bill of materials, pins, checksums of the last commit"
    )
    building.add_argument("folder", nargs="?", type=Path, default=Path("dist"))
    commands.add_parser("lowest", help="the lowest versions of what Accord needs, one a line")
    sizing = commands.add_parser("size", help="the size of each room beside its limit in pyproject.toml")
    sizing.add_argument("--write", action="store_true", help="write the sizes as the limits")
    asked = parser.parse_args()
    if asked.command == "size":
        return _compare(asked.write)
    if asked.command == "lowest":
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        sys.stdout.writelines(f"{line}\n" for line in lowest(project["dependencies"]))
        return 0
    require_clean()
    _, wheel = build("HEAD", asked.folder)
    here = resolve(wheel)
    materials = json.dumps(bill(here, time_of("HEAD")), indent=2, ensure_ascii=False)
    (asked.folder / f"{wheel.name}.cdx.json").write_text(materials + "\n", encoding="utf-8")
    write_pins(wheel, here, PYTHON, MACHINES)
    write_sums(asked.folder)
    sys.stdout.writelines(f"{path}\n" for path in sorted(asked.folder.iterdir()))
    return 0


def _compare(write: bool) -> int:
    path, counted = ROOT / "pyproject.toml", sizes(ROOT)
    project = path.read_text(encoding="utf-8")
    if write:
        path.write_text(with_limits(project, counted), encoding="utf-8")
        return 0
    messages = faults(counted, tomllib.loads(project)["tool"]["accord"]["size"])
    if messages:
        messages.append("Simplify, or change the limits: `python -m release size --write`.")
    sys.stdout.writelines(f"{message}\n" for message in messages)
    return 1 if messages else 0


sys.exit(main())
