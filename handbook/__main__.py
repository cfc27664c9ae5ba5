"""`python -m handbook build [FOLDER]` makes the site, `python -m handbook pictures` draws all pictures."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from handbook.build import build
from handbook.pictures import draw_all


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m handbook", description="The documentation's site and pictures."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("build", help="the site, as HTML")
    making.add_argument("folder", nargs="?", type=Path, default=Path("build/docs"))
    drawing = commands.add_parser("pictures", help="all drawings of docs/diagrams and docs/pictures")
    drawing.add_argument("--keep-screen", action="store_true", help="draw the last demo's screen; run none")
    asked = parser.parse_args()
    if asked.command == "build":
        return build(asked.folder)
    draw_all(run_demo=not asked.keep_screen)
    return 0


sys.exit(main())
