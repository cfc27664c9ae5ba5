"""From staged pages to HTML. Every warning is an error: a link to nowhere, a page without a place."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from sphinx.cmd.build import build_main

from handbook.stage import ROOT, stage


def build(folder: Path) -> int:
    """Make the whole site anew; what Sphinx ends with, 0 if all is well."""
    if folder.exists():
        shutil.rmtree(folder)
    with tempfile.TemporaryDirectory(prefix="accord-docs-") as made:
        pages, kept = Path(made) / "pages", Path(made) / "doctrees"
        pages.mkdir()
        stage(pages)
        configuration = str(ROOT / "handbook")
        options = ["--fail-on-warning", "--keep-going", "--quiet", "--jobs", "auto"]
        return build_main(
            [*options, "-c", configuration, "-d", str(kept), "-b", "html", str(pages), str(folder)]
        )
