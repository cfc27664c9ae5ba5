"""Public functions with arguments of wrong kinds: a `UsageError` names the argument, and nothing is begun."""

from __future__ import annotations

import inspect
import re
import tomllib
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

RIGHT: dict[str, dict[str, Any]] = {
    "link": {"data": TABLE, "agreement": AGREED, "partner": "bob", "confirm": accord.agree, "listen": ":0"},
    "resume": {"name": "0123"},
    "plan": {"agreement": AGREED, "records": (10, 10)},
    "set_budget": {"dataset": "patients", "epsilon": 1, "delta": 0},
    "simulate": {"a": TABLE, "b": TABLE, "agreement": AGREED},
    "learn": {"draft": starter("people")},
    "propose": {"table": TABLE},
    "confirm": {"records": (10, 10)},
    "fit": {"agreement": AGREED},
    "check": {"agreement": AGREED},
    "parse_agreement": {"text": ""},
    "diff": {"ours": AGREED, "theirs": AGREED},
    "adjust": {"agreement": AGREED},
    "learned_about": {"agreement": AGREED, "side": accord.Side.A},
    "identity": {"name": "us"},
    "trust": {"partner": "bob", "card": "bob.card"},
}
"""What is needed besides."""
WRONG = tomllib.loads((Path(__file__).parent / "arguments.toml").read_text())


def find(name: str) -> Callable[..., Any]:
    """A public function, or a method of a proposal."""
    found: Callable[..., Any] = getattr(PROPOSAL if name in ("confirm", "fit") else accord, name)
    return found


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_argument_is_named_with_its_kind(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    function, right = find(name), RIGHT.get(name, {})
    told = {argument: kinds.split(",") for argument, kinds in (one.split(":") for one in WRONG[name].split())}
    known = inspect.signature(function).parameters
    assert set(known) == told.keys(), "the table has every argument"
    for argument, kinds in told.items():
        for value in (value for kind in kinds for value in KINDS[kind]):
            if value is None and known[argument].default is None:
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
    assert WRONG.keys() == functions | {*("Layout", "Reach", "Patience", "confirm", "fit")}


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
    with pytest.raises(ValueError, match=r"dice\(\)"):
        _ = accord.dice("x") >= 1.5
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


def test_tables_of_sides_that_cannot_be() -> None:
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
    known = {argument for name in WRONG for argument in inspect.signature(find(name)).parameters}
    # Options of the command line alone, beside what Python can be given.
    more = "format pairs truth column count_column least folder joined query"
    assert named <= known | set(more.split())
    assert {"force", "snapshot", "listen", "columns"} <= named
    assert all("--" in as_options(f"`{name}=`") for name in named)
