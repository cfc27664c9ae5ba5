"""Numbers as a reader wants them: few digits, no +0, a range only where there is one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from reproduction.sweep import Row


def joined(parts: Iterable[str]) -> str:
    """a, b and c."""
    found = list(parts)
    return " and ".join([", ".join(found[:-1]), found[-1]] if len(found) > 1 else found)


def plain(value: float) -> str:
    """Three digits, written out: 125,000 and 13.7 and 0.0456."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    digits = 2 - math.floor(math.log10(abs(value)))
    return f"{round(value, digits):,.{max(0, digits)}f}"


def power(value: float) -> str:
    """Two digits and a power of ten: 2.4e7 and 1e-5."""
    if value == 0:
        return "0"
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{float(mantissa):g}e{int(exponent)}"


def share(value: float) -> str:
    """A share in per cent, two digits: 0.012 % and 14 %."""
    if value == 0:
        return "0 %"
    digits = 1 - math.floor(math.log10(abs(100 * value)))
    return f"{round(100 * value, digits):.{max(0, digits)}f} %"


def span(values: Sequence[float]) -> str:
    """From the least to the largest, rounded down to three digits, so that no recall below 1 is called 1."""
    words = [f"{math.floor(value * 1_000) / 1_000:g}" for value in (min(values), max(values))]
    return words[0] if words[0] == words[1] else " to ".join(words)


def percent(value: float) -> str:
    """A whole number of per cent."""
    return f"{100 * value:.0f} %"


def than(pairs: Iterable[tuple[float, float]], less: str) -> str:
    """How far values lie under their bases, or over: '45 %, 37 % and 27 % fewer'."""
    changes = [1 - value / base for value, base in pairs]
    if min(changes) >= 0:
        return f"{joined(percent(change) for change in changes)} {less}"
    return joined(f"{percent(abs(change))} {less if change >= 0 else 'more'}" for change in changes)


def times_less(value: float, base: float) -> str:
    """How many times a value lies under its base, or over: '13.7 times less', '2.00 times more'."""
    return f"{plain(base / value)} times less" if value <= base else f"{plain(value / base)} times more"


def runs(rows: Sequence[Row]) -> str:
    """How many runs the rows are means of: 'one run', '10 or 100 runs'."""
    counts = sorted({int(row["runs"]) for row in rows})
    return "one run" if counts == [1] else f"{' or '.join(str(count) for count in counts)} runs"
