"""The notebooks of examples/, run from top to bottom in a kernel of their own, from an empty folder.

They are kept without outputs: what a reader sees is what the code of today does, and a change shows as a
change of text. The one thing that is changed is the port, since a test cannot own a number. The two of a
linkage run at the same time, as two people would run them.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import tomllib
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.terminal import environment, free_port

if TYPE_CHECKING:
    from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
TOGETHER = ("hospital", "registry")
PORT = "localhost:7000"
ABSENT = str(ROOT / "tests" / "absent")
_SECONDS = 900
"""For a cell: a machine that is busy must not fail a test."""

Notebook = Any
"""nbformat has no types for what is in it."""


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is read from or written to the home of whoever runs the tests."""
    for name in ("CONFIG", "DATA", "RUNTIME"):
        monkeypatch.setenv(f"JUPYTER_{name}_DIR", str(tmp_path / ".jupyter" / name.lower()))
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")


def read(name: str, port: int | None = None) -> Notebook:
    import nbformat

    text = (EXAMPLES / f"{name}.ipynb").read_text(encoding="utf-8")
    if port is not None:
        assert text.count(PORT) == 1
        text = text.replace(PORT, f"localhost:{port}")
    return nbformat.reads(text, as_version=4)


def start(notebook: Notebook, folder: Path, home: Path) -> tuple[NotebookClient, Coroutine[Any, Any, Any]]:
    """All cells in a kernel of their own, with what whoever reads notebooks has installed: pandas, too."""
    from nbclient import NotebookClient

    home.mkdir(exist_ok=True)
    known = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p and p != ABSENT]
    path = os.pathsep.join([*known, str(ROOT)])
    client = NotebookClient(
        notebook,
        timeout=_SECONDS,
        startup_timeout=_SECONDS,
        resources={"metadata": {"path": str(folder)}},
    )
    return client, client.async_execute(env=environment(home) | {"PYTHONPATH": path})


async def run(notebook: Notebook, folder: Path) -> None:
    """Run all cells; raises at the first that fails."""
    await start(notebook, folder, folder / "home")[1]


async def run_together(notebooks: dict[str, Notebook], folder: Path) -> None:
    """Run all at the same time; if one fails, the other does not wait for it."""
    started = [start(notebook, folder, folder / f"home-{name}") for name, notebook in notebooks.items()]
    tasks = [asyncio.create_task(running) for _, running in started]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    for (client, _), task in zip(started, tasks, strict=True):
        if not task.done() and client.km is not None:
            await client.km.interrupt_kernel()
    ends = await asyncio.gather(*tasks, return_exceptions=True)
    failed = [end for end in ends if isinstance(end, BaseException)]
    if failed:
        raise ExceptionGroup("notebooks failed", [end for end in failed if isinstance(end, Exception)])


def shown(notebook: Notebook, kind: str = "text/plain") -> str:
    """All outputs of one kind, and what was printed."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    return "\n".join(output.get("text") or output.get("data", {}).get(kind, "") for output in outputs)


def said_on_stderr(notebook: Notebook) -> str:
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    said = "".join(output["text"] for output in outputs if output.get("name") == "stderr")
    # In a home that it does not know, matplotlib says so if it takes longer than some seconds.
    return re.sub(r"Matplotlib is building the font cache.*\n", "", said)


def test_all_are_run() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["hospital", "own_table", "people", "protocols", "registry"]
    page = (EXAMPLES / "README.md").read_text()
    assert all(f"({path.name})" in page for path in NOTEBOOKS)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_they_are_kept_without_outputs(path: Path) -> None:
    import nbformat

    kept = json.loads(path.read_text(encoding="utf-8"))
    nbformat.validate(kept)
    code = [cell for cell in kept["cells"] if cell["cell_type"] == "code"]
    assert len(code) >= 8
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    assert kept["metadata"]["kernelspec"]["name"] == "python3"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_links_lead_somewhere(path: Path) -> None:
    kept = json.loads(path.read_text(encoding="utf-8"))
    for cell in kept["cells"]:
        if cell["cell_type"] == "markdown":
            for target in re.findall(r"\]\(([^)#]+)", "".join(cell["source"])):
                assert (EXAMPLES / target).exists(), target


def test_what_they_import_is_installed_with_them() -> None:
    """By `pip install '.[notebooks]'` alone: here the tools of a developer are installed, too. The laboratory
    is in the copy of the repository."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = project["dependencies"] + project["optional-dependencies"]["notebooks"]
    there = {"accord", "reproduction", *sys.stdlib_module_names}
    there |= {re.split(r"[^\w-]", line)[0] for line in wanted}
    for path in NOTEBOOKS:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
        named = set(re.findall(r"^\s*(?:from|import) (\w+)", code, re.M))
        assert "accord" in named
        assert named <= there, path.name


@pytest.mark.slow
@pytest.mark.whole
def test_own_table(tmp_path: Path) -> None:
    notebook = read("own_table")
    asyncio.run(run(notebook, tmp_path))
    assert said_on_stderr(notebook) == ""
    text, pages = shown(notebook), shown(notebook, "text/html")
    assert "unbekannt counts as empty" in text
    assert "dates of" not in text
    assert "repeats the id of another row" in pages
    for title in (
        "A draft for north and south",
        "Who learns what",
        "What a linkage would cost",
        "Simulation: ",
    ):
        assert re.search(f"<iframe sandbox srcdoc=[^<]*{title}", pages), title
    assert "<Quality: recall 0." in text
    assert (tmp_path / "agreement.toml").exists()


@pytest.mark.slow
@pytest.mark.whole
def test_people(tmp_path: Path) -> None:
    notebook = read("people")
    asyncio.run(run(notebook, tmp_path))
    assert said_on_stderr(notebook) == ""
    text, pages = shown(notebook), shown(notebook, "text/html")
    missed = re.search(r"(\d+) of 500 people were missed", text)
    assert missed
    assert int(missed[1]) > 0, "there is something to look at"
    wrong = [int(number) for number in re.findall(r"wrong pairs: (\d+)", text)]
    assert 0 < wrong[0] < wrong[1], "a lower threshold takes more strangers for matches"
    assert "recall under the rule" in pages
    for title in ("What a linkage would cost", "Over thresholds"):
        assert re.search(f"<iframe (?:sandbox )?srcdoc=[^<]*{title}", pages), "a page within the notebook"


@pytest.mark.slow
def test_protocols(tmp_path: Path) -> None:
    notebook = read("protocols")
    asyncio.run(run(notebook, tmp_path))
    assert said_on_stderr(notebook) == ""
    text = shown(notebook)
    rows = {line.split()[0]: line.split() for line in text.splitlines() if re.match(r"[a-z-]+ +\d+ ", line)}
    assert rows["blocking"][-1] == rows["laplace-suppress"][-1] == "none"
    assert rows["all-pairs"][-1] == rows["psi-expand"][-1] == "0"
    recall = {name: float(row[-2]) for name, row in rows.items()}
    assert recall["all-pairs"] == recall["laplace"] == recall["psi-expand"] == recall["blocking"] == 1
    assert max(recall["psi"], recall["local-dp"], recall["laplace-suppress"]) < 1
    assert int(rows["blocking"][1]) < int(rows["laplace"][1]) < int(rows["all-pairs"][1])
    assert shown(notebook, "image/png").count("iVBOR") == 5


@pytest.mark.slow
@pytest.mark.whole
def test_two_parties_in_two_kernels_find_the_same(tmp_path: Path) -> None:
    port = free_port()
    notebooks = {name: read(name, port) for name in TOGETHER}
    asyncio.run(run_together(notebooks, tmp_path))
    pairs = [(tmp_path / f"{name}-pairs.csv").read_bytes() for name in TOGETHER]
    assert pairs[0] == pairs[1]
    assert pairs[0].count(b"\n") > 50
    told = {name: shown(notebook) for name, notebook in notebooks.items()}
    digests = [re.findall(r"\d+ pairs, [0-9a-f]{64}", text) for text in told.values()]
    assert len(digests[0]) == 1
    assert digests[0] == digests[1]
    cards = {
        name: re.findall(r"<Card: (\w+), fingerprint ([A-Z2-7-]+),", text) for name, text in told.items()
    }
    assert sorted(cards["hospital"]) == sorted(cards["registry"])
    assert len(cards["hospital"]) == 2
    for name, partner in (TOGETHER, TOGETHER[::-1]):
        assert f"What {partner} will learn about your table:" in told[name]
        assert f"Connected to {partner}; both cards are right." in said_on_stderr(notebooks[name])
        assert "ε = 1.6" in told[name]
        assert (tmp_path / f"{name}-state" / "identity.pem").exists()
        assert not (tmp_path / f"home-{name}" / "state").exists(), "each has a state folder of its own"
