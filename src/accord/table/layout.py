"""How one's own file maps to the agreed fields. It stays with its owner and is not part of the agreement."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import tomli_w
from pydantic import BeforeValidator, Field, ValidationError

from accord.arguments import as_path, require, require_flag, require_text, require_text_or_none, wrong
from accord.errors import DataError, Fault, UnreadableError, UsageError
from accord.limits import TooMuchError, require_bounded
from accord.spec import Spec
from accord.table.field_source import Source as Source
from accord.table.field_source import as_source
from accord.wording import did_you_mean

MADE_ID = "accord: id"
"""The column that made ids are read as; no file of its owner's is asked for one of this name."""
MOST_ABOVE = 100
"""Lines above a header."""
_LINE = f"the line of the header, 1 to {MOST_ABOVE + 1}"


class _File(Spec):
    id: str = "id"
    encoding: str = "utf-8"
    delimiter: str = ","
    columns: dict[str, Annotated[Source, BeforeValidator(as_source)]] = Field(default_factory=dict)
    person: str | None = None
    quote: str = '"'
    make_ids: bool = False
    sheet: str | None = None
    header: int = Field(default=1, ge=1, le=MOST_ABOVE + 1)
    unreadable: Literal["refuse", "empty"] = "refuse"

    def layout(self) -> Layout:
        return Layout(
            self.id,
            self.encoding,
            self.delimiter,
            self.columns,
            self.person,
            self.quote,
            self.make_ids,
            self.sheet,
            self.header,
            self.unreadable,
        )


@dataclass(frozen=True)
class Layout:
    """The id column, how the file is written, the columns whose names differ from the agreed ones, and the
    column that says whose record it is, where that matters."""

    id: str = "id"
    encoding: str = "utf-8"
    delimiter: str = ","
    columns: Mapping[str, Source | str] = field(default_factory=dict)
    """By agreed name; a text is a column's name."""
    person: str | None = None
    quote: str = '"'
    """What stands around cells that hold the delimiter; `none` if a quote is a letter like others."""
    make_ids: bool = False
    """Rows have random ids, which are made once and kept beside the file; no id column is read."""
    sheet: str | None = None
    """Of a workbook: the sheet, if not the first."""
    header: int = 1
    """Of a csv the line, of a workbook the row with the names of columns; empty ones above do not count."""
    unreadable: str = "refuse"
    """What becomes of cells that are no date, number or agreed value: `refuse`, or `empty`."""

    def __post_init__(self) -> None:
        for argument in ("id", "encoding", "delimiter", "quote"):
            require_text(argument, getattr(self, argument))
        for argument in ("person", "sheet"):
            require_text_or_none(argument, getattr(self, argument))
        require_flag("make_ids", self.make_ids)
        require("header", self.header, _LINE, int)
        if not 1 <= self.header <= MOST_ABOVE + 1:
            raise UsageError(problem=f"`header=` is {_LINE}.")
        require_text("unreadable", self.unreadable, "empty")
        if self.unreadable not in ("refuse", "empty"):
            raise UsageError(problem="`unreadable=` is 'refuse' or 'empty'.")
        object.__setattr__(self, "columns", _read_columns(self.columns))

    @property
    def id_column(self) -> str:
        """Where ids stand among the columns that are read."""
        return MADE_ID if self.make_ids else self.id

    @property
    def said(self) -> frozenset[str]:
        """What it says otherwise than by default: all else may be found out."""
        usual = Layout()
        return frozenset(name for name in _File.model_fields if getattr(self, name) != getattr(usual, name))

    def source(self, name: str) -> Source:
        """Where the agreed name is found: by default in a column of that name."""
        found = self.columns.get(name, name)
        return Source(column=found) if isinstance(found, str) else found

    def sources(self, names: Iterable[str]) -> dict[str, Source]:
        """Where these agreed names are found."""
        return {name: self.source(name) for name in names}

    def own_columns(self, names: Iterable[str]) -> list[str]:
        """One's own columns that are read for these agreed names, each once."""
        return list(dict.fromkeys(column for name in names for column in self.source(name).names))

    def place(self, names: Iterable[str]) -> str:
        """Where these agreed names are found, in words: one's own columns, or the names if there are none."""
        names = tuple(names)
        return " + ".join(self.own_columns(names) or names)

    def to_json(self) -> str:
        """The layout as JSON; `from_json` reads it again."""
        return _File(
            id=self.id,
            encoding=self.encoding,
            delimiter=self.delimiter,
            columns={name: self.source(name) for name in self.columns},
            person=self.person,
            quote=self.quote,
            make_ids=self.make_ids,
            sheet=self.sheet,
            header=self.header,
            unreadable=self.unreadable,  # type: ignore[arg-type]
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
                raise UsageError(problem=f"A column is mapped as field=column, not as '{pair}'.")
            before = self.source(name.strip())
            kept = {} if before.absent else before.model_dump(exclude_defaults=True, exclude={"columns"})
            changed[name.strip()] = Source.model_validate(kept | {"column": column})
        return replace(self, columns=changed)

    def read_dates(self, formats: Mapping[str, str]) -> Layout:
        """This layout with formats of dates, by field."""
        changed = {name: self.source(name).dated(how) for name, how in formats.items()}
        return replace(self, columns={**self.columns, **changed})

    def map_dates(self, pairs: Iterable[str]) -> Layout:
        """This layout with `field=format` pairs from the command line."""
        formats = {}
        for pair in pairs:
            name, equals, how = pair.partition("=")
            if not (equals and name.strip() and "%" in how):
                raise UsageError(
                    problem=f"Dates are given as field=format, such as birth=%d.%m.%Y, not as '{pair}'."
                )
            formats[name.strip()] = how
        return self.read_dates(formats)

    def to_toml(self, is_file: bool = True) -> str:
        """The layout as `read_layout` reads it; a table of a database is written in no encoding."""
        body = _File.model_validate_json(self.to_json()).model_dump(exclude_none=True)
        silent = {"id"} if self.make_ids else set()
        silent |= set() if is_file else {"encoding", "delimiter", "quote"}
        silent |= {"header", "unreadable"} - self.said
        silent |= {name for name in ("make_ids", "columns") if not body[name]}
        body["columns"] = {name: _written(self.source(name)) for name in self.columns}
        return tomli_w.dumps({key: value for key, value in body.items() if key not in silent})

    def about(self, names: Iterable[str]) -> Layout:
        """This layout without what is said of other names: a file may serve several agreements."""
        known = set(names)
        columns = {name: source for name, source in self.columns.items() if name in known}
        return replace(self, columns=columns)

    def require_known(self, names: Iterable[str]) -> None:
        """Raise for a mapped name that the agreement does not have."""
        known = list(names)
        for name in self.columns:
            if name not in known:
                hint = did_you_mean(name, known, f"Agreed are: {', '.join(known)}.")
                raise UsageError(problem=f"The agreement has no field or column '{name}' to map. {hint}")


def _written(source: Source) -> object:
    """A source as people write it: a column alone is its name."""
    said = source.model_dump(exclude_defaults=True)
    return said["column"] if [*said] == ["column"] else said


def _read_columns(given: object) -> dict[str, Source]:
    """What was given as columns, each with its source."""
    expected = "a dictionary of agreed names with your columns, such as {'name': 'title'}"
    require("columns", given, expected, Mapping)
    assert isinstance(given, Mapping)
    found = {}
    for name, source in given.items():
        if not isinstance(name, str):
            raise wrong("columns", name, f"{expected}, with texts for names")
        try:
            found[name] = Source.model_validate(as_source(source))
        except ValidationError as error:
            raise UsageError(
                problem=f"`columns=` has for '{name}' neither your column's name nor a dictionary with "
                f"column and format: {_fault(('columns',), *_slip(error.errors()[0])).problem}"
            ) from None
    return found


def read_layout(path: Path | str) -> Layout:
    """Read a layout file: `id` or `make_ids`, `person`, `encoding`, `delimiter`, `quote`, `sheet`, `header`,
    `unreadable`, and the table `[columns]`."""
    path = as_path("path", path)
    try:
        body = path.read_text(encoding="utf-8")
        require_bounded(body)
        found = _File.model_validate(tomllib.loads(body))
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableError(path=path, reason=_reason(error), mend="Check its name.") from None
    except tomllib.TOMLDecodeError as error:
        raise DataError(str(path), [Fault("", str(error))]) from None
    except ValidationError as error:
        raise DataError(str(path), [_fault(slip["loc"], *_slip(slip)) for slip in error.errors()]) from None
    except TooMuchError as error:
        raise DataError(str(path), [Fault("", f"No layout needs that much: {error}.")]) from None
    except ValueError:
        raise DataError(str(path), [Fault("", "It holds a number with thousands of digits.")]) from None
    return found.layout()


def _slip(found: Mapping[str, Any]) -> tuple[str, str]:
    return found["type"], found["msg"]


def _fault(place: tuple[str | int, ...], kind: str, message: str) -> Fault:
    """What is wrong at a place of a layout file, and the word that was probably meant."""
    where = ".".join(map(str, place))
    if kind == "extra_forbidden":
        known = _File.model_fields if len(place) == 1 else Source.model_fields
        mend = did_you_mean(str(place[-1]), known, f"Known are: {', '.join(known)}.")
        return Fault(where, "is not known here.", mend)
    if kind == "model_type":
        return Fault(where, "should be a column's name, or a table with column or columns.")
    return Fault(where, f"{message.removeprefix('Input ').removeprefix('Value error, ')}.")


def named_in(path: Path) -> frozenset[str]:
    """What a layout file says, other things being as they are by default; the file is sound."""
    return frozenset(tomllib.loads(path.read_text(encoding="utf-8")))


def _reason(error: OSError | UnicodeDecodeError) -> str:
    return (error.strerror or "it cannot be opened").lower() if isinstance(error, OSError) else "not UTF-8"
