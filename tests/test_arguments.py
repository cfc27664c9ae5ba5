"""Public functions with arguments of wrong kinds: a `UsageError` names the argument, and nothing is begun."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import accord
from accord.cli.words import as_options
from accord.datasets.starter import starter
from accord.errors import AgreementError, DeclinedError, UsageError
from tests.protocols.worlds import agreement
from tests.run import worlds

AGREED = agreement()
TABLE = worlds.table(worlds.A_ROWS, "a")
PROPOSAL = accord.propose(pa.table({"id": ["1", "2"], "surname": ["Smith", "Jones"]}))
KINDS: dict[str, tuple[Any, ...]] = {
    "text": (7, b"x", ["x"]),
    "path": (7, b"x", 1.5),
    "file": (7, b"x", ["x"], None),
    "flag": ("no", 1, None),
    "function": (True, "agree", 7, None),
    "whole": ("3", True, 1.5),
    "number": ("3", True),
    "exact": ([1], True, b"1"),
    "table": (7, b"a.csv", [1], {}),
    "agreement": ("agreement.toml", None, {}, Path("agreement.toml")),
    "layout": ("a.toml", {"id": "key"}),
    "place": (7000, None, ("", 7000)),
    "sizes": (7, "10 10", (1,), (1.5, 2), (True, 3)),
    "pairs": ("a=b", 7),
    "names": (7, "given", None),
    "workers": (b"ray", True, 1.5),
    "share": (True, b"1%", [0.01]),
    "day": ("2024-06-30", 7),
    "seconds": ("60", None, True, 0),
    "side": ("A", None),
    "reach": (60, "host:7000"),
    "none": (None,),
    "zero": (0,),
    "odd": ({"a": 7}, {7: "a"}, {"a": {"colum": "b"}}, [("a", "b")]),
    "two": (2,),
    "sevens": ([7],),
    "one": (("north",), (1, 2)),
    "skip": ("skip",),
    "endless": (float("nan"), float("inf"), -1),
}
"""What is no such thing."""

WRONG: dict[Callable[..., Any], tuple[dict[str, Any], str]] = {
    accord.link: (
        {"data": TABLE, "agreement": AGREED, "partner": "bob", "confirm": accord.agree, "listen": ":0"},
        "data:table,none agreement:agreement partner:text,none confirm:function listen:place connect:place "
        "out:path dataset:text snapshot:text layout:layout state:path force:flag tell:function reach:reach "
        "raw:flag workers:workers trust_cluster:flag uncovered:share",
    ),
    accord.resume: (
        {"name": "0123"},
        "name:text,none data:table listen:place connect:place out:path state:path force:flag tell:function "
        "reach:reach raw:flag workers:workers trust_cluster:flag",
    ),
    accord.plan: (
        {"agreement": AGREED, "records": (10, 10)},
        "agreement:agreement records:sizes overlap:number network:text recall:number covered:share "
        "max_time:number max_bytes:number max_epsilon:number workers:whole",
    ),
    accord.set_budget: (
        {"dataset": "patients", "epsilon": 1, "delta": 0},
        "dataset:text,none epsilon:exact delta:exact runs:whole unlimited:flag state:path",
    ),
    accord.simulate: (
        {"a": TABLE, "b": TABLE, "agreement": AGREED},
        "a:table,none b:table,none agreement:agreement engine:path,none noise:path beyond_blocking:flag "
        "runs:whole,none,zero seed:whole layout_a:layout layout_b:layout watch:function",
    ),
    accord.learn: (
        {"draft": starter("people")},
        "draft:agreement table:table learnt_from:text linked_table:flag other:table labels:path made_up:path "
        "compare:names,sevens records:whole,zero overlap:number,zero,two precision:number,zero,two "
        "passes:flag seed:whole,none layout:layout other_layout:layout",
    ),
    accord.Layout: (
        {},
        "id:text,none encoding:text,none delimiter:text,none quote:text,none person:text sheet:text "
        "columns:pairs,none,odd make_ids:flag header:whole,none,zero unreadable:text,none,skip",
    ),
    accord.Reach: ({}, "listen:place connect:place wait:seconds,endless patience:reach"),
    accord.Patience: ({}, "silence:seconds message:seconds grace:seconds"),
    accord.propose: ({"table": TABLE}, "table:table,none layout:layout"),
    PROPOSAL.confirm: (
        {"records": (10, 10)},
        "types:pairs dates:pairs values:pairs ranges:pairs within:pairs missing:pairs missing_values:pairs "
        "cardinality:pairs records:sizes,none often_empty:pairs copies:sizes parties:pairs,none,one "
        "disclose:names answer:text,none answer_epsilon:exact overlap:number precision:number "
        "max_time:number make_ids:flag as_of:day",
    ),
    PROPOSAL.fit: (
        {"agreement": AGREED},
        "agreement:agreement types:pairs dates:pairs make_ids:flag as_of:day absent:names",
    ),
    accord.draft: ({}, "answers:table,none"),
    accord.check: (
        {"agreement": AGREED},
        "agreement:agreement table:table party:text layout:layout dates:pairs",
    ),
    accord.read_layout: ({}, "path:file"),
    accord.read_agreement: ({}, "path:file"),
    accord.parse_agreement: ({"text": ""}, "text:text,none name:text simulated:flag"),
    accord.diff: ({"ours": AGREED, "theirs": AGREED}, "ours:agreement theirs:agreement"),
    accord.ask: ({}, "offer:none,flag"),
    accord.adjust: (
        {"agreement": AGREED},
        "agreement:agreement protocol:text epsilon:exact delta:exact greedy:day answer:text "
        "answer_epsilon:exact prune:whole records_per_person:whole cap:whole",
    ),
    accord.learned_about: ({"agreement": AGREED, "side": accord.Side.A}, "agreement:agreement side:side"),
    accord.identity: ({"name": "us"}, "name:text out:path renew:flag force:flag state:path"),
    accord.trust: (
        {"partner": "bob", "card": "bob.card"},
        "partner:text,none card:file force:flag state:path",
    ),
    accord.narrate: ({}, ""),
}


@pytest.mark.parametrize("function", WRONG, ids=lambda function: function.__name__)
def test_a_wrong_argument_is_named_with_its_kind(
    function: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    right, wrong = WRONG[function]
    told = {argument: kinds.split(",") for argument, kinds in (one.split(":") for one in wrong.split())}
    assert set(inspect.signature(function).parameters) == told.keys(), "the table has every argument"
    for argument, kinds in told.items():
        for value in (value for kind in kinds for value in KINDS[kind]):
            if value is None and inspect.signature(function).parameters[argument].default is None:
                continue
            with pytest.raises(UsageError) as caught:
                function(**{**right, argument: value})
            said = str(caught.value)
            assert f"`{argument}=` " in said[: len(argument) + 5], (argument, value, said)
    assert not list(tmp_path.rglob("runs"))


def test_every_public_function_is_in_the_table() -> None:
    """Results and notices are made by Accord itself."""
    words = {"same", "hamming", "dice", "jaccard", "cosine", "euclidean", "within", "missing", "either_way"}
    words |= {"compare", "edit", "mismatches", "score", "agree"}
    functions = {name for name in dir(accord) if inspect.isfunction(getattr(accord, name))} - words
    assert {function.__name__ for function in WRONG} == functions | {
        *("Layout", "Reach", "Patience", "confirm", "fit")
    }


@pytest.mark.parametrize("name", ["same", "hamming", "edit", "dice", "jaccard", "cosine", "euclidean"])
def test_words_of_a_rule_refuse_what_they_do_not_take(name: str) -> None:
    word, distances = getattr(accord, name), ("hamming", "edit", "euclidean")
    with pytest.raises(TypeError, match="int"):
        word(5)
    if name != "same":
        with pytest.raises(TypeError, match=rf"{name}\(\)"):
            accord.same("x") & word("x")
        for threshold in ("near", None, True):
            with pytest.raises(ValueError, match=rf"{name}\(\)"):
                (word("x") <= threshold) if name in distances else (word("x") >= threshold)
    with pytest.raises(ValueError, match=r"within\(\)"):
        accord.within("x", "three")


def test_only_true_is_a_yes(tmp_path: Path) -> None:
    """A text that is not empty counts as true, whatever it says."""
    one, _ = worlds.introduce(tmp_path, AGREED)
    given = worlds.options(one, worlds.A_ROWS, AGREED) | {"listen": "127.0.0.1:0"}
    for answer in ("no", 1, None):
        with pytest.raises(UsageError, match="`confirm=`"):
            accord.link(**given | {"confirm": lambda offer, answer=answer: answer})
    with pytest.raises(DeclinedError):
        accord.link(**given | {"confirm": lambda offer: False})
    assert worlds.untouched(one)


def test_numbers_of_workers_and_tables_of_sides_that_cannot_be(tmp_path: Path) -> None:
    for workers in (0, -1, 257):
        with pytest.raises(UsageError, match="`workers=`"):
            accord.resume("0123", workers=workers, state=tmp_path)
    plain = AGREED.to_toml()
    for name in ("all-pairs", "psi"):
        body = f'{plain[: plain.index("[protocol")]}[protocol]\nname = "{name}"\n[protocol.A]\nepsilon = 1\n'
        with pytest.raises(AgreementError) as caught:
            accord.parse_agreement(body)
        assert any("protocol.A" in str(fault) for fault in caught.value.faults)


SOURCE = Path(accord.__file__).parent


def test_every_argument_that_a_message_names_is_one() -> None:
    """And so the option that the command line says instead is one, too."""
    named = {
        argument
        for path in SOURCE.rglob("*.py")
        for argument in re.findall(r"`([a-z_]+)=(?:True)?`", path.read_text())
    }
    known = {argument for function in WRONG for argument in inspect.signature(function).parameters}
    # Options of the command line alone, beside what Python can be given.
    assert named <= known | {
        "format",
        "pairs",
        "truth",
        "column",
        "count_column",
        "least",
        "folder",
        "joined",
        "query",
    }
    assert {"force", "snapshot", "listen", "columns"} <= named
    assert all("--" in as_options(f"`{name}=`") for name in named)
