"""A sound agreement to be spoilt, and the faults that are found in one."""

from __future__ import annotations

import pytest

from accord.agreement.file import parse_agreement
from accord.datasets.starter import starter_text
from accord.errors import AgreementError

TEXT = starter_text("products", "00000000")


def faults(text: str) -> list[str]:
    with pytest.raises(AgreementError) as caught:
        parse_agreement(text)
    assert caught.value.exit_code == 3
    return [str(fault) for fault in caught.value.faults]


def line_of(needle: str, text: str) -> int:
    return next(i for i, line in enumerate(text.splitlines(), 1) if needle in line)
