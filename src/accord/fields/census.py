"""The names of the US census of 1990, in the public domain, and how often each occurs.

The first lines of `names.txt.gz` say where they come from.
"""

from __future__ import annotations

import gzip
from functools import cache
from importlib import resources
from typing import Literal

NameKind = Literal["female", "male", "surname"]
EVERYBODY = 100_000


@cache
def census_names(kind: NameKind) -> dict[str, int]:
    """How many of 100,000 women, men or people had each name, the most frequent first; others had others."""
    packed = resources.files("accord.fields").joinpath("names.txt.gz").read_bytes()
    section, found = "", dict[str, int]()
    for line in gzip.decompress(packed).decode().splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif section == kind:
            count, *names = line.split()
            found |= dict.fromkeys(names, int(count))
    return found
