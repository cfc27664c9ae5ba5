"""`accord.privacy` by itself: light, complete, and its example true."""

from __future__ import annotations

import doctest
import subprocess
import sys

import pytest

import accord.privacy


def test_importing_costs_nothing_and_using_it_needs_numpy_alone() -> None:
    heavy = "{'pyarrow', 'pydantic', 'numba', 'scipy', 'cryptography', 'nacl'}"
    above = (
        "[m for m in sys.modules if m.split('.')[:2] in (['accord', p] for p in ('rules', 'secure', 'run'))]"
    )
    probe = (
        "import sys, accord.privacy\n"
        "assert 'numpy' not in sys.modules\n"
        "for name in dir(accord.privacy): getattr(accord.privacy, name)\n"
        f"assert not {heavy} & set(sys.modules) and not {above}"
    )
    subprocess.run([sys.executable, "-c", probe], check=True)


def test_every_name_is_there_and_said() -> None:
    for name in dir(accord.privacy):
        assert getattr(accord.privacy, name).__name__ == name
        assert f"`{name}`" in (accord.privacy.__doc__ or "")
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        accord.privacy.nothing  # type: ignore[attr-defined]  # noqa: B018


def test_the_example_is_true() -> None:
    failed, tried = doctest.testmod(accord.privacy)
    assert (failed, tried > 8) == (0, True)
