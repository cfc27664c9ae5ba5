"""Names that owners give: accounts and snapshots are known again however they are spelt."""

from __future__ import annotations

import re
import unicodedata

_UNSEEN = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
"""Variation selectors and fillers: they change nothing that one sees."""


def fold_name(name: str) -> str:
    """The name as it is compared: case, width, combining forms and spaces make no difference."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return " ".join(_UNSEEN.sub("", folded).split())
