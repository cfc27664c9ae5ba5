"""From one's own columns to the cells of agreed ones, as a layout says: before anything else is done.

Whatever reads a table comes through here, so that a field means the same to all. In the order of what is
done: cells that count as empty become so, then columns are joined, or what one has is read in another way. A
cell that a way does not fit stays as it is, for the field to judge. No row is looked at by itself, and none
decides about another.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from accord.fields.folding import fold, fold_list, trim
from accord.fields.making import join, read_days
from accord.table import postal
from accord.table.cell_text import MIXED, among_text, is_no_text, without_text
from accord.table.field_source import Source

_TEXT = pa.large_string()
_PADDED = {"%m": 2, "%d": 2, "%Y": 0, "%y": 2}
_OLDEST = 150
_SUFFIX = r"(?i)[\s,]+(?:jr|sr|jnr|snr|ii|iii|iv|esq|ph\.?d)\.?$"
_PARTICLES = (
    r"(?:(?:van|von|vom|zu|zum|zur|de|der|den|del|della|delle|di|da|do|dos|das|du|des|la|le|las|los|ten|ter"
    r"|af|av|y|el|al|bin|ibn|st\.?|mac|o')\s+)*"
)
_COMMA = r"^([^,]*?)\s*,\s*(.*)$"
_LAST = rf"(?i)^(?:(.*?)\s+)?({_PARTICLES}\S+)$"
_FIRST = rf"(?i)^({_PARTICLES}\S+)(?:\s+(.*))?$"
_COUNTRY = r"^\s*[A-Za-z]{1,3}\s*-\s*(\S.*)$"
_GAP = r"'’_\s\x{a0}\x{2009}\x{202f}"
_BEFORE = (
    r"^(?:[^\d+\-.,]{0,7}[\p{L}/]\.\s*|[^\d+\-.,]{0,8})([+-]?)"
    r"(?:[^\d+\-.,]{0,3}[\p{L}/]\.\s*|[^\d+\-.,]{0,4})"
)
"""A currency, with the dot of a shortened word, and a sign."""
_AFTER = r"[.,]?\s*(?:[-–—]{1,2})?[^\d]{0,12}$"


def read_cells(source: Source, batch: pa.RecordBatch) -> pa.Array:
    """The cells of a field, of the columns that its source names."""
    if source.absent:
        return pa.nulls(batch.num_rows, _TEXT)
    columns = [without_missing(batch.column(name), source.missing) for name in source.names]
    if source.columns:
        joined = _join_dates(source, columns) if source.format else join([trim(cells) for cells in columns])
        odd = [without_text(cells) for cells in columns if _has_no_text(cells)]
        return among_text(joined, odd) if odd else joined
    return _read_one(source, columns[0])


def read_all(sources: Mapping[str, Source], batch: pa.RecordBatch) -> dict[str, pa.Array]:
    """By agreed name, the cells of each."""
    return {name: read_cells(source, batch) for name, source in sources.items()}


def formatted(source: Source) -> str | None:
    """The format of the dates of a source that is read; a year that was taken has none."""
    return None if source.part == "year" else source.format


def without_missing(cells: pa.Array, missing: Iterable[str]) -> pa.Array:
    """Cells of which those are empty that count as such; others are as they were."""
    listed = pa.array(fold_list([*missing]), _TEXT)
    if not len(listed) or _has_no_text(cells):
        return cells
    named = pc.is_in(fold(cells), value_set=listed.drop_null())
    return pc.if_else(named, pa.scalar(None, cells.type), cells)


def _has_no_text(cells: pa.Array) -> bool:
    """Whether some are raw bytes or nested values, which the field must see to say so."""
    return bool(cells.type == MIXED) or is_no_text(cells.type)


def _read_one(source: Source, cells: pa.Array) -> pa.Array:
    if _has_no_text(cells):
        return cells
    if source.values:
        return _read_values(cells, source.values)
    if source.as_of is not None:
        return _read_ages(trim(cells), source.as_of.year)
    if source.decimal is not None:
        return _read_amounts(trim(cells), source.decimal)
    if source.part == "year":
        return _read_years(cells, source.format)
    if source.digits is not None:
        return _pad(trim(cells), source.digits)
    if source.part in postal.PARTS and source.order is not None:
        return postal.read_part(trim(cells), source.part, source.order)
    if source.part == "postcode":
        return pc.replace_substring_regex(trim(cells), _COUNTRY, r"\1")
    return cells if source.part is None else _read_names(trim(cells), source)


def _read_values(cells: pa.Array, values: Mapping[str, str]) -> pa.Array:
    """What the cells are read as; those of which nothing is said stay as they are."""
    place = pc.index_in(fold(cells), value_set=pa.array(fold_list([*values]), _TEXT))
    return pc.coalesce(pa.array([*values.values()], _TEXT).take(place), trim(cells))


def _join_dates(source: Source, columns: Iterable[pa.Array]) -> pa.Array:
    """The text that the format reads; none where a part is missing."""
    before, *between = source.between
    texts = [pa.scalar(before, _TEXT)]
    for cells, piece, after in zip(columns, source.pieces, between, strict=True):
        padded = pc.utf8_lpad(trim(cells), width=_PADDED.get(piece, 0), padding="0")
        texts += [padded, pa.scalar(after, _TEXT)]
    return pc.binary_join_element_wise(*texts, pa.scalar("", _TEXT))


def _where(fits: pa.Array, changed: pa.Array, texts: pa.Array) -> pa.Array:
    return pc.if_else(pc.fill_null(fits, False), changed, texts)


def _read_ages(texts: pa.Array, year: int) -> pa.Array:
    """Years of birth. A day is not known, so half of them are a year too late."""
    is_age = pc.fill_null(pc.match_substring_regex(texts, r"^\d{1,3}$"), False)
    ages = pc.if_else(is_age, texts, pa.scalar(None, _TEXT)).cast(pa.int64())
    fits = pc.less_equal(ages, _OLDEST)
    return _where(fits, pc.subtract(pa.scalar(year, pa.int64()), ages).cast(_TEXT), texts)


def _read_amounts(texts: pa.Array, decimal: str) -> pa.Array:
    """Plain numbers: without currency, unit and what stands between thousands. Groups that are not of three
    digits are none: what looks like decimals of the other sign, or like a date, is not read as thousands."""
    other = "," if decimal == "." else "."
    whole = rf"\d{{1,3}}(?:[{other}{_GAP}]\d{{3}})+|\d+"
    number = rf"((?:{whole})(?:[{decimal}]\d+)?|[{decimal}]\d+)"
    pattern = _BEFORE + number + _AFTER
    signed = pc.replace_substring(texts, "\N{MINUS SIGN}", "-")
    bare = pc.replace_substring_regex(signed, pattern, r"\1\2")
    plain = pc.replace_substring_regex(bare, rf"[{other}{_GAP}]", "")
    fits = pc.match_substring_regex(signed, pattern)
    return _where(fits, pc.replace_substring(plain, ",", "."), texts)


def _read_years(cells: pa.Array, format: str | None) -> pa.Array:
    days = read_days(cells, format, {}).days
    years = pc.year(days.cast(pa.date32())).cast(_TEXT)
    return pc.coalesce(years, trim(cells))


def _read_names(texts: pa.Array, source: Source) -> pa.Array:
    """One part of whole names: with a comma the surname is first; a single word is a surname."""
    bare = pc.replace_substring_regex(texts, _SUFFIX, "")
    surname_first = source.order == "surname given"
    wants_first = (source.part == "surname") is surname_first
    spaced = _part(bare, _FIRST if surname_first else _LAST, 1 if wants_first else 2)
    with_comma = pc.fill_null(pc.match_substring(bare, ","), False)
    parted = pc.if_else(with_comma, _part(bare, _COMMA, 1 if source.part == "surname" else 2), spaced)
    return pc.if_else(pc.equal(parted, ""), pa.scalar(None, _TEXT), parted)


def _pad(texts: pa.Array, digits: int) -> pa.Array:
    """Whole numbers with zeros in front, which a spreadsheet took."""
    return _where(
        pc.match_substring_regex(texts, r"^\d+$"), pc.utf8_lpad(texts, width=digits, padding="0"), texts
    )


def _part(texts: pa.Array, pattern: str, group: int) -> pa.Array:
    return pc.utf8_trim_whitespace(pc.replace_substring_regex(texts, pattern, rf"\{group}"))
