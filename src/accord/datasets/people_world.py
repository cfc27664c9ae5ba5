"""Who lives where, and by what name: people in households, before anything is written down wrongly.

A household shares an address, a line and mostly a surname. Its first member is an adult, a second is often
the first one's partner, the others are children, who are younger than the first by 18 to 38 years. Some
children are twins: one birth date, other given names. All is drawn at once, an array a property; a person's
household is a number, and what belongs to households is drawn by household and looked up.

Places are invented: a city has a region, its area code and its postcodes, more of them if it is larger. Phone
numbers have area codes from 100 to 199, which are nobody's, and mail goes to `.example`.

Names and frequencies are those of the US census of 1990 (`accord.fields.census`). The lists have the
given names of nine tenths of all people and the surnames of four fifths. What the others have goes to the
rarer half of the lists, so that frequent names are as frequent as they were. Nicknames, what people are
called instead, are our own list.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from accord.fields.cardinality import Cardinality, count_values
from accord.fields.census import EVERYBODY, NameKind, census_names

Text = NDArray[np.bytes_]
"""Lower-case ASCII of a fixed width: a row is a record, and its letters are a row of a matrix of octets."""

WIDTH = 24
_NICKNAMES = """
abigail abby gail; abraham abe; albert al bert; alexander alex sandy; alexandra alex sandra; alfred al fred;
alice ally; amanda mandy; andrea andie; andrew andy drew; angela angie; ann annie; anna annie; anthony tony;
antonio tony; arthur art; barbara barb babs; benjamin ben benny; bernard bernie; beverly bev; brenda bren;
bradley brad; caroline carrie lina; carolyn carol lynn; catherine cathy kate cat; charles charlie chuck;
charlotte lottie; christian chris; christina chris tina; christine chris tina; christopher chris kit;
clarence clare; clifford cliff; cynthia cindy; daniel dan danny; david dave davy; deborah deb debbie;
debra deb debbie; dennis denny; diana di; diane di; dolores lola; donald don donnie; dorothy dot dottie;
douglas doug; edward ed eddie ted; edwin ed; eleanor ellie nell; elizabeth liz beth betty; emily em;
emma em; ernest ernie; eugene gene; evelyn evie; florence flo; frances fran; francis frank; franklin frank;
frederick fred freddie; gabriel gabe; gary gaz; george georgie; gerald gerry jerry; gertrude trudy;
gloria glo; gregory greg; harold harry hal; heather hettie; helen nell; henry hank harry; howard howie;
isaac ike; jacob jake; jacqueline jackie; james jim jimmy; janet jan; jason jay; jeffrey jeff;
jennifer jen jenny; jeremy jerry; jessica jess jessie; joan joanie; johnathan john; john johnny jack;
jonathan jon; joseph joe joey; josephine jo josie; joshua josh; joyce joy; juan john; judith judy;
julia julie; karen kari; katherine kathy kate kay; kathleen kathy kat; kathryn kathy kate; kenneth ken kenny;
kevin kev; kimberly kim; larry laurie; laura laurie; lawrence larry; leonard len lenny; leslie les;
lillian lily; linda lindy; louis lou; louise lou; manuel manny; margaret maggie peg meg; maria mary;
marilyn lynn; martha marty; martin marty; marvin marv; mary molly polly; matthew matt; melissa missy mel;
melvin mel; michael mike mick; michelle shelly; mildred millie; mitchell mitch; nancy nan; nathan nate;
nathaniel nate; nicholas nick nicky; nicole nicky; norman norm; oliver ollie; pamela pam; patricia pat patty;
patrick pat paddy; pauline polly; peter pete; philip phil; phillip phil; phyllis phyl; rachel rae;
ralph ralphie; randall randy; raymond ray; rebecca becky; reginald reggie; richard rick dick richie;
robert bob rob bobby; roberta bobbie; roger rodge; ronald ron ronnie; rosemary rose; russell russ;
ruth ruthie; samantha sam; samuel sam sammy; sandra sandy; sarah sally; sharon shari; sheila shel;
shirley shirl; stanley stan; stephanie steph; stephen steve; steven steve; stuart stu; susan sue susie;
suzanne sue; sylvia syl; teresa terry tess; theodore ted teddy; theresa terry tess; thomas tom tommy;
timothy tim; valerie val; veronica ronnie; victor vic; victoria vicky tori; vincent vince; virginia ginny;
walter walt wally; wanda wendy; warren ren; wesley wes; william bill will billy; zachary zach
"""
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Days = NDArray[np.datetime64]

TODAY = np.datetime64("2025-12-31")
MAIL_WIDTH = 48
FIRST_BIRTH = np.datetime64("1920-01-01")
_YEAR = 365.25
_SIZES = np.array([0.28, 0.34, 0.16, 0.14, 0.06, 0.02])
"""Households of 1 to 6 people."""
_COUPLES, _ONE_SURNAME, _TWINS, _MIDDLE, _MOBILE = 0.8, 0.85, 0.06, 0.8, 0.5
_STEEP = 1.3
_ADULT, _TEEN = 18, 12
_HEADS = """
ash beck bir brad brook bur cal chest clay col dal dun east elm fair glen ham hart hol kings lang mar mid
new nor oak pen rad red sher stan stock sut thorn wal war west whit wood
"""
_TAILS = "bury bridge by combe dale den field ford ham hurst ley minster mouth port stead ton wick worth"
_STREETS = """
main church high park oak maple cedar pine elm washington lake hill walnut spring north south east west
ridge willow lincoln jackson mill river adams cherry highland forest madison jefferson center franklin
chestnut meadow sunset laurel dogwood college garden spruce locust poplar prospect victoria station school
green queen king george albert york windsor grove birch hickory valley orchard mulberry bay market water
bridge front union court liberty pleasant summit central railroad broad canal clinton monroe hamilton
lafayette magnolia juniper cypress sycamore aspen hawthorn holly ivy rose lilac heather juno harbor ocean
beach island cliff canyon mountain prairie
"""
_WAYS = "street road avenue lane drive court place way"
_DOMAINS = "mail post inbox letters web mynet home office quick blue"


@dataclass(frozen=True)
class Names:
    """Names of one kind, the most frequent first."""

    texts: Text
    shares: NDArray[np.float64]

    def draw(self, rng: np.random.Generator, count: int) -> NDArray[np.int64]:
        """So many names, as places in the list."""
        return np.searchsorted(np.cumsum(self.shares), rng.random(count), "right").clip(
            max=len(self.texts) - 1
        )

    def first(self, count: int | None) -> Names:
        """The most frequent of them, or all."""
        if count is None:
            return self
        return Names(self.texts[:count], _cut(self.shares, count))


def _cut(shares: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """The shares of the first: where there are few values, the common ones are still more common."""
    steep = shares[:count] ** _STEEP
    return np.asarray(steep / steep.sum())


@cache
def census() -> dict[str, Names]:
    """By kind: `female` and `male` given names, and `surname`s."""
    kinds: tuple[NameKind, ...] = get_args(NameKind)
    return {kind: _names(census_names(kind)) for kind in kinds}


def _names(counts: Mapping[str, int]) -> Names:
    shares = np.array(list(counts.values())) / EVERYBODY
    rare = len(shares) // 2
    shares[rare:] += (1 - shares.sum()) / (len(shares) - rare)
    return Names(np.array(list(counts), f"S{WIDTH}"), shares)


@cache
def nicknames() -> tuple[Text, Text]:
    """Names in order, and beside each its nicknames; a name with few has them several times."""
    listed = sorted(line.split() for line in _NICKNAMES.split(";"))
    most = 6  # a multiple of 1, 2 and 3: each nickname of a name is as likely as the others
    return (
        np.array([name for name, *_ in listed], f"S{WIDTH}"),
        np.array([(short * most)[:most] for _, *short in listed], f"S{WIDTH}"),
    )


@dataclass
class People:
    """One array a property, all of one length. Texts are lower case; a text that is not there is empty."""

    given: Text
    middle: Text
    surname: Text
    female: Flags
    birth: Days
    street: Text
    city: Text
    postcode: Text
    phone: Text
    email: Text
    maiden: Text
    """The surname before a marriage; empty where there was none."""
    mobile: Flags
    """Whose phone is one's own, not the household's."""
    household: Ints
    twin: Flags
    """Born with the person before."""

    def __len__(self) -> int:
        return len(self.given)

    def take(self, rows: Ints) -> People:
        return People(**{name: column[rows] for name, column in vars(self).items()})


@dataclass(frozen=True)
class Variety:
    """How many different names and places there are, the most frequent ones; None for all."""

    given: int | None = None
    surname: int | None = None
    city: int | None = None
    postcode: int | None = None


_MANY = 1_000_000
VARIED = frozenset(one.name for one in fields(Variety))


def variety_of(classes: Mapping[str, Cardinality]) -> Variety:
    """As much as their classes say of columns with these names."""
    return Variety(
        **{
            name: count_values(declared, _MANY)
            for name, declared in classes.items()
            if name in VARIED and declared in ("few", "hundreds")
        }
    )


def draw_people(rng: np.random.Generator, count: int, variety: Variety = Variety()) -> People:
    """So many people; the last household may lack some."""
    home, place, size = _households(rng, count)
    homes = int(home[-1]) + 1
    couple = rng.random(homes) < _COUPLES
    adult = (place == 0) | ((place == 1) & couple[home])
    birth, twin = _births(rng, home, place, size, adult)
    female = rng.random(count) < 0.505
    # Mostly a woman and a man.
    partner = np.flatnonzero(adult & (place == 1))
    female[partner] = female[partner - 1] ^ (rng.random(len(partner)) < 0.98)
    lists = _lists(variety)
    given = _given(rng, lists, female)
    given[twin] = _another(given, lists, np.flatnonzero(twin), female)
    middle = np.where(rng.random(count) < _MIDDLE, _texts(_given(rng, lists, female), lists, female), b"")
    surname, maiden = _surnames(rng, lists["surname"], home, adult & (place == 1), female)
    places = draw_addresses(rng, homes, variety)
    own = adult & (rng.random(count) < _MOBILE)
    phone = np.where(own, mobiles(rng, count), places.line[home])
    texts = _texts(given, lists, female)
    ages = (TODAY - birth).astype(np.int64) / _YEAR
    has = rng.random(count) < np.where(ages < _TEEN, 0, np.where(ages < _ADULT, 0.4, 0.8))
    email = np.zeros(count, f"S{MAIL_WIDTH}")
    email[has] = draw_emails(rng, texts[has], surname[has], birth[has])
    return People(
        *(texts, middle, surname, female, birth, places.street[home], places.city[home]),
        *(places.postcode[home], phone, email, maiden, own, home, twin),
    )


def _households(rng: np.random.Generator, count: int) -> tuple[Ints, Ints, Ints]:
    """Of each person the household, the place in it and its size."""
    sizes = rng.choice(len(_SIZES), count, p=_SIZES) + 1
    home = np.repeat(np.arange(count), sizes)[:count]
    firsts = np.concatenate([[0], np.cumsum(sizes)])
    return home, np.arange(count) - firsts[home], sizes[home]


def _births(
    rng: np.random.Generator, home: Ints, place: Ints, size: Ints, adult: Flags
) -> tuple[Days, Flags]:
    """Birth dates, and who is born with the person before."""
    count = len(home)
    alone = 20 + 70 * rng.beta(1.6, 1.8, count)
    parent = 24 + 34 * rng.beta(1.8, 1.8, count)
    age = np.where(size > 2, parent, alone)
    first = np.arange(count) - place
    age = np.where(adult & (place == 1), np.clip(age[first] + rng.normal(0, 4, count), _ADULT, 95), age)
    child = age[first] - rng.uniform(18, 38, count)
    # Who would not be born yet has parents that are young, and is young.
    child = np.where(child < 0, rng.uniform(0, 6, count), child)
    age = np.where(adult, age, child)
    birth = TODAY - (age * _YEAR).astype(np.int64)
    siblings = ~adult & (place > 0)
    siblings[1:] &= ~adult[:-1]
    twin = siblings & (rng.random(count) < _TWINS)
    # Of three in a row the third is a sibling only: each twin has the birth date of one who is none.
    twin[1:] &= ~twin[:-1]
    birth[twin] = birth[np.flatnonzero(twin) - 1]
    return birth, twin


def _lists(variety: Variety) -> dict[str, Names]:
    """As `census`, of so much variety."""
    most = {"surname": variety.surname, "female": variety.given, "male": variety.given}
    return {kind: names.first(most[kind]) for kind, names in census().items()}


def _given(rng: np.random.Generator, lists: Mapping[str, Names], female: Flags) -> Ints:
    """Places in the list of one's sex."""
    found = np.empty(len(female), np.int64)
    for kind, whose in (("female", female), ("male", ~female)):
        found[whose] = lists[kind].draw(rng, int(whose.sum()))
    return found


def _another(given: Ints, lists: Mapping[str, Names], twins: Ints, female: Flags) -> Ints:
    """The twins' names; one that the other twin has, too, becomes the next of the list."""
    sizes = np.where(female[twins], len(lists["female"].texts), len(lists["male"].texts))
    same = (given[twins] == given[twins - 1]) & (female[twins] == female[twins - 1])
    return np.where(same, (given[twins] + 1) % sizes, given[twins])


def _texts(given: Ints, lists: Mapping[str, Names], female: Flags) -> Text:
    texts = [lists[kind].texts[given.clip(max=len(lists[kind].texts) - 1)] for kind in ("male", "female")]
    return np.where(female, texts[1], texts[0])


def _surnames(
    rng: np.random.Generator, names: Names, home: Ints, partner: Flags, female: Flags
) -> tuple[Text, Text]:
    """Surnames, mostly the household's, and those that women had before they married."""
    shared = names.texts[names.draw(rng, int(home[-1]) + 1)][home]
    own = names.texts[names.draw(rng, len(home))]
    one = rng.random(len(home)) < _ONE_SURNAME
    surname = np.where(partner & ~one, own, shared)
    married = partner | np.append(partner[1:], False)
    maiden = np.where(married & female & one & (own != surname), own, b"")
    return surname, maiden


@dataclass(frozen=True)
class Addresses:
    """Where households live, and their line."""

    street: Text
    city: Text
    postcode: Text
    line: Text


@cache
def _cities() -> tuple[Text, Ints, Ints, NDArray[np.float64]]:
    """Names, area codes, numbers of postcodes and shares of all households; the same for every table."""
    country = np.random.default_rng(0)
    listed = [head + tail for head in _HEADS.split() for tail in _TAILS.split() if head != tail]
    cities = country.permutation(np.array(listed, f"S{WIDTH}"))
    shares = 1 / (10 + np.arange(len(cities)))
    shares /= shares.sum()
    return cities, 100 + country.integers(0, 100, len(cities)), 1 + (shares * 2500).astype(np.int64), shares


def draw_addresses(rng: np.random.Generator, count: int, variety: Variety = Variety()) -> Addresses:
    cities, areas, codes, shares = _cities()
    if most := [one for one in (variety.city, variety.postcode) if one is not None]:
        shares = _cut(shares, min(most))
    if variety.postcode is not None:
        codes = np.full(len(codes), max(1, variety.postcode // len(shares)))
    which = np.searchsorted(np.cumsum(shares), rng.random(count), "right").clip(max=len(shares) - 1)
    postcode = 100 * (100 + which) + rng.integers(0, codes[which], count)
    names, ways = np.array(_STREETS.split(), "S"), np.array(_WAYS.split(), "S")
    # Main Street is everywhere; long streets are rare.
    name = names[(len(names) * rng.random(count) ** 1.5).astype(np.int64)]
    way = ways[(len(ways) * rng.random(count) ** 2).astype(np.int64)]
    number = rng.geometric(1 / 60, count).clip(max=999)
    street = join(_figures()[number], b" ", name, b" ", way)
    return Addresses(street, cities[which], _digits(postcode, 5), _numbers(rng, areas[which]))


def mobiles(rng: np.random.Generator, count: int) -> Text:
    """Numbers of one's own."""
    return _numbers(rng, np.full(count, 177))


def _numbers(rng: np.random.Generator, areas: Ints) -> Text:
    return _digits(areas * 10_000_000 + rng.integers(2_000_000, 10_000_000, len(areas)), 10)


@cache
def _figures() -> Text:
    """The numbers below 1,000 as texts."""
    return np.arange(1000).astype("S3")


def _digits(numbers: Ints, width: int) -> Text:
    """Numbers of so many digits as texts."""
    digits = numbers[:, None] // 10 ** np.arange(width - 1, -1, -1) % 10
    return pad((digits + ord("0")).astype(np.uint8).view(f"S{width}").reshape(len(numbers)))


def draw_emails(rng: np.random.Generator, given: Text, surname: Text, birth: Days) -> Text:
    """Addresses made of the name and mostly some figures, at some host."""
    count, given, surname = len(given), given.astype("S11"), surname.astype("S13")
    figures, year = _figures(), birth.astype("datetime64[Y]").astype(np.int64) % 100
    ways = [
        join(given, b".", surname),
        join(given, b".", surname, figures[year]),
        join(given.astype("S1"), surname, figures[rng.integers(1, 1000, count)]),
        join(surname, b".", given, figures[rng.integers(1, 100, count)]),
    ]
    local = np.choose(rng.choice(len(ways), count, p=[0.2, 0.3, 0.3, 0.2]), ways)
    domains = np.array(_DOMAINS.split(), "S8")
    return join(
        local, b"@", domains[(len(domains) * rng.random(count) ** 1.5).astype(np.int64)], b".example"
    ).astype(f"S{MAIL_WIDTH}")


def join(*parts: Text | bytes) -> Text:
    """Texts one after the other, with room for errors to make them longer."""
    text = np.asarray(parts[0])
    for part in parts[1:]:
        text = np.char.add(text, np.asarray(part))
    return pad(text)


def pad(text: Text) -> Text:
    return text.astype(f"S{max(WIDTH, text.dtype.itemsize + 2)}")
