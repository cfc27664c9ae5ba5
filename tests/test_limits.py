"""What is refused before it is parsed, that nothing sound is, and that the parser sees the same strings."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.agreement.file import parse_agreement
from accord.errors import AgreementError
from accord.limits import (
    MOST_BYTES,
    MOST_DEPTH,
    MOST_KEYS,
    MOST_PARTS,
    MOST_VALUES,
    TooMuchError,
    require_bounded,
)
from tests.run import faults


def depth(node: Any) -> int:
    inside = node.values() if isinstance(node, dict) else node if isinstance(node, list) else None
    return 0 if inside is None else max((1 + depth(child) for child in inside), default=1)


DOTTED = "a" + ".a" * MOST_PARTS

BEYOND = {
    "a key": f"{DOTTED} = 1",
    "a key with blanks": DOTTED.replace(".", " . ") + " = 1",
    "a quoted key": '"a"' + ".'b'" * MOST_PARTS + " = 1",
    "a header": f"[{DOTTED}]",
    "a header of a list": f"[[{DOTTED}]]",
    "an inline key": "x = {" + DOTTED + " = 1}",
    "lists": "a = " + "[" * MOST_DEPTH,
    "lists over lines": "a = " + "[\n" * MOST_DEPTH,
    "inline tables": "a = " + "{a = " * MOST_DEPTH,
    "a header and a key": "[a.a.a.a]\na.a.a.a.a = 1",
    "a list's header and a key": "[[a.a.a.a]]\na.a.a.a = 1",
    "a header, a key, lists": "[a.a]\n'b' = [{a.b = [[[1]]]}]",
    "after strings": 'a = """ \\" "" [[[ """"\nb = \'\'\' " \'\'\'\n# "\n' + DOTTED + "=1",
    "after an escaped quotation mark": 'a = "\\\\"\n' + DOTTED + '= "1"',
    "keys": "a=1\n" * (MOST_KEYS + 1),
    "values": "a = [" + "1," * (MOST_VALUES + 1),
    "bytes": "#" * (MOST_BYTES + 1),
    "characters of several bytes": "#" + "é" * (MOST_BYTES // 2),
}


@pytest.mark.parametrize("name", BEYOND)
def test_beyond_a_limit(name: str) -> None:
    with pytest.raises(TooMuchError):
        require_bounded(BEYOND[name])
    with pytest.raises(AgreementError, match="No agreement needs that much"):
        parse_agreement(BEYOND[name])


@pytest.mark.parametrize(
    "text",
    [
        "a" + ".a" * (MOST_PARTS - 1) + " = 1",
        "[a.a.a.a]\na.a.a.a = 1\n[b.b.b.b]\nb.b.b.b = 1",
        "a = " + "[" * (MOST_DEPTH - 1) + "]" * (MOST_DEPTH - 1),
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


_pieces = st.sampled_from(
    [
        *(
            "a",
            '"',
            "'",
            '"""',
            "'''",
            "\\",
            ".",
            "=",
            " = ",
            "1",
            "\n",
            "[",
            "]",
            "[[",
            "]]",
            "{",
            "}",
            ",",
            "# ",
        ),
        *(
            "\r\n",
            " ",
            "a.b = 1\n",
            "[a.b]\n",
            "[[a]]\n",
            "a = [[1]]\n",
            "a = {b.c = [1]}\n",
            '"é"',
            "x = 'y'\n",
        ),
    ]
)


@given(st.lists(_pieces, max_size=40).map("".join))
def test_what_the_parser_takes_was_measured(text: str) -> None:
    """Of what passes, nothing is deeper than was said; where the parser takes it, every string was found."""
    try:
        require_bounded(text)
    except TooMuchError:
        return
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    assert depth(found) <= MOST_DEPTH


def test_80_kilobytes_of_dotted_keys_take_no_memory() -> None:
    """They took 6.5 GB; a process of its own tells what they take."""
    script = (
        "import resource\n"
        "from accord.agreement.file import parse_agreement\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try: parse_agreement(('a.' * 200 + 'a = 1\\n') * 200)\n"
        "except Exception as error: print(error)\n"
        "print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    *_, words, grown = done.stdout.splitlines()
    assert "a key has more than 8 parts" in words
    assert int(grown) < 64
