"""Accord: private record linkage between two organisations, without a third party.

The public face. `simulate` links two tables in the clear; `read_agreement` and `Agreement` hold what both
parties sign up to; the words of a rule (`same`, `hamming`, …) build one in Python. Names are imported when
they are first used, so that `import accord` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from accord.agreement.differences import diff as diff
    from accord.agreement.document import Agreement as Agreement
    from accord.agreement.file import parse_agreement as parse_agreement
    from accord.agreement.file import read_agreement as read_agreement
    from accord.errors import AccordError as AccordError
    from accord.matching.rule import cosine as cosine
    from accord.matching.rule import dice as dice
    from accord.matching.rule import euclidean as euclidean
    from accord.matching.rule import hamming as hamming
    from accord.matching.rule import jaccard as jaccard
    from accord.matching.rule import same as same
    from accord.matching.rule import within as within
    from accord.records.layout import Layout as Layout
    from accord.simulation import simulate as simulate

_HOME = {
    "accord.agreement.document": ("Agreement",),
    "accord.agreement.differences": ("diff",),
    "accord.agreement.file": ("parse_agreement", "read_agreement"),
    "accord.errors": ("AccordError",),
    "accord.matching.rule": ("cosine", "dice", "euclidean", "hamming", "jaccard", "same", "within"),
    "accord.records.layout": ("Layout",),
    "accord.session.link": ("link", "resume"),
    "accord.simulation": ("simulate",),
}
_FACE = {name: module for module, names in _HOME.items() for name in names}
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name not in _FACE:
        raise AttributeError(f"module 'accord' has no attribute '{name}'")
    return getattr(import_module(_FACE[name]), name)


def __dir__() -> list[str]:
    return sorted([*_FACE, "__version__"])
