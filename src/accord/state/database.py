"""The state of an installation: what its log adds up to, read anew as far as it has grown, and added to.

A process keeps the sum (register.py) from one transaction to the next, so that each reads only what came
since; where anything is raised while it is added to, it is summed up again from the beginning.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from accord.errors import DamagedError
from accord.state.log import Log, Transaction
from accord.state.register import LogEntry, Register, RunForgotten, encode_entry


class Database:
    """The database in a state folder."""

    def __init__(self, folder: Path) -> None:
        self._log = Log(folder)
        self._register = Register()

    @property
    def path(self) -> Path:
        return self._log.path

    @contextmanager
    def reading(self) -> Iterator[Reading]:
        """What is there at one moment."""
        with self._log.reading() as transaction:
            yield Reading(transaction, self._catch_up(transaction))

    @contextmanager
    def writing(self) -> Iterator[Writing]:
        """What is there, to be added to by nobody else meanwhile."""
        try:
            with self._log.writing() as transaction:
                yield Writing(transaction, self._catch_up(transaction))
        except BaseException:
            # What was added to the sum may not be in the log.
            self._register = Register()
            raise

    def copy(self, path: Path) -> None:
        """The database as it is at one moment, as a file."""
        self._log.copy(path)

    def _catch_up(self, transaction: Transaction) -> Register:
        register = self._register
        number = register.position.number
        try:
            for number, _, body in transaction.entries(register.position):  # noqa: B007
                register.take(body)
            # Where the entries were seen to end.
            register.position = transaction.head
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            self._register = Register()
            reason, mend = f"entry {number:,} of its log is none", "No version of Accord wrote it."
            raise DamagedError(path=self.path, reason=reason, mend=mend) from None
        except BaseException:
            # Some entries are in the sum, and its position does not say so.
            self._register = Register()
            raise
        return register


class Reading:
    """The state at one moment."""

    def __init__(self, transaction: Transaction, register: Register) -> None:
        self._transaction, self.register = transaction, register

    def content(self, digest: str, what: str) -> bytes:
        """A content; `what` it is, in words. Raises `DamagedError` unless it is what was kept."""
        return self._transaction.content(digest, what)

    def has(self, link: bytes) -> bool:
        """Whether the log has, or had at its end, this link: if not, it is an older copy, or another."""
        return self._transaction.has(link)


class Writing(Reading):
    """The same, to be added to."""

    def __init__(self, transaction: Transaction, register: Register) -> None:
        super().__init__(transaction, register)
        self._kept: set[str] = set()

    def add(self, entry: LogEntry) -> None:
        """Add an entry. What no entry names from then on is gone."""
        register = self.register
        before = register.contents().keys() if isinstance(entry, RunForgotten) else ()
        register.apply(entry)
        register.position = self._transaction.add(register.position, encode_entry(entry))
        if before:
            for digest in before - register.contents().keys():
                self._transaction.drop(digest)

    def keep(self, content: bytes) -> str:
        """Keep a content for an entry to name, by the digest that this gives."""
        digest = self._transaction.keep(content, lambda: self.register.contents().keys() | self._kept)
        self._kept.add(digest)
        return digest
