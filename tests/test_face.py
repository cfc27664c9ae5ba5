"""The public face: small, lazy, complete."""

from __future__ import annotations

import subprocess
import sys

import pytest

import accord


def test_importing_costs_nothing_and_every_name_is_there() -> None:
    probe = "import sys, accord; assert not {'numpy', 'pyarrow', 'numba'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", probe], check=True)
    for name in dir(accord):
        assert getattr(accord, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        accord.nothing  # noqa: B018


def test_the_version_is_the_packages() -> None:
    from importlib.metadata import version

    assert accord.__version__ == version("accord")
