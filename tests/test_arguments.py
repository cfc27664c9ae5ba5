"""Every public function with arguments of wrong kinds: which one it is, what it should be, and what it is."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import accord
from accord.arguments import as_path, require_seconds
from accord.cli.words import as_options
from accord.datasets.starter import starter
from accord.errors import AccordError, DeclinedError, UsageError
from accord.protocols.registry import PROTOCOLS
from tests.protocols.worlds import agreement
from tests.run import worlds

SOURCE = Path(accord.__file__).parent
AGREED = agreement()
TABLE = worlds.table(worlds.A_ROWS, "a")


PROPOSAL = accord.propose(pa.table({"id": ["1", "2"], "surname": ["Smith", "Jones"]}))
TEXT, PATH, FLAG, FUNCTION = (7, b"x", ["x"]), (7, b"x", 1.5), ("no", 1, None), (True, "agree", 7)
NUMBER = ("3", None, True, 1.5)

WRONG: dict[Callable[..., Any], tuple[dict[str, Any], dict[str, tuple[Any, ...]]]] = {
    accord.link: (
        {"data": TABLE, "agreement": AGREED, "partner": "bob", "confirm": accord.agree, "listen": ":0"},
        {
            "data": (7, None, b"a.csv", [1], {}),
            "agreement": ("agreement.toml", None, {}, Path("agreement.toml")),
            "partner": (*TEXT, None),
            "confirm": (*FUNCTION, None),
            "listen": (7000, None, ("", 7000)),
            "connect": (7000, None),
            "out": PATH,
            "dataset": TEXT,
            "snapshot": (202611, 2026.11, b"2026-11"),
            "layout": ("a.toml", {"id": "key"}),
            "state": PATH,
            "force": FLAG,
            "tell": (*FUNCTION, None),
            "reach": (60, "host:7000"),
            "raw": FLAG,
            "workers": (b"ray", True, 1.5),
            "trust_cluster": FLAG,
            "uncovered": (True, b"1%", [0.01]),
        },
    ),
    accord.resume: (
        {"name": "0123"},
        {
            "name": (*TEXT, None),
            "data": (7, b"a.csv"),
            "listen": (7000, None),
            "connect": (7000, None),
            "out": PATH,
            "state": PATH,
            "force": FLAG,
            "tell": (*FUNCTION, None),
            "reach": (60,),
            "raw": FLAG,
            "workers": (b"ray", True, 1.5),
            "trust_cluster": FLAG,
        },
    ),
    accord.plan: (
        {"agreement": AGREED, "records": (10, 10)},
        {
            "agreement": ("agreement.toml", None),
            "records": (7, "10 10", (1,), (1.5, 2), (True, 3)),
            "overlap": ("3", True),
            "network": (100, b"lan"),
            "recall": ("3", True),
            "covered": (True, b"99%", [0.99]),
            "max_time": ("3", True),
            "max_bytes": ("3", True),
            "max_epsilon": ("3", True),
            "workers": ("3", True, 1.5),
        },
    ),
    accord.set_budget: (
        {"dataset": "patients", "epsilon": 1, "delta": 0},
        {
            "dataset": (*TEXT, None),
            "epsilon": ("much", [1], True, float("nan")),
            "delta": ("little", b"0", float("inf")),
            "runs": ("3", 1.5, True, -1),
            "unlimited": FLAG,
            "state": PATH,
        },
    ),
    accord.simulate: (
        {"a": TABLE, "b": TABLE, "agreement": AGREED},
        {
            "a": (7, None, b"a.csv"),
            "b": (7, None),
            "agreement": ("agreement.toml", None),
            "engine": (7, None),
            "noise": (7,),
            "beyond_blocking": FLAG,
            "runs": (*NUMBER, 0),
            "seed": ("3", 1.5, True),
            "layout_a": ("a.toml",),
            "layout_b": ({},),
            "watch": (*FUNCTION, None),
        },
    ),
    accord.learn: (
        {"draft": starter("people")},
        {
            "draft": ("agreement.toml", None),
            "table": (7, b"a.csv"),
            "learnt_from": (7, b"A"),
            "linked_table": FLAG,
            "other": (7,),
            "labels": PATH,
            "made_up": (7,),
            "compare": (7, "given", [7]),
            "records": ("3", 1.5, True, 0),
            "overlap": ("0.5", True, 0, 2),
            "precision": ("0.5", True, 0, 2),
            "passes": FLAG,
            "seed": ("3", None, True, 1.5),
            "layout": ("a.toml",),
            "other_layout": ({},),
        },
    ),
    accord.Layout: (
        {},
        {
            **{name: (*TEXT, None) for name in ("id", "encoding", "delimiter", "quote")},
            **{name: TEXT for name in ("person", "sheet")},
            "columns": ("a=b", None, {"a": 7}, {7: "a"}, {"a": {"colum": "b"}}, [("a", "b")]),
            "make_ids": FLAG,
            "header": ("3", None, True, 0, 1.5),
            "unreadable": (*TEXT, None, "skip"),
        },
    ),
    accord.Reach: (
        {},
        {
            "listen": (7000, None),
            "connect": (7000, None),
            "wait": ("60", None, True, 0, -1, float("nan"), float("inf")),
            "patience": (60, None),
        },
    ),
    accord.Patience: ({}, {name: ("60", None, True, 0) for name in ("silence", "message", "grace")}),
    accord.propose: ({"table": TABLE}, {"table": (7, None, b"a.csv"), "layout": ("a.toml",)}),
    PROPOSAL.confirm: (
        {"records": (10, 10)},
        {
            **{name: ("a=b", 7, [("a", "b")]) for name in ("types", "dates")},
            **{name: ("a=b", 7) for name in ("values", "ranges", "within", "missing", "missing_values")},
            "cardinality": ("a=b", 7),
            "records": (7, None, "10 10", (1,), (1.5, 2), (True, 3)),
            "often_empty": ("brand", 7),
            "copies": (7, "2 1", (1,), (1.5, 2), (True, 3)),
            "parties": ("ab", None, ("north",), (1, 2)),
            "disclose": ("surname", 7, None),
            "answer": (*TEXT, None),
            "answer_epsilon": ([1], True, b"1"),
            **{name: ("3", True) for name in ("overlap", "precision", "max_time")},
            "make_ids": FLAG,
            "as_of": ("2024-06-30", 7),
        },
    ),
    PROPOSAL.fit: (
        {"agreement": AGREED},
        {
            "agreement": ("agreement.toml", None, {}),
            **{name: ("a=b", 7, [("a", "b")]) for name in ("types", "dates")},
            "make_ids": FLAG,
            "as_of": ("2024-06-30", 7),
            "absent": ("phone", 7, None),
        },
    ),
    accord.draft: ({}, {"answers": (TABLE, "a.csv", None, PROPOSAL)}),
    accord.check: (
        {"agreement": AGREED},
        {
            "agreement": ("agreement.toml", None),
            "table": (7, b"a.csv"),
            "party": TEXT,
            "layout": ("a.toml",),
            "dates": ("a=b", 7),
        },
    ),
    accord.read_layout: ({}, {"path": (7, None, b"a.toml", ["a.toml"])}),
    accord.read_agreement: ({}, {"path": (7, None, b"a.toml", ["a.toml"])}),
    accord.parse_agreement: (
        {"text": ""},
        {"text": (7, None, b"version = 2", Path("a.toml")), "name": TEXT, "simulated": FLAG},
    ),
    accord.diff: (
        {"ours": AGREED, "theirs": AGREED},
        {name: ("a.toml", None) for name in ("ours", "theirs")},
    ),
    accord.ask: ({}, {"offer": (None, True, AGREED)}),
    accord.adjust: (
        {"agreement": AGREED},
        {
            "agreement": ("agreement.toml", None),
            "protocol": TEXT,
            "epsilon": ([1], True, b"1"),
            "delta": ([1], True, b"1"),
            "greedy": ("no", 1),
            "answer": TEXT,
            "answer_epsilon": ([1], True, b"1"),
            **{name: ("3", True, 1.5) for name in ("prune", "records_per_person", "cap")},
        },
    ),
    accord.learned_about: (
        {"agreement": AGREED, "side": accord.Side.A},
        {"agreement": ("agreement.toml", None), "side": ("A", None)},
    ),
    accord.identity: (
        {"name": "us"},
        {"name": TEXT, "out": PATH, "renew": FLAG, "force": FLAG, "state": PATH},
    ),
    accord.trust: (
        {"partner": "bob", "card": "bob.card"},
        {"partner": (*TEXT, None), "card": (*PATH, None), "force": FLAG, "state": PATH},
    ),
    accord.narrate: ({}, {}),
}


def every_wrong_call() -> Iterator[Any]:
    for function, (right, wrong) in WRONG.items():
        for argument, values in wrong.items():
            for value in values:
                shown = f"{function.__name__}({argument}={type(value).__name__} {value!s:.12})"
                yield pytest.param(function, right | {argument: value}, argument, value, id=shown)


@pytest.mark.parametrize(("function", "given", "argument", "value"), list(every_wrong_call()))
def test_a_wrong_argument_is_named_with_what_it_should_be(
    function: Callable[..., Any],
    given: dict[str, Any],
    argument: str,
    value: object,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with pytest.raises(UsageError) as caught:
        function(**given)
    said = str(caught.value)
    assert said.startswith(f"`{argument}=` ")
    of_right_kind = argument in (
        "wait",
        "silence",
        "message",
        "grace",
        "epsilon",
        "delta",
        "runs",
        "columns",
        "lists",
        "header",
        "unreadable",
        *("records", "overlap", "precision"),
    )
    kind = "None" if value is None else type(value).__name__
    assert of_right_kind or said.endswith(f" {kind}."), said
    assert not list(tmp_path.rglob("runs"))


def test_every_public_function_is_in_the_table() -> None:
    """With every argument that it has; results and notices are made by Accord itself."""
    words = {"same", "hamming", "dice", "jaccard", "cosine", "euclidean", "within", "missing", "either_way"}
    words |= {"compare", "edit", "mismatches", "score"}
    functions = (
        {name for name in dir(accord) if inspect.isfunction(getattr(accord, name))} - words - {"agree"}
    )
    settings = {"Layout", "Reach", "Patience"} | {"confirm", "fit"}
    assert {function.__name__ for function in WRONG} == functions | settings
    for function, (_, wrong) in WRONG.items():
        assert set(inspect.signature(function).parameters) == set(wrong), function


@pytest.mark.parametrize("name", ["same", "hamming", "edit", "dice", "jaccard", "cosine", "euclidean"])
def test_words_of_a_rule_say_what_they_take(name: str) -> None:
    word, distances = getattr(accord, name), ("hamming", "edit", "euclidean")
    with pytest.raises(TypeError, match="a field is named by a text, not by int"):
        word(5)
    if name != "same":
        with pytest.raises(TypeError, match=rf"{name}\(\) needs a threshold"):
            accord.same("x") & word("x")
        for threshold in ("near", None, True):
            with pytest.raises(ValueError, match=rf"{name}\(\) must be a number"):
                (word("x") <= threshold) if name in distances else (word("x") >= threshold)
    with pytest.raises(TypeError, match="a field is named by a text"):
        accord.within(None, 3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"within\(\) must be a number"):
        accord.within("x", "three")


@pytest.mark.parametrize("answer", ["no", "n", 1, None])
def test_only_true_is_a_yes(answer: object, tmp_path: Path) -> None:
    """A text that is not empty counts as true, whatever it says."""
    one, _ = worlds.introduce(tmp_path, AGREED)
    given = worlds.options(one, worlds.A_ROWS, AGREED) | {"listen": "127.0.0.1:0"}
    with pytest.raises(UsageError, match="`confirm=` is a function that answers True or False, not "):
        accord.link(**given | {"confirm": lambda offer: answer})
    with pytest.raises(DeclinedError):
        accord.link(**given | {"confirm": lambda offer: False})
    assert worlds.untouched(one)


def test_what_is_right_is_taken(tmp_path: Path) -> None:
    assert as_path("out", "a.csv") == as_path("out", Path("a.csv")) == Path("a.csv")
    require_seconds("wait", 3)
    layout = accord.Layout(columns={"name": "title", "birth": {"column": "born", "format": "%d.%m.%Y"}})  # type: ignore[dict-item]
    assert (layout.source("name").column, layout.source("birth").format) == ("title", "%d.%m.%Y")


# -- arguments in Python, options on the command line -----------------------------------------------------


@cache
def texts(path: Path) -> tuple[str, ...]:
    """The texts of a module that are not docstrings, but for those of errors, which are messages."""
    tree = ast.parse(path.read_text())
    documented = (ast.Module,) if path.name == "errors.py" else (ast.Module, ast.FunctionDef, ast.ClassDef)
    nodes = list(ast.walk(tree))
    aside = {id(node.body[0].value) for node in nodes if isinstance(node, documented) and docstring(node)}  # type: ignore[attr-defined]
    joined = [node for node in nodes if isinstance(node, ast.JoinedStr)]
    aside |= {id(part) for node in joined for part in node.values}
    plain = (node for node in nodes if isinstance(node, ast.Constant) and id(node) not in aside)
    found = [node.value for node in plain if isinstance(node.value, str)]
    return (*found, *map(filled, joined))


def filled(text: ast.JoinedStr) -> str:
    return "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in text.values)


def docstring(node: Any) -> bool:
    return ast.get_docstring(node) is not None


# Names in a style sheet begin alike.
OPTION = re.compile(r"(?<![-\w(])--[a-z](?![a-z]*: #)")
COMMAND = re.compile(r"`accord [^`]*`")


def test_no_message_that_python_can_raise_speaks_of_options() -> None:
    """Whole commands, to be typed in a terminal, may have them; a card is made of these."""
    reached = [path for path in SOURCE.rglob("*.py") if "cli" not in path.relative_to(SOURCE).parts]
    reached.remove(SOURCE / "report" / "card.py")
    found = [
        f"{path.relative_to(SOURCE)}: {text}"
        for path in reached
        for text in texts(path)
        if OPTION.search(COMMAND.sub("", text))
    ]
    assert found == []
    assert OPTION.search("name another with --out"), "the search would find one"


def test_every_argument_that_a_message_names_is_one() -> None:
    """And so the option that the command line says instead is one, too."""
    named = {
        argument
        for path in SOURCE.rglob("*.py")
        for text in texts(path)
        for argument in re.findall(r"`([a-z_]+)=(?:True)?`", text)
    }
    known = {argument for function in WRONG for argument in inspect.signature(function).parameters}
    # Options of the command line alone, beside what Python can be given.
    assert named <= known | {"format", "pairs", "truth", "column", "count_column", "least", "folder"}
    assert {"force", "snapshot", "listen", "columns"} <= named


def test_the_command_line_says_options() -> None:
    assert as_options("only `force=True` does; or `make_ids=True`") == (
        "only --force does; or --make-ids of `accord check`"
    )
    mapped = "map it with --column FIELD=COLUMN of `accord check`"
    assert as_options("map it with `columns=`") == mapped
    assert as_options("run `accord resume x=1`, a == b") == "run `accord resume x=1`, a == b"


# -- suggestions ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["all-pairs", "psi"])
def test_a_table_for_a_side_that_a_protocol_does_not_have(name: str) -> None:
    plain = AGREED.to_toml()
    body = plain[: plain.index("[protocol")] + f'[protocol]\nname = "{name}"\n[protocol.A]\nepsilon = 1\n'
    with pytest.raises(AccordError, match=rf"{name} takes no options for each side. Remove \[protocol.A\]"):
        accord.parse_agreement(body)
    assert "A" not in PROTOCOLS[name].model_fields


@pytest.mark.parametrize("workers", [0, -1, 257])
def test_numbers_of_workers_that_nobody_can_have(workers: int, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"`workers=` is a number from 1 to 256"):
        accord.resume("0123", workers=workers, state=tmp_path)
