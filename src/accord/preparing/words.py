"""The facts of a check in words, a line each: for a terminal, and for whoever prints a `Check`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from accord.exact import text
from accord.preparing.own_table import describe_layout
from accord.privacy.budget import UNCOVERED
from accord.wording import counted, tell_share


def describe(what: str, table: str, match: Sequence[str], facts: dict[str, Any]) -> str:
    """All of it; `what` is the agreement, `table` one's own, empty where there is none, `match` the lines
    that say what a match is."""
    recall = "no match is missed" if facts["complete"] else "matches may be missed"
    lines = [
        f"{what} is sound.",
        f"Digest     {facts['digest']}",
        *match,
        f"Blocking   {_blocking(facts['bins'], facts['passes'])}; {recall}",
        f"Protocol   {facts['protocol']}",
        *_describe_promise(facts),
    ]
    if facts["answer"] is not None:
        lines.append(f"Answer     {facts['answer']['words']}")
    if table:
        read = facts["data"]
        skipped = f", {read['left_out']:,} of them left out" if read["left_out"] else ""
        lines.append(f"Data       {table} fits: {counted(read['records'], 'record')}{skipped}")
        lines += _tell_owner(read, "bin" if facts["bins"] else "key")
        lines += [f"File       {words}"] if (words := describe_layout(facts["layout"])) else []
        lines += [line for name, shown in facts.get("shown", {}).items() for line in _show(name, shown)]
    if "expected" in facts:
        lines += _expected(facts["expected"])
    return "\n".join([*lines, *describe_learned(facts)])


def _describe_promise(facts: dict[str, Any]) -> list[str]:
    """ε and δ with their condition, once if both sides have the same promise."""
    words = {side: one["words"] for side, one in facts["promise"].items()}
    if words["A"] == words["B"]:
        return [f"Promise    {words['A']}"]
    return [f"Promise    to {facts['parties'][side]} ({side}): {words[side]}" for side in words]


def _expected(facts: dict[str, Any]) -> list[str]:
    """What a run takes, and the one warning that matters most."""
    warning = facts["warning"]
    told = [f"Warning    {warning['text']}"] if warning is not None else []
    return [f"Expected   {facts['words']}", *told]


def _blocking(bins: int, passes: int) -> str:
    """How much there is of it; routing has keys and no bins."""
    if not bins:
        return "keys" if passes == 1 else f"keys of {passes} passes"
    return f"{counted(bins, 'bin')} of {passes} passes" if passes > 1 else counted(bins, "bin")


def _tell_owner(read: dict[str, Any], by: str) -> list[str]:
    """Why rows were left out, which are never compared, and how many people there are: for the owner, since
    no partner learns it. `by`: what a row is compared by, a bin or a key."""
    lines = [
        f"Left out   {_rows(one['rows'])}: '{one['field']}' is {one['reason']}" for one in read["left_out_by"]
    ]
    lines += [
        f"Unread     {_rows(one['rows'])}: '{one['column']}' {one['reason']}, and counts as empty"
        for one in read["unread"]
    ]
    if read["in_no_bin"]:
        each = [f"{_rows(rows)} in none of '{name}'" for name, rows in read["in_no_bin_of"].items() if rows]
        of = f" ({', '.join(each)})" if len(read["in_no_bin_of"]) > 1 else ""
        lines.append(f"No {by}     {_rows(read['in_no_bin'])} without a value to compare by{of}")
    elif any(read["in_no_bin_of"].values()):
        lacks, has = ("in no bin", "is in some bin") if by == "bin" else ("without a key", "has some key")
        each = [f"{_rows(rows)} {lacks} of '{name}'" for name, rows in read["in_no_bin_of"].items() if rows]
        lines.append(f"No {by}     {', '.join(each)}; every row {has}")
    if any(read["uncovered_of"].values()):
        stops = ""
        if read["uncovered"] > UNCOVERED * read["records"]:
            stops = (
                f" A run does not start above {text(100 * UNCOVERED)} %, unless you allow it (`uncovered=`)."
            )
        lines.append(
            f"Uncovered  {tell_share(read['uncovered'], read['records'])}: the promise does not hold for "
            f"them.{stops} A larger cap or a finer key in the agreement helps, see `accord plan`"
        )
    elif read["uncovered_of"]:
        lines.append(f"Covered    all {_rows(read['records'])}")
    for one in read.get("over_cap", ()):
        uncovered = read["uncovered_of"][one["pass"]]
        shared = f"{_rows(uncovered)} share a key with {one['cap']} or more others; " if uncovered else ""
        lines.append(f"Over cap   {one['pass']}: {shared}{_rows(one['rows'])} without a place")
    if "people" in read:
        most = read["most_records_of_a_person"]
        people = "person" if read["people"] == 1 else "people"
        lines.append(f"People     {read['people']:,} {people}; at most {counted(most, 'record')} each")
    return lines


def _show(name: str, shown: dict[str, Any]) -> list[str]:
    """Values before and after, a line each."""
    lines = ["", f"{name}, made of {' and '.join(shown['from'])}; it becomes {shown['encoded']}:"]
    for one in shown["values"]:
        before = " + ".join("(empty)" if cell is None else f"'{cell}'" for cell in one["before"])
        after = "missing" if one["after"] is None else f"'{one['after']}'"
        lines.append(f"  {before} → {after}")
    return lines


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"


def describe_learned(facts: dict[str, Any]) -> list[str]:
    """The lines that say who learns what, and what is worth knowing."""
    lines, names = [], facts["parties"]
    for side, other in (("A", "B"), ("B", "A")):
        lines += ["", f"What {names[other]} ({other}) will learn about the table of {names[side]} ({side}):"]
        lines += [f"  - {line}" for line in facts["learned_about"][side]]
    lines += ["", facts["condition"]]
    if facts["advice"]:
        lines += ["", "Worth knowing:", *(f"  - {line}" for line in facts["advice"])]
    return lines
