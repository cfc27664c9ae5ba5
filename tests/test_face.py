"""The public face: names, errors, notices, and numbers in words."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

import accord
from accord import errors
from accord.errors import SHOWN_FAULTS, AccordError, DataError, Fault, UnreadableError
from accord.notices import Notice, decode_notice, encode_notice
from accord.wording import counted, did_you_mean, lasting, nearest, sized, tell_kept

ROOT = Path(__file__).parent.parent


def test_importing_and_naming_a_verb_cost_nothing_and_every_name_is_there() -> None:
    heavy = "{'numpy', 'pyarrow', 'pydantic', 'numba', 'scipy', 'cryptography', 'nacl'}"
    probe = f"import sys, accord; accord.link, accord.resume; assert not {heavy} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", probe], check=True)
    for name in dir(accord):
        assert getattr(accord, name) is not None
    assert accord.__version__ == version("accord")
    with pytest.raises(AttributeError):
        accord.nothing  # type: ignore[attr-defined]  # noqa: B018


def test_every_name_is_exported_to_type_checkers() -> None:
    """`import a as a` is; the same without `as` is hidden from whoever checks strictly."""
    (block,) = (
        node
        for node in ast.parse(Path(accord.__file__).read_text()).body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    names = [name for node in block.body if isinstance(node, ast.ImportFrom) for name in node.names]
    assert [name.asname for name in names] == [name.name for name in names]
    assert dir(accord) == sorted([*(name.name for name in names), "__version__"])


USER = (ROOT / "tests" / "user.py.txt").read_text()
"""What whoever imports accord may write; lines that are wrong say so."""


@pytest.mark.whole
def test_the_face_is_typed_for_whoever_imports_it(tmp_path: Path) -> None:
    script = tmp_path / "user.py"
    script.write_text(USER)
    # With the options and the cache of the project, whose checking is strict. What is known of the same text
    # in an earlier folder is said again of that one, so only the file's name counts.
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-error-summary", str(script)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    told = [line.split(":") for line in done.stdout.splitlines() if ": error: " in line]
    wrong = {str(number) for number, line in enumerate(USER.splitlines(), 1) if line.endswith("# wrong")}
    assert len(wrong) > 10
    assert {(Path(file).name, line) for file, line, *_ in told} == {("user.py", line) for line in wrong}, done


DOCS = Path(__file__).parents[1] / "docs" / "exit-codes.md"


def tree(kind: type[AccordError]) -> Iterator[type[AccordError]]:
    """Accord's own; whoever builds on it, like the laboratory, documents what it adds."""
    if kind.__module__.split(".")[0] == "accord":
        yield kind
    for child in kind.__subclasses__():
        yield from tree(child)


def test_faults_are_listed_and_counted_and_facts_are_kept() -> None:
    error = UnreadableError(path="a.csv", reason="it is a folder", mend="Name the file inside it.")
    assert error.facts == {"path": "a.csv", "reason": "it is a folder", "mend": "Name the file inside it."}
    assert [str(fact) in str(error) for fact in error.facts.values()] == [True] * 3
    many = DataError("a.csv", [Fault(f"row {i}", "is odd.", count=2) for i in range(1000)])
    first, *listed, last = str(many).splitlines()
    assert "2,000" in first
    assert len(listed) == SHOWN_FAULTS
    assert "980" in last


def test_every_error_of_the_tree_has_words_and_a_documented_exit_code() -> None:
    documented = {int(code) for code in re.findall(r"^\| (\d+) \|", DOCS.read_text(), re.M)}
    for kind in tree(AccordError):
        assert kind.__doc__, kind
        assert kind.exit_code in documented, kind
    assert {0, 1, 2, 130} <= documented
    raised = {name for name in vars(errors) if name.endswith("Error")}
    assert {kind.__name__ for kind in tree(AccordError)} <= raised


def test_the_page_says_after_which_exit_codes_to_try_again() -> None:
    again = {int(code) for code in re.findall(r"^\| (\d+) \| .* \| \*\*again\*\*", DOCS.read_text(), re.M)}
    assert again == errors.RETRIED


CALL = re.compile(r"(?:\bFault|\w+Error)\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)")
VALUE = re.compile(r"\{(?:values?|cells?|record|records\[row\]|row_values)[}!:]")
"""What code calls that which stands in a table, where it is filled into a text."""


def test_no_message_shows_a_value_of_a_record() -> None:
    sources = (DOCS.parents[1] / "src" / "accord").rglob("*.py")
    calls = [call for path in sources for call in CALL.findall(path.read_text())]
    assert len(calls) > 500
    assert [call for call in calls if VALUE.search(call)] == []
    assert VALUE.search('Fault(place, f"is {value}.")'), "the search would find one"


@given(st.one_of([st.from_type(kind) for kind in get_args(Notice)]))
def test_every_notice_is_read_again_and_none_without_one_of_its_facts(notice: Notice) -> None:
    line = encode_notice(notice)
    assert "\n" not in line
    # NaN is no number of a run; it is written all the same, and is not equal to itself.
    assert encode_notice(decode_notice(line + "\n")) == line
    for name in (facts := json.loads(line)):
        with pytest.raises(ValueError):
            decode_notice(json.dumps({key: value for key, value in facts.items() if key != name}))


def test_numbers_in_words() -> None:
    assert [counted(n, "run") for n in (0, 1, 2, 1_000)] == ["0 runs", "1 run", "2 runs", "1,000 runs"]
    assert [counted(n, "match", "matches") for n in (1, 2)] == ["1 match", "2 matches"]
    octets = (1, 999, 12_700, 94 * 10**6, 8_123_000_000, 2 * 10**15)
    assert list(map(sized, octets)) == ["1 byte", "999 bytes", "12.7 kB", "94.0 MB", "8.1 GB", "2,000.0 TB"]
    seconds = (0, 0.004, 0.5, 7.25, 59.4, 59.6, 130, 3_599.6, 7_260, 86_400, 950_400)
    assert [lasting(one) for one in seconds] == [
        *("0 s", "0 s", "0.5 s", "7.2 s", "59 s", "1 min", "2 min 10 s", "1 h", "2 h 1 min"),
        *("1 day", "11 days"),
    ]
    assert tell_kept(1_234, None) == "1,234"
    assert re.findall(r"[\d,]+", tell_kept(1_234, 5_678)) == ["1,234", "5,678"]


def test_the_nearest_name_is_never_the_given_one() -> None:
    assert nearest("delimeter", ["delimiter", "id"]) == "delimiter"
    assert nearest("A", ["A", "B"]) is nearest("zzz", ["delimiter"]) is None
    assert "'id'" in did_you_mean("ids", ["id"])
    assert did_you_mean("id", ["id", "ids"], "Remove it.") == "Remove it."
