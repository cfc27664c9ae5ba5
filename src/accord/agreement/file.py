"""Reading an agreement: the file, or the list of everything that is wrong with it.

Each part is judged by itself, so that a slip in one does not hide the slips in the others: first the shape of
every part, then what the parts say about each other, on all the parts that have the right shape. A fault
names its line and how to mend it.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from accord.agreement.document import Agreement
from accord.agreement.file_meaning import meaning_faults
from accord.agreement.file_shape import find_lines, line_of, shape_faults, tell_place
from accord.arguments import as_path, require, require_flag, require_text
from accord.errors import AgreementError, Fault, UnreadableError, UnsupportedError
from accord.limits import MOST_BYTES, TooMuchError, load_bounded

_TABLES = (".csv", ".tsv", ".parquet", ".arrow", ".xlsx", ".csv.gz")
_IS_TABLE = "Is it a table? The agreement comes first: `accord check AGREEMENT TABLE`."


def read_agreement(path: Path | str) -> Agreement:
    """Read and judge an agreement file."""
    path = as_path("path", path)
    try:
        with path.open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
        if len(raw) > MOST_BYTES:
            mend = f"Is it an agreement? {_IS_TABLE}"
            raise UnreadableError(path=path, reason="it is larger than 4 MiB", mend=mend)
        return parse_agreement(raw.decode("utf-8"), str(path))
    except OSError as error:
        reason = (error.strerror or "it cannot be opened").lower()
        raise UnreadableError(path=path, reason=reason, mend="Start one with: accord init") from None
    except UnicodeDecodeError:
        mend = _IS_TABLE if _is_table(path.name, "") else "Save it as UTF-8."
        raise UnreadableError(path=path, reason="it is not UTF-8", mend=mend) from None


def parse_agreement(text: str, name: str = "the agreement", simulated: bool = False) -> Agreement:
    """Read an agreement from its text; raise all its faults at once.

    `simulated`: it will never be used between two parties, so that it may name what leaks or misses much.
    """
    require_text("text", text)
    require_text("name", name)
    require_flag("simulated", simulated)
    try:
        return _parse(text, name, simulated)
    except RecursionError:
        raise AgreementError(name, [Fault("", "It is nested too deeply.")]) from None


def _parse(text: str, name: str, simulated: bool) -> Agreement:
    try:
        data = load_bounded(text)
    except TooMuchError as error:
        raise AgreementError(name, [Fault("", f"No agreement needs that much: {error}.")]) from None
    except tomllib.TOMLDecodeError as error:
        mend = _IS_TABLE if _is_table(name, text) else ""
        raise AgreementError(name, [Fault("", f"This is not TOML: {error}.", mend)]) from None
    lines = find_lines(text)
    found = [*shape_faults(data), *meaning_faults(data, simulated)]
    if found:
        ordered = sorted(found, key=lambda fault: line_of(lines, fault[0]))
        raise AgreementError(name, [Fault(tell_place(lines, path), problem) for path, problem in ordered])
    agreement = Agreement.model_validate(data)
    if not simulated:
        _require_engine(agreement, name, tell_place(lines, ("engine",)))
    return agreement


def _is_table(name: str, text: str) -> bool:
    """Whether a file that is no agreement looks like a table: by its name, or by its first line."""
    first = text.partition("\n")[0]
    cells = any(first.count(delimiter) for delimiter in ",;\t|") and not set(first) & set("=#[")
    return name.lower().endswith(_TABLES) or cells


def _require_engine(agreement: Agreement, name: str, place: str) -> None:
    """Raise if the agreed engine cannot evaluate the rule: who only checks must hear of it, too."""
    try:
        agreement.task.protocol.require_engine(agreement.task, agreement.engine.build())
    except UnsupportedError as error:
        raise AgreementError(name, [Fault(place, str(error))]) from None


def require_sound(agreement: Agreement, simulated: bool = False) -> None:
    """Judge an agreement that was built in Python as one that was read from a file."""
    require("agreement", agreement, "an Agreement, such as accord.read_agreement(PATH) gives", Agreement)
    parse_agreement(agreement.to_toml(), "the agreement", simulated)
