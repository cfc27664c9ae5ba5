"""What a column probably is, by its name and by some of its cells: a guess, for its owner to confirm.

Everything here stays with the owner of the table. A guess decides what the owner is asked, and nothing else:
a draft is made of what was confirmed (answers.py).

First each column by itself: what its cells cannot be is out, then its name decides, then its cells. A name
that is known and that the cells contradict leaves the column out, with a word to its owner: cells that merely
look like something else must not overrule it. Marks for missing values are no cells, and slips decide
nothing. Then all together: one `id`, at most one column of a type that stands once in an agreement, a lone
`name` beside a given name is a family name, and one beside both is left out.

Where a type may stand several times, a column that is called by a word of the public vocabulary gets the
name of that word, so that both sides call it alike; any other header stays with its owner.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from accord.drafting.headers import (
    is_called,
    kinds_by_name,
    unusual,
    without_qualifiers,
    word_for,
    words_of,
)
from accord.drafting.kinds import HOLDS, OF_PEOPLE, SEVERAL, ColumnKind
from accord.drafting.shapes import (
    FITS,
    NUMBER,
    SURE,
    are_codes,
    are_dates,
    are_measures,
    are_streets,
    are_suffixes,
    are_whole_names,
    checked_number,
    is_name,
    looks_given,
    share,
    spread_over_decades,
)
from accord.drafting.vocabulary import (
    LETTERS_OF_SEXES,
    MARKS,
    NO_FIELDS,
    NUMBERS,
    OF_A_FIRM,
    OF_A_PERSON,
    OF_A_THING,
    REMARK,
    SUFFIXED,
    THING,
    TRIOS,
    WORDS,
)

_MOST = 0.9
"""Of the cells that are filled, so many must look alike."""
_MANY, _SOME = 0.7, 0.5
_HARDLY = 0.01
_EITHER = 1.1
"""The sum of two shares of rows that hardly overlap."""
_FEW_VALUES = 60
_TO_JUDGE = 20
"""Cells that may be the same by chance."""
_ONE_THING = 0.99
_TOLD_APART = frozenset(
    {ColumnKind.CATEGORY, ColumnKind.YESNO, ColumnKind.COMPANY, ColumnKind.TEXT, ColumnKind.IDENTIFIER}
)
_CALLED = frozenset({ColumnKind.GIVEN, ColumnKind.SURNAME, ColumnKind.NAME, ColumnKind.IDENTIFIER})
_NAMES = frozenset({ColumnKind.GIVEN, ColumnKind.SURNAME, ColumnKind.NAME})
_LIVED = frozenset({ColumnKind.BIRTH, ColumnKind.BIRTH_YEAR, ColumnKind.AGE, ColumnKind.SEX})
_REACHED = frozenset({ColumnKind.STREET, ColumnKind.ADDRESS, ColumnKind.PHONE, ColumnKind.EMAIL})
_OF_ANYTHING = SEVERAL - {ColumnKind.IDENTIFIER}
_LOOKS = frozenset({ColumnKind.ID, ColumnKind.SKIP, ColumnKind.STREET, ColumnKind.PHONE})
"""What cells with numbers merely look like."""
_CLASH = "some cells are empty or repeated"
_ZEROS = re.compile(r"\W*0\W*0[0\W]*")
_NUMBERED = frozenset({ColumnKind.CATEGORY, ColumnKind.COMPANY, ColumnKind.TEXT})
"""What may have a number of its own, which names records."""
_LENIENT = frozenset({ColumnKind.COMPANY, ColumnKind.TEXT, ColumnKind.STREET, ColumnKind.IDENTIFIER})
_DATED = frozenset({ColumnKind.BIRTH, ColumnKind.DATE})
"""What cannot be read of these is told when the table is read."""
_ANY_CELLS = frozenset({ColumnKind.EMAIL, ColumnKind.PHONE, ColumnKind.POSTCODE, ColumnKind.SEX})
"""Of these an odd cell is read as another text or as missing, so a column that is called so may have many."""


@dataclass(frozen=True)
class Sample:
    """A column of one's own table: its name, some of its cells, whether all are filled and different, how
    often its commonest cells stand in the whole table, and the share of its cells that are filled."""

    column: str
    cells: tuple[str, ...] = field(default=(), repr=False)
    names_rows: bool = False
    counts: Mapping[str, int] | None = field(default=None, repr=False)
    rows: int = 0
    """That are filled; 0 if they are the cells."""
    filled_share: float = 1.0
    clash: str = ""
    """Why it names no rows, where it nearly does."""
    values: int = 0
    """Different values of the filled cells; 0 if they are those of the cells."""
    unknown: frozenset[str] = field(default=frozenset(), repr=False)
    """Codes that mean unknown in its table (reading.py)."""

    @property
    def filled(self) -> tuple[str, ...]:
        return tuple(cell.strip() for cell in self.cells if cell.strip())

    @property
    def telling(self) -> tuple[str, ...]:
        """Cells that say something."""
        return tuple(
            cell for cell in self.filled if cell.casefold() not in MARKS and not _ZEROS.fullmatch(cell)
        )

    @property
    def common(self) -> Mapping[str, int]:
        """How often common cells occur."""
        return Counter(self.filled) if self.counts is None else self.counts

    @property
    def distinct(self) -> int:
        """How many different values its filled cells have."""
        return self.values or len(set(self.filled))

    @property
    def size(self) -> int:
        """How many cells are filled."""
        return self.rows or len(self.filled)


@dataclass(frozen=True)
class Guess:
    """What a column probably is, and a word to its owner where that needs one."""

    column: str
    kind: ColumnKind
    note: str = ""
    """Why it is left out; every column that is left out has one."""
    meant: ColumnKind | None = None
    """What a column that is left out may be meant to be."""
    name: str = ""
    """What a field of it is called, by the public vocabulary."""

    def left_out(self, note: str, meant: ColumnKind | None = None) -> Guess:
        return Guess(self.column, ColumnKind.SKIP, note, meant)


def guess_kinds(samples: Sequence[Sample], keep_sparse: bool = False) -> tuple[Guess, ...]:
    """What each column of a table probably is; of one that hardly has a cell only if it is kept."""
    bare = without_qualifiers([sample.column for sample in samples])
    guesses = _guess(
        [replace(one, column=name) for one, name in zip(samples, bare, strict=True)], keep_sparse
    )
    return tuple(replace(one, column=sample.column) for one, sample in zip(guesses, samples, strict=True))


def _guess(samples: Sequence[Sample], keep_sparse: bool) -> list[Guess]:
    alone = _without_lookalikes([_guess_one(sample, keep_sparse) for sample in samples], samples)
    together = _leave_whole(_name_people(_find_trio(alone, samples), samples))
    if not keep_sparse:
        together = _leave_others(together, samples)
    return _name_once(_keep_once(_choose_id(together, samples)))


def _guess_one(sample: Sample, keep_sparse: bool) -> Guess:
    column, cells = sample.column, sample.telling
    nothing = Guess(column, ColumnKind.SKIP)
    if not cells:
        return nothing.left_out("it is empty")
    if why := _why_left_out(column, cells):
        return nothing.left_out(why)
    found = (
        _by_sure_cells(column, cells)
        or _by_name(column, cells, sample.names_rows)
        or _by_cells(cells, sample.names_rows, column)
    )
    if keep_sparse or found.kind is ColumnKind.SKIP:
        return found
    if sample.filled_share < _HARDLY:
        return nothing.left_out("nearly all of its cells are empty", found.kind)
    if found.kind in _TOLD_APART and _says_one_thing(sample):
        return nothing.left_out("its cells are all the same, which tells nobody apart", found.kind)
    return found


def _says_one_thing(sample: Sample) -> bool:
    """Whether the same stands in all cells, slips aside, since one row must not decide."""
    return sample.size >= _TO_JUDGE and max(sample.common.values()) >= _ONE_THING * sample.size


def _why_left_out(column: str, cells: Sequence[str]) -> str:
    """Why a column is no field, if its name says so, or its cells are what stands behind names."""
    words = words_of(column)
    if are_suffixes(cells) or (SUFFIXED & {*words} and are_whole_names(cells) < _SOME):
        return "a suffix of names, such as Jr, tells few people apart"
    return NO_FIELDS.get("".join(words), "")


def _by_sure_cells(column: str, cells: Sequence[str]) -> Guess | None:
    """By cells that are mail addresses, whatever kind of address its name says, or hold several fields."""
    is_mail = FITS[ColumnKind.EMAIL](cells) >= _MOST
    kind = ColumnKind.EMAIL if is_mail else _holds_several(column, cells)
    return Guess(column, kind) if kind else None


def _holds_several(column: str, cells: Sequence[str]) -> ColumnKind | None:
    """Whether a column has whole addresses or places: a header that names each part says so; else one part of
    it is named, or nothing that is known, and the cells have all."""
    words, named = words_of(column), kinds_by_name(column)
    told = {kind for kind in HOLDS[ColumnKind.ADDRESS] for word in words if word in WORDS[kind]}
    if ColumnKind.POSTCODE in named and FITS[ColumnKind.POSTCODE](cells) >= _MOST:
        return None
    for several, parts in HOLDS.items():
        is_told = len(words) > 1 and told == {*parts}
        enough = _SOME if {*parts} & {*named} else _MOST
        might = enough == _SOME or (several is ColumnKind.ADDRESS and not named)
        if is_told or (might and FITS[several](cells) >= enough):
            return several
    return None


def _by_name(column: str, cells: Sequence[str], names_rows: bool) -> Guess | None:
    kinds = kinds_by_name(column)
    if names_rows and {*words_of(column)[-1:]} & NUMBERS:
        # The number of a vendor, or of an item, names records; that of a phone does not.
        kinds = [kind for kind in kinds if kind not in _NUMBERED]
    for kind in kinds:
        if _can_be(kind, cells, is_called(column, kind)):
            return Guess(column, kind, name=word_for(column, kind))
        # A date of birth of which only the year is known, or only the day.
        for part in (ColumnKind.BIRTH_YEAR, ColumnKind.BIRTH_DAY) if kind is ColumnKind.BIRTH else ():
            if FITS[part](cells) >= _MOST:
                return Guess(column, part)
    return None


def _can_be(kind: ColumnKind, cells: Sequence[str], is_called: bool) -> bool:
    """Whether cells do not contradict a type that a name suggests; if all of the name says so, odd cells do
    not."""
    if kind not in FITS:
        return True
    letters = [{woman, man} for woman, man, _ in LETTERS_OF_SEXES]
    if kind is ColumnKind.SEX and is_called and {*map(str.casefold, cells)} in letters:
        return True
    if FITS[kind] is FITS[ColumnKind.NAME]:
        return not are_codes(cells) and FITS[ColumnKind.TEXT if is_called else kind](cells) >= _SOME
    lenient = kind in _LENIENT or (is_called and kind in _DATED) or (is_called and kind in _ANY_CELLS)
    return FITS[kind](cells) >= (_SOME if lenient else _MOST)


_READ_AS = {
    ColumnKind.BIRTH: "days in formats that exclude each other",
    ColumnKind.DATE: "days in formats that exclude each other, without a time of the day",
    ColumnKind.LATITUDE: "decimal numbers of degrees, such as 52.5200",
    ColumnKind.LONGITUDE: "decimal numbers of degrees, such as 13.4050",
    ColumnKind.PRICE: "numbers, such as 12.99, 12.99 EUR or €1.200,50",
    ColumnKind.POSTCODE: "postcodes, such as 10115",
    ColumnKind.BIRTH_YEAR: "years, such as 1980",
    ColumnKind.YEAR: "years, such as 1980",
}
"""Types that a name is believed about, and as what their cells must be read."""


def _by_cells(cells: Sequence[str], names_rows: bool, column: str) -> Guess:
    """By its cells alone, unless its name says something that they are not."""
    found = _kind_by_cells(cells, names_rows)
    told = next((kind for kind in kinds_by_name(column) if kind in _READ_AS), None)
    nothing = Guess(column, ColumnKind.SKIP)
    # A name of one word decides; one of many words that the name has ("cost centre") only against looks.
    if told is not None and (is_called(column, told) or found in _LOOKS):
        return nothing.left_out(f"its name says {told}, but its cells are not {_READ_AS[told]}", told)
    if found is ColumnKind.LATITUDE:
        return nothing.left_out("degrees of latitude or longitude; its name does not say which", found)
    if found is ColumnKind.SKIP:
        return nothing.left_out("numbers; its name does not say what they are", ColumnKind.NUMBER)
    return Guess(column, found, name=(checked_number(cells) or "") if found is ColumnKind.IDENTIFIER else "")


def _kind_by_cells(cells: Sequence[str], names_rows: bool, may_be_names: bool = True) -> ColumnKind:
    if are_dates(cells) >= _MOST:
        return ColumnKind.BIRTH if spread_over_decades(cells) else ColumnKind.DATE
    if coded := _coded(cells):
        return coded
    if FITS[ColumnKind.LATITUDE](cells) >= _MOST:
        return ColumnKind.LATITUDE
    if checked_number(cells):
        return ColumnKind.IDENTIFIER
    if names_rows and share(cells, lambda cell: " " not in cell) == 1 and any(c.isdigit() for c in cells[0]):
        return ColumnKind.ID
    if may_be_names and share(cells, is_name) >= _MANY:
        return _name_kind(cells)
    if sure := [kind for kind, fits in SURE.items() if fits(cells) >= _MOST]:
        return sure[0]
    if len(set(cells)) <= min(_FEW_VALUES, len(cells) // 5):
        return ColumnKind.CATEGORY
    if share(cells, NUMBER.fullmatch) >= _MOST or are_measures(cells):
        return ColumnKind.SKIP
    if are_streets(cells) >= _MOST:
        return ColumnKind.STREET
    return ColumnKind.PHONE if FITS[ColumnKind.PHONE](cells) >= _MOST else ColumnKind.TEXT


def _coded(cells: Sequence[str]) -> ColumnKind | None:
    """Sexes, or yes and no; of digits only 0 and 1 mean that, and both must occur."""
    said = {cell.casefold() for cell in cells}
    if all(map(str.isdigit, said)):
        return ColumnKind.YESNO if said == {"0", "1"} else None
    return next((kind for kind in (ColumnKind.SEX, ColumnKind.YESNO) if FITS[kind](cells) >= _MOST), None)


def _name_kind(cells: Sequence[str]) -> ColumnKind:
    """Whole names have several words; a given name is seldom a family name."""
    if are_whole_names(cells) >= _SOME:
        return ColumnKind.NAME
    return ColumnKind.GIVEN if looks_given(cells) else ColumnKind.SURNAME


# -- all columns together -----------------------------------------------------------------------------------


def _without_lookalikes(guesses: list[Guess], samples: Sequence[Sample]) -> list[Guess]:
    """Columns that merely look like names are none in a table that says nothing else of people: places are
    called as people are."""
    looks = [guess.kind in _NAMES and guess.kind not in kinds_by_name(guess.column) for guess in guesses]
    kinds = {guess.kind for guess in guesses}
    said = {guess.kind for guess, is_look in zip(guesses, looks, strict=True) if not is_look}
    if (_NAMES | _LIVED) & said or {ColumnKind.GIVEN, ColumnKind.SURNAME} <= kinds:
        return guesses
    return [
        replace(guess, kind=_kind_by_cells(one.telling, one.names_rows, False)) if is_look else guess
        for guess, is_look, one in zip(guesses, looks, samples, strict=True)
    ]


def _find_trio(guesses: list[Guess], samples: Sequence[Sample]) -> list[Guess]:
    """Year, month and day of birth, in columns that say so only together."""
    if any(guess.kind is ColumnKind.BIRTH for guess in guesses):
        return guesses
    places = {"".join(words_of(sample.column)): place for place, sample in enumerate(samples)}
    parts = (ColumnKind.BIRTH_YEAR, ColumnKind.BIRTH_MONTH, ColumnKind.BIRTH_DAY)
    for trio in TRIOS:
        if not all(word in places for word in trio):
            continue
        three = [samples[places[word]].telling for word in trio]
        fit = all(FITS[kind](cells) >= _MOST for kind, cells in zip(parts, three, strict=True))
        if fit and (trio is TRIOS[0] or spread_over_decades(three[0])):
            found = {places[word]: kind for word, kind in zip(trio, parts, strict=True)}
            return [
                Guess(guess.column, found[place]) if place in found else guess
                for place, guess in enumerate(guesses)
            ]
    return guesses


def _name_people(guesses: list[Guess], samples: Sequence[Sample]) -> list[Guess]:
    """What `name` means follows from the columns beside it."""
    kinds = {guess.kind for guess in guesses}
    found = []
    for guess, sample in zip(guesses, samples, strict=True):
        several = are_whole_names(sample.telling) >= _SOME
        if guess.kind is ColumnKind.NAME:
            of_people = share(sample.telling, is_name) >= _SOME
            if not (kinds & (OF_PEOPLE - {ColumnKind.NAME}) or of_people):
                guess = replace(guess, kind=ColumnKind.TEXT, name=THING)
            elif not several and ColumnKind.SURNAME not in kinds:
                guess = replace(guess, kind=ColumnKind.SURNAME)
        elif guess.kind is ColumnKind.GIVEN and several and not kinds & {ColumnKind.SURNAME, ColumnKind.NAME}:
            # The one word of some languages for both.
            guess = replace(guess, kind=ColumnKind.NAME)
        found.append(guess)
    return found


def _leave_whole(guesses: list[Guess]) -> list[Guess]:
    """Without a whole name whose parts stand beside it."""
    if not {ColumnKind.GIVEN, ColumnKind.SURNAME} <= {guess.kind for guess in guesses}:
        return guesses
    why = "it is a whole name, and its parts have columns of their own"
    return [
        guess.left_out(why, ColumnKind.NAME) if guess.kind is ColumnKind.NAME else guess for guess in guesses
    ]


def _leave_others(guesses: list[Guess], samples: Sequence[Sample]) -> list[Guess]:
    """Without what says of people something else than who they are: what was bought, when somebody came, what
    somebody wrote about it. The other side has other dates and kinds, and they would count against pairs.
    Remarks, and text of which nobody knows what it says, go wherever there is a person."""
    some_people, people = OF_PEOPLE & {guess.kind for guess in guesses}, _are_people(guesses)
    kept = OF_A_PERSON | ({ColumnKind.COMPANY} if _are_firms_among(guesses, samples) else set())
    why = "its name is none of those that say who somebody is"
    found: list[Guess] = []
    for guess in guesses:
        is_again = people and guess.name and guess.name in [one.name for one in found]
        if is_again:
            found.append(guess.left_out(f"another column is taken for {guess.name}", guess.kind))
            continue
        is_remark = guess.name == REMARK or (guess.kind is ColumnKind.TEXT and not guess.name)
        is_other = guess.kind in _OF_ANYTHING and (guess.name or guess.kind) not in kept
        is_left = (some_people and is_remark) or (people and is_other)
        found.append(guess.left_out(why, guess.kind) if is_left else guess)
    return found


def _are_people(guesses: list[Guess]) -> bool:
    """Whether a table is about people: not only made, sold or owned by somebody."""
    kinds, things = {guess.kind for guess in guesses}, OF_A_THING & {guess.name for guess in guesses}
    if _LIVED & kinds and _CALLED & kinds:
        # Somebody may work for a company.
        return not things
    called = {ColumnKind.GIVEN, ColumnKind.SURNAME} <= kinds or ColumnKind.NAME in kinds
    firms = OF_A_FIRM & {guess.name or guess.kind for guess in guesses}
    return called and bool(_REACHED & kinds) and not things and not firms


def _are_firms_among(guesses: list[Guess], samples: Sequence[Sample]) -> bool:
    """Whether rows without the name of a person have one of a firm: a table of both."""
    filled = {guess.name or guess.kind: one.filled_share for guess, one in zip(guesses, samples, strict=True)}
    people = max(
        (filled[kind] for kind in (ColumnKind.SURNAME, ColumnKind.NAME) if kind in filled), default=1
    )
    firms = filled.get(ColumnKind.COMPANY, 0)
    return firms > _HARDLY and people + firms <= _EITHER


def _choose_id(guesses: list[Guess], samples: Sequence[Sample]) -> list[Guess]:
    """One column names the records: of those whose cells are all different the first that is called so, or
    else the first that looks so."""
    ids = [i for i, guess in enumerate(guesses) if guess.kind is ColumnKind.ID and samples[i].names_rows]
    named = [i for i in ids if ColumnKind.ID in kinds_by_name(guesses[i].column)]
    chosen = next(iter([*named, *ids]), None)
    found = []
    for place, guess in enumerate(guesses):
        if guess.kind is ColumnKind.ID and place != chosen:
            guess = (
                guess.left_out("another column names the records", ColumnKind.IDENTIFIER)
                if place in ids
                else guess.left_out(f"it cannot name records: {samples[place].clash or _CLASH}", guess.kind)
            )
        found.append(guess)
    return found


def _keep_once(guesses: list[Guess]) -> list[Guess]:
    """Of a type that stands once in an agreement, the column with the most usual name for it; of those that
    merely look so, the first."""
    once = [guess for guess in guesses if guess.kind not in SEVERAL and guess.kind is not ColumnKind.SKIP]
    chosen = {
        kind: min(
            (guess for guess in once if guess.kind is kind),
            key=lambda guess: unusual(guess.column, guess.kind),
        )
        for kind in {guess.kind for guess in once}
    }
    return [
        guess.left_out(f"another column is taken for {guess.kind}", guess.kind)
        if chosen.get(guess.kind, guess) is not guess
        else guess
        for guess in guesses
    ]


def _name_once(guesses: list[Guess]) -> list[Guess]:
    """Of columns that would be called alike, the first is."""
    seen: set[str] = set()
    found = []
    for guess in guesses:
        found.append(replace(guess, name="") if guess.name in seen else guess)
        seen.add(guess.name)
    return found
