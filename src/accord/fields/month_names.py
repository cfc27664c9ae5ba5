"""Months in words: how twelve languages write them, for dates such as `3 de mayo de 1980` and `3. Mai 1980`.

A word means the same month in every language that has it, so nobody need say which language a table is in.
Long names are read as English long ones and short ones as short ones, which the formats of dates tell apart.
"""

from __future__ import annotations

import re
from calendar import month_abbr, month_name
from unicodedata import normalize

_LONG = """
januar januari janvier enero gennaio janeiro stycznia styczen ledna leden januara
februar februari fevrier febrero febbraio fevereiro lutego luty unora unor februara
marz maerz maart mars marzo marco marca marzec brezna brezen marcius marts
abril avril april aprile kwietnia kwiecien dubna duben aprila aprilis
mai mei mayo maggio maio maja maj kvetna kveten majus
juni juin junio giugno junho czerwca czerwiec cervna cerven juna junius
juli juillet julio luglio julho lipca lipiec cervence cervenec jula julius
august augustus augusti aout agosto sierpnia sierpien srpna srpen augusta augusztus
september septembre septiembre setiembre settembre setembro wrzesnia wrzesien zari septembra szeptember
oktober octobre octubre ottobre outubro pazdziernika pazdziernik rijna rijen oktobra
november novembre noviembre novembro listopada listopad listopadu novembra
dezember december decembre diciembre dicembre dezembro grudnia grudzien prosince prosinec decembra desember
"""
_SHORT = """
jan janv ene gen sty
feb febr fev fevr lut
mar mrz mrt
apr abr avr kwi
mai mei may mag maj
jun giu cze
jul juil lug lip
aug ago aou sie
sep sept set wrz
okt oct ott out paz
nov lis
dez dec dic gru
"""


def _months(lines: str, names: list[str]) -> dict[str, str]:
    by_month = enumerate(lines.strip().splitlines(), start=1)
    return {word: names[month] for month, line in by_month for word in line.split()}


_ENGLISH = _months(_LONG, [*month_name]) | _months(_SHORT, [*month_abbr])
# Of four letters or fewer, whole words in some languages and short ones in others: both formats read May.
_WORD = re.compile(r"([^\W\d_]{3,})\.?")
_FIRST = re.compile(r"^1(?:er|[º°ª])(?=\s)")
_ACCENTS = re.compile("[\u0300-\u036f]")


def in_english(text: str) -> str:
    """A date with the month's name in English; what is no month's name stays."""
    return _WORD.sub(_translate, _FIRST.sub("1", text))


def _translate(found: re.Match[str]) -> str:
    bare = _ACCENTS.sub("", normalize("NFD", found[1].casefold()))
    return _ENGLISH.get(bare, found[0])
