"""The generated pages of the site: every command, option, key and name is there, and examples are sound."""

from __future__ import annotations

import re
import tomllib

import pytest
import typer

import accord
from accord.agreement.document import Agreement
from accord.agreement.file_shape import shape_faults
from accord.cli import app
from accord.cli.steps import STEPS
from accord.datasets.starter import starter_text
from handbook.agreement import agreement_overview, agreement_pages
from handbook.agreement_examples import EXAMPLES
from handbook.commands import CODES, command_pages, commands_overview
from handbook.contents import arrange
from tests.cli.test_cli import COMMANDS
from tests.docs.site import ROOT, Site
from tests.docs.test_blocks import merged

LISTED = (ROOT / "docs" / "exit-codes.md").read_text()
COMMAND_PAGES = command_pages(LISTED)
AGREEMENT_PAGES = agreement_pages()


def test_every_command_has_its_page_with_all_options_and_an_example() -> None:
    assert {name for names in STEPS.values() for name in names} == COMMAND_PAGES.keys()
    for words, command in COMMANDS.items():
        page = COMMAND_PAGES[words[0]] if words else commands_overview()
        assert f"accord {' '.join(words)}".strip() in page
        for option in (opt for known in command.params for opt in known.opts if opt.startswith("--")):
            assert option in page or option == "--help", (words, option)
    assert all("For example:" in page for page in COMMAND_PAGES.values())


def test_a_table_of_options_has_their_defaults_and_ranges() -> None:
    row = next(line for line in COMMAND_PAGES["link"].splitlines() if line.startswith("| `--wait"))
    assert row.startswith("| `--wait NUMBER` | ")
    assert row.endswith(" From 1 to 2,592,000. | `600` |")
    assert "| `kind` | `products` or `people`: " in COMMAND_PAGES["generate"]


def test_exit_codes_of_a_command_are_told_as_the_page_of_all_has_them() -> None:
    known = set(map(int, re.findall(r"^\| (\d+) \|", LISTED, re.M)))
    assert {code for codes in CODES.values() for code in codes} <= known
    assert known - {0, 1, 2} <= {code for codes in CODES.values() for code in codes}, "each is somebody's"
    assert re.search(r"^\| 12 \| an audit found something", COMMAND_PAGES["audit"], re.M)


def test_every_key_of_an_agreement_has_its_meaning() -> None:
    schema = Agreement.model_json_schema()
    pages = [agreement_overview(), *AGREEMENT_PAGES.values()]
    rows = [
        re.split(r" (?<!\\)\| ", line.strip("| "))
        for page in pages
        for line in page.splitlines()
        if line[:3] == "| `"
    ]
    shown = {row[0].strip("`"): row[-1] for row in rows}
    assert all(shown.values())
    inner = {key for part in schema["$defs"].values() for key in part.get("properties", {})}
    assert (schema["properties"].keys() | inner) - {
        "type",
        "kind",
        "name",
    } <= shown.keys() | AGREEMENT_PAGES.keys()


def test_what_all_fields_have_is_told_once() -> None:
    assert AGREEMENT_PAGES["fields"].count("| `missing_values` |") == 1


@pytest.mark.parametrize("table", AGREEMENT_PAGES)
def test_examples_are_parts_of_a_sound_agreement(table: str) -> None:
    part, whole = tomllib.loads(EXAMPLES[table]), tomllib.loads(starter_text("products", "00000000"))
    assert list(part) == [table]
    assert list(shape_faults(merged(whole, part))) == []


def test_names_of_python_are_documented(site: Site) -> None:
    python = site.pages["reference/python.html"]
    for name in dir(accord):
        assert name.startswith("_") or python.find(id=f"accord.{name}"), name


def test_a_page_in_the_folder_of_another_has_no_place_of_its_own() -> None:
    assert not any(chapter.pages for chapter in arrange(["reference/commands/link"]))


def test_generated_pages_stand_under_their_overview_in_the_order_of_the_help(site: Site) -> None:
    bar = site.pages["index.html"].select(".sidebar-tree li.toctree-l2 > a, .sidebar-tree li.step")
    shown = [part.get_text() for part in bar]
    wanted = [
        text for title, names in STEPS.items() for text in (title, *(f"accord {name}" for name in names))
    ]
    start = shown.index(wanted[0])
    assert shown[start : start + len(wanted)] == wanted
    assert {f"[{table}]" for table in AGREEMENT_PAGES} <= set(shown)


def test_pages_of_commands_are_those_of_the_program() -> None:
    assert COMMAND_PAGES.keys() == typer.main.get_command(app).commands.keys()  # type: ignore[attr-defined]
