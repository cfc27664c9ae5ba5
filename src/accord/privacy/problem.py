"""Output-constrained differential privacy as a problem: what comes out, and so which tables are neighbours.

An owner has one of some *tables*, multisets of records. The function f of it, the partner's table being fixed
inside, is told exactly. Tables D and D' are *f-neighbours* [HMFS17, §3.1; MATHS §1.3] if

    (1) f(D) = f(D'),    (2) Δ(D, D') ≠ ∅,
    (3) there is no other table D'' with f(D'') = f(D) and ∅ ≠ Δ(D, D'') ⊂ Δ(D, D')

where Δ is the difference of multisets: each copy of a record counts. What is released besides f must be
nearly the same for neighbours (`mechanism.py`). Both of the definitions that this one lies between are here:

    differential privacy    is the case of an f that tells nothing; of f = len, if sizes are public
    IND-S2PC                joins any two tables with the same f, and promises ε = 0

All is by the definition and lists every table: for small cases, to check what was proved and to find what is
not true. Nothing here knows of linkage.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, combinations_with_replacement
from typing import Any

from accord.errors import UsageError

Record = Any
"""Whatever can be hashed."""
Table = tuple[Record, ...]
"""A multiset: of the orders in which its records could stand, a problem has one."""
Copies = frozenset[tuple[Record, int]]


def all_tables(universe: Iterable[Record], *sizes: int, repeats: bool = True) -> tuple[Table, ...]:
    """Every table of these sizes with records of the universe; without `repeats` the tables are sets."""
    if not sizes or not all(isinstance(size, int) and size >= 0 for size in sizes):
        raise UsageError(problem="The sizes of tables must be whole numbers from 0 on, and at least one.")
    records = tuple(dict.fromkeys(_hashable(tuple(universe), "Records")))
    choose = combinations_with_replacement if repeats else combinations
    return tuple(table for size in dict.fromkeys(sizes) for table in choose(records, size))


def _hashable(value: Any, what: str) -> Any:
    try:
        hash(value)
    except TypeError:
        raise UsageError(problem=f"{what} must be hashable: numbers, texts or tuples, no lists.") from None
    return value


def difference(one: Table, two: Table) -> Copies:
    """Δ: the copies of records that only one of two tables has, each with its number."""
    return _copies(one) ^ _copies(two)


def _copies(table: Table) -> Copies:
    return frozenset((record, copy) for record, count in Counter(table).items() for copy in range(count))


@dataclass(frozen=True)
class Graph:
    """Tables, and which two are neighbours; an edge stands once, in the order of the tables."""

    tables: tuple[Table, ...]
    edges: tuple[tuple[Table, Table], ...]

    @cached_property
    def beside(self) -> dict[Table, tuple[Table, ...]]:
        """The neighbours of each table."""
        found: dict[Table, list[Table]] = {table: [] for table in self.tables}
        for one, two in self.edges:
            found[one].append(two)
            found[two].append(one)
        return {table: tuple(others) for table, others in found.items()}

    def distances(self, table: Table) -> dict[Table, int]:
        """How many steps away each table is that can be reached: g steps cost what a group of g costs."""
        found, reached = {table: 0}, [table]
        for here in reached:
            for there in self.beside[here]:
                if there not in found:
                    found[there] = found[here] + 1
                    reached.append(there)
        return found

    def components(self) -> set[frozenset[Table]]:
        """The tables that can be reached from each other. Tables of two components may be told apart."""
        left, found = dict.fromkeys(self.tables), set()
        while left:
            reached = self.distances(next(iter(left)))
            found.add(frozenset(reached))
            for table in reached:
                del left[table]
        return found


@dataclass(frozen=True)
class Problem:
    """f, and all tables that its owner may have."""

    output: Callable[[Table], Hashable]
    """What the partner is told of a table exactly. Where tables differ in size, it should say the size."""
    tables: tuple[Table, ...]

    def __post_init__(self) -> None:
        # Whatever lists them: a generator would be empty at the second look, and nobody had neighbours.
        tables = tuple(_hashable(tuple(table), "Records") for table in self.tables)
        if len({_copies(table) for table in tables}) < len(tables):
            raise UsageError(problem="Two of the tables hold the same records: a table has no order.")
        object.__setattr__(self, "tables", tables)

    @cached_property
    def classes(self) -> dict[Hashable, tuple[Table, ...]]:
        """The tables by what f says of them."""
        found = defaultdict(list)
        for table in self.tables:
            found[_hashable(self.output(table), "What f says of a table")].append(table)
        return {output: tuple(tables) for output, tables in found.items()}

    def neighbours(self, table: Table) -> tuple[Table, ...]:
        """The f-neighbours of a table, nearest first."""
        if table not in self.tables:
            raise UsageError(problem=f"The table {table!r} is not among the tables of this problem.")
        alike = ((other, difference(table, other)) for other in self.classes[self.output(table)])
        found: dict[Table, Copies] = {}
        # By size: whatever lies between was looked at before, and itself or what lies before it was taken.
        for other, changed in sorted(alike, key=lambda some: len(some[1])):
            if changed and not any(less < changed for less in found.values()):
                found[other] = changed
        return tuple(found)

    @cached_property
    def graph(self) -> Graph:
        """All tables, and which are f-neighbours."""
        return Graph(self.tables, tuple(self._edges()))

    def _edges(self) -> Iterator[tuple[Table, Table]]:
        place = {table: number for number, table in enumerate(self.tables)}
        for one in self.tables:
            yield from ((one, two) for two in self.neighbours(one) if place[one] < place[two])

    @cached_property
    def alike(self) -> Graph:
        """All tables, and any two with the same f joined: what IND-S2PC does not let anyone tell apart."""
        pairs = (pair for tables in self.classes.values() for pair in combinations(tables, 2))
        return Graph(self.tables, tuple(pairs))
