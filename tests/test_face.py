"""The public face: small, lazy, complete."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import accord

ROOT = Path(__file__).parent.parent


def test_importing_and_naming_a_verb_cost_nothing_and_every_name_is_there() -> None:
    heavy = "{'numpy', 'pyarrow', 'pydantic', 'numba', 'scipy', 'cryptography', 'nacl'}"
    probe = f"import sys, accord; accord.link, accord.resume; assert not {heavy} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", probe], check=True)
    for name in dir(accord):
        assert getattr(accord, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        accord.nothing  # type: ignore[attr-defined]  # noqa: B018


def test_the_version_is_the_packages() -> None:
    from importlib.metadata import version

    assert accord.__version__ == version("accord")


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
