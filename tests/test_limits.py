"""What is refused before it is parsed, and that nothing sound is; the bad inputs are beyond each limit."""

from __future__ import annotations

import tomllib
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord import limits
from accord.limits import MOST_DEPTH, TooMuchError, require_bounded
from tests.run import faults


@pytest.mark.parametrize(
    "text",
    [
        "a" + ".a" * 7 + " = 1",
        "[a.a.a.a]\na.a.a.a = 1\n[b.b.b.b]\nb.b.b.b = 1",
        "a = [[[[[[[]]]]]]]",
        "a = [[[[[[[1]]]]]], [[[[[[1]]]]]]]",
        "a = {a = {a = {a = {a = {a = {a = {a = 1}}}}}}}\nb = [{a.a.a.a.a.a = 1}, {a.a.a.a.a.a = 1.5}]",
        'rule = "' + "(" * 9000 + '"',
        "a = 'a.a.a.a.a.a.a.a.a.a.a' # [[[[[[[[[[ a.a.a.a.a.a.a.a.a.a",
        '"a.b.c.d.e.f.g.h.i.j" = 1979-05-27T07:32:00.999-07:00',
        'a = """a.a.a.a.a.a.a.a.a.a.a\n[[[[[[[[[[\n""\\""""""',
        faults.agreement().to_toml(),
    ],
)
def test_within_the_limits(text: str) -> None:
    require_bounded(text)
    tomllib.loads(text)


def test_values_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert limits.MOST_VALUES == 1 << 19
    monkeypatch.setattr(limits, "MOST_VALUES", 9)
    require_bounded("a = [" + "1," * 9)
    with pytest.raises(TooMuchError):
        require_bounded("a = [" + "1," * 10)


def depth(node: Any) -> int:
    inside = node.values() if isinstance(node, dict) else node if isinstance(node, list) else None
    return 0 if inside is None else max((1 + depth(child) for child in inside), default=1)


PIECES = [
    "a", '"', "'", '"""', "'''", "\\", ".", "=", " = ", "1", "\n", "[", "]", "[[", "]]", "{", "}", ",", "# ",
    "\r\n", " ", "a.b = 1\n", "[a.b]\n", "[[a]]\n", "a = [[1]]\n", "a = {b.c = [1]}\n", '"é"', "x = 'y'\n",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_what_the_parser_takes_was_measured(text: str) -> None:
    """Of what passes, nothing is deeper than was said; where the parser takes it, every string was found."""
    try:
        require_bounded(text)
        found = tomllib.loads(text)
    except (TooMuchError, tomllib.TOMLDecodeError):
        return
    assert depth(found) <= MOST_DEPTH


def test_80_kilobytes_of_dotted_keys_take_no_memory() -> None:
    """They took 6.5 GB."""
    tracemalloc.start()
    try:
        with pytest.raises(TooMuchError):
            limits.load_bounded(("a." * 200 + "a = 1\n") * 200)
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()
