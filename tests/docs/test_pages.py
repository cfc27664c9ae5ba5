"""What pages name is there: links, files, commands, options, sections; generated pages and drawings agree."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

import pytest

from accord.agreement.document import Agreement
from accord.agreement.file_shape import shape_faults
from accord.cli.steps import STEPS
from accord.datasets.starter import starter_text
from handbook.agreement_examples import EXAMPLES
from handbook.pictures import drawings
from handbook.screen import draw_screen
from handbook.sequence import draw, parse
from reproduction.__main__ import _names
from tests.cli.test_cli import COMMANDS
from tests.docs.pages import DOCS, MORE, PAGES, ROOT, fenced, name_of
from tests.docs.test_typed import merged

EVERY = [*PAGES, *MORE]


@cache
def spans() -> list[tuple[Path, str]]:
    """All code between the lines."""
    return [(page, span) for page in EVERY for span in re.findall(r"`([^`\n]+)`", page.read_text())]


# -- what is named -----------------------------------------------------------------------------------------


def test_links_and_files_that_are_named_exist() -> None:
    targets = [
        (page, t) for page in EVERY for t in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text())
    ]
    inside = [(page, target) for page, target in targets if not target.startswith("http")]
    assert len(inside) > 300
    assert [(name_of(page), target) for page, target in inside if not (page.parent / target).exists()] == []
    folders = ("src", "tests", "reproduction", "handbook", "release")
    known = [f"/{path.relative_to(ROOT)}" for folder in folders for path in (ROOT / folder).rglob("*.py")]
    named = {(name_of(page), span) for page, span in spans() if re.fullmatch(r"[\w/]+\.py", span)}
    for path in (ROOT / "src").rglob("*.py"):
        named |= {(path.name, name) for name in re.findall(r"`([\w/]+\.py)`", path.read_text())}
    assert [each for each in named if not any(path.endswith(f"/{each[1]}") for path in known)] == []


def test_every_citation_of_the_mathematics_has_its_section() -> None:
    known = set(re.findall(r"^##+ (\d+(?:\.\d+)*) ", (DOCS / "maths.md").read_text(), re.M))
    cited = {
        section
        for folder in ("src", "tests", "reproduction", "benchmarks")
        for path in (ROOT / folder).rglob("*.py")
        for line in re.findall(r"MATHS((?:,?\s+§[\d.]*\d)+)", path.read_text())
        for section in re.findall(r"§([\d.]*\d)", line)
    }
    assert cited <= known


def option_names(words: tuple[str, ...]) -> set[str]:
    return {name for each in COMMANDS[words].params for name in (*each.opts, *each.secondary_opts)} | {
        "--help"
    }


def test_commands_and_options_between_the_lines_exist() -> None:
    """Tags of byte formats begin like commands."""
    wrong, count = [], 0
    for page, span in spans():
        if not span.startswith("accord ") or re.fullmatch(r"accord [a-z ]+ \d(\\n)?", span):
            continue
        count += 1
        words = tuple(re.split(r"[\s\\|/]", span)[1:])
        called = max((known for known in COMMANDS if words[: len(known)] == known), key=len)
        options = set(re.findall(r"(?<![\w-])--[a-z-]+", span))
        unknown = options - option_names(called) - option_names(())
        if unknown or (not called and words[0].isalpha() and words[0].islower()):
            wrong.append((name_of(page), span))
    assert wrong == []
    assert count > 100


def test_targets_modules_and_experiments_that_are_named_exist() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.M))
    lines = [(page, line) for page in EVERY for _, block in fenced(page) for line in block.splitlines()]
    for page, text in [*spans(), *lines]:
        for target in re.findall(r"^make ([a-z]+)", text):
            assert target in targets, (page, target)
        for module in re.findall(r"^python -m ((?:benchmarks|reproduction|accord)[\w.]*)", text):
            assert find_spec(module) is not None, (page, module)
        for name in re.findall(r"^python -m reproduction ([a-z][\w-]*)", text):
            assert name in (*_names(), "list", "accord"), (page, name)


# -- pages that are made of the code -----------------------------------------------------------------------

LISTED = DOCS / "exit-codes.md"


def test_every_command_has_its_page_with_all_options_and_an_example() -> None:
    from handbook.commands import command_pages, commands_overview

    pages, steps = command_pages(LISTED.read_text()), {name for names in STEPS.values() for name in names}
    assert steps == pages.keys() == {words[0] for words in COMMANDS if words}
    for words, command in COMMANDS.items():
        page = pages[words[0]] if words else commands_overview()
        assert f"accord {' '.join(words)}".strip() in page
        options = {opt for known in command.params for opt in known.opts if opt.startswith("--")}
        assert [option for option in options - {"--help"} if option not in page] == [], words
    assert all("For example:" in page for page in pages.values())


def test_exit_codes_are_those_of_commands() -> None:
    from handbook.commands import CODES

    known = set(map(int, re.findall(r"^\| (\d+) \|", LISTED.read_text(), re.M)))
    told = {code for codes in CODES.values() for code in codes}
    assert known - {0, 1, 2} <= told <= known


def test_every_key_of_an_agreement_has_its_meaning_and_a_sound_example() -> None:
    from handbook.agreement import agreement_overview, agreement_pages

    schema, pages = Agreement.model_json_schema(), agreement_pages()
    text = "\n".join([agreement_overview(), *pages.values()])
    rows = [re.split(r" (?<!\\)\| ", line.strip("| ")) for line in text.splitlines() if line[:3] == "| `"]
    shown = {row[0].strip("`"): row[-1] for row in rows}
    assert all(shown.values())
    inner = {key for part in schema["$defs"].values() for key in part.get("properties", {})}
    keys = (schema["properties"].keys() | inner) - {"type", "kind", "name"}
    assert keys <= shown.keys() | pages.keys()
    whole = tomllib.loads(starter_text("products", "00000000"))
    for table in pages:
        part = tomllib.loads(EXAMPLES[table])
        assert list(part) == [table]
        assert list(shape_faults(merged(whole, part))) == []


# -- drawings ----------------------------------------------------------------------------------------------

HEAD = "title T\nsays what is shown\nsides A B\n"
SVG = "{http://www.w3.org/2000/svg}"


def test_drawings_are_those_that_are_committed_and_used() -> None:
    """`make pictures` draws them; their words are within them, and they are legible on a phone."""
    drawn = drawings(DOCS)
    mark = r"!\[[^\]]+\]\(([^)]*(?:diagrams|pictures)/[^)]+)\)"
    used = {(page.parent / name).resolve() for page in PAGES for name in re.findall(mark, page.read_text())}
    assert used == set(drawn)
    for path, drawing in drawn.items():
        assert path.read_text() == drawing, path
        tree = ElementTree.fromstring(drawing)
        _, _, wide, high = map(float, tree.attrib["viewBox"].split())
        assert tree.findtext(f"{SVG}title")
        assert tree.findtext(f"{SVG}desc")
        for text in tree.iter(f"{SVG}text"):
            assert 0 < float(text.attrib["x"]) < wide <= 520
            assert 0 < float(text.attrib["y"]) < high


def test_words_of_a_drawing_are_escaped_and_a_line_that_is_no_step_refused() -> None:
    assert "<script" not in draw(parse(HEAD + "A: <script>\n")) + draw_screen("$ <script>\n")
    for lines in ("C -> B: who", "A => B: how", "loop for ever\nA: x", "A: x\nend"):
        with pytest.raises(ValueError, match=r"line 4|end"):
            parse(f"{HEAD}{lines}\n")
