"""How one's own file maps to the agreed fields. It stays with its owner and is not part of the agreement."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import Field, TypeAdapter, ValidationError

from accord.errors import DataError, Fault, UnreadableError, UsageError
from accord.records.schema import Spec


class Source(Spec):
    """Where one field comes from; `format` is for dates that are not written 2026-11-15."""

    column: str
    format: str | None = None


class _File(Spec):
    id: str = "id"
    encoding: str = "utf-8"
    delimiter: str = ","
    columns: dict[str, str | Source] = Field(default_factory=dict)
    person: str | None = None

    def layout(self) -> Layout:
        columns = {k: Source(column=v) if isinstance(v, str) else v for k, v in self.columns.items()}
        return Layout(self.id, self.encoding, self.delimiter, columns, self.person)


@dataclass(frozen=True)
class Layout:
    """The id column, the file's dialect, the columns whose names differ from the agreed ones, and the column
    that says whose record it is, where that matters."""

    id: str = "id"
    encoding: str = "utf-8"
    delimiter: str = ","
    columns: dict[str, Source] = field(default_factory=dict)
    person: str | None = None

    def source(self, name: str) -> Source:
        """Where the agreed name is found: by default in a column of that name."""
        return self.columns.get(name, Source(column=name))

    def to_json(self) -> str:
        """The layout as JSON; `from_json` reads it again."""
        return _File(
            id=self.id,
            encoding=self.encoding,
            delimiter=self.delimiter,
            columns=dict(self.columns),
            person=self.person,
        ).model_dump_json()

    @classmethod
    def from_json(cls, body: str) -> Layout:
        return _File.model_validate_json(body).layout()

    def map_columns(self, pairs: Iterable[str]) -> Layout:
        """This layout with `field=column` pairs from the command line."""
        changed = dict(self.columns)
        for pair in pairs:
            name, equals, column = pair.partition("=")
            if not (equals and name.strip() and column.strip()):
                raise UsageError(problem=f"--column takes field=column, not '{pair}'.")
            changed[name.strip()] = Source(column=column)
        return replace(self, columns=changed)

    def require_known(self, names: Iterable[str]) -> None:
        """Raise for a mapped name that the agreement does not have."""
        known = list(names)
        for name in self.columns:
            if name not in known:
                close = difflib.get_close_matches(name, known, 1)
                hint = f"Did you mean '{close[0]}'?" if close else f"Agreed are: {', '.join(known)}."
                raise UsageError(problem=f"The agreement has no field or column '{name}' to map. {hint}")


def read_layout(path: Path) -> Layout:
    """Read a layout file: `id`, `person`, `encoding`, `delimiter`, and a table `[columns]`."""
    try:
        found = TypeAdapter(_File).validate_python(tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableError(path=path, reason=_reason(error), mend="Check its name.") from None
    except tomllib.TOMLDecodeError as error:
        raise DataError(str(path), [Fault("", str(error))]) from None
    except ValidationError as error:
        faults = [Fault(".".join(map(str, e["loc"])), e["msg"] + ".") for e in error.errors()]
        raise DataError(str(path), faults) from None
    return found.layout()


def _reason(error: OSError | UnicodeDecodeError) -> str:
    return (error.strerror or "it cannot be opened").lower() if isinstance(error, OSError) else "not UTF-8"
