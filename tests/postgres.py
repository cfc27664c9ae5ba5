"""A PostgreSQL server for tests: the distribution's own binaries, on a free port of this machine, in a folder
that is gone afterwards.

PostgreSQL does not run as root, so where the tests do it runs as `postgres` or as nobody. Whoever connects
needs a password, which is in a password file and nowhere else, and a service, which is in a service file:
`Server.use` shows both to libpq. It is started by the first test that asks for it, in each process of tests.
"""

from __future__ import annotations

import ctypes
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.cli.terminal import free_port

_OWNER = "owner"
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "fsync": "off",
    "full_page_writes": "off",
    "shared_buffers": "16MB",
    "max_connections": "20",
    "max_wal_senders": "0",
    "wal_level": "minimal",
    "autovacuum": "off",
    "jit": "off",
    "log_min_messages": "fatal",
}
_PATIENCE = 60.0
_DEATH = 1
"""PR_SET_PDEATHSIG."""


def binaries() -> Path | None:
    """The folder of the newest server that the distribution installed."""
    found = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    if found:
        return max(found, key=lambda path: float(path.parent.name))
    elsewhere = shutil.which("initdb")
    return Path(elsewhere).resolve().parent if elsewhere else None


@dataclass
class Server:
    """A server, running or stopped; `service` is what its owner connects by, with every right."""

    bin: Path
    folder: Path
    password: str = field(default_factory=lambda: secrets.token_hex(16), repr=False)
    port: int = 0
    service: str = _OWNER
    _process: subprocess.Popen[Any] | None = None

    @property
    def services(self) -> Path:
        return self.folder / "services"

    @property
    def passwords(self) -> Path:
        return self.folder / "passwords"

    def create(self) -> None:
        """An empty cluster."""
        self._own(self.folder)
        secret = self.folder / "first"
        self._write(secret, self.password)
        given = ("-D", "data", "-U", _OWNER, "--pwfile", "first", "--auth=scram-sha-256", "--no-sync")
        self._run("initdb", *given, "--locale=C", "--encoding=UTF8", "--no-instructions")
        secret.unlink()

    def start(self) -> None:
        """Listen; on another port if somebody took the one that was free."""
        for _ in range(5):
            self.port = self.port or free_port()
            if self._is_started():
                return
            self.port = 0
        raise AssertionError(f"no server: {(self.folder / 'log').read_text()}")

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """End it: at once with SIGQUIT, as after a crash."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(_PATIENCE)
            self._process = None

    def add_service(
        self,
        name: str,
        *more: str,
        user: str = _OWNER,
        database: str = "postgres",
        password: str | None = None,
    ) -> str:
        """A service for libpq, with `more` lines, and its password in the password file."""
        shown = self.password if password is None else password
        lines = ("host=127.0.0.1", f"port={self.port}", f"dbname={database}", f"user={user}")
        with self.services.open("a") as file:
            file.write("\n".join((f"[{name}]", *lines, *more)) + "\nconnect_timeout=60\n\n")
        with self.passwords.open("a") as file:
            file.write(f"127.0.0.1:{self.port}:{database}:{user}:{shown}\n")
        self.passwords.chmod(0o600)
        return name

    def add_user(self, name: str, *grants: str, database: str = "postgres") -> str:
        """A role that may log in and nothing else, but for what is granted; the service of its name."""
        password = secrets.token_hex(16)
        self.run(f"CREATE ROLE {name} LOGIN PASSWORD '{password}'", *grants, database=database)
        return self.add_service(name, user=name, database=database, password=password)

    def add_database(self) -> str:
        """A database of its own for a test; the service of its name, with every right there."""
        name = f"test_{secrets.token_hex(4)}"
        self.run(f"CREATE DATABASE {name}")
        return self.add_service(name, database=name)

    def add_schema(self) -> str:
        """A schema of its own for a test, where the service of its name finds and makes tables; quicker than
        a database."""
        name = f"test_{secrets.token_hex(4)}"
        self.run(f"CREATE SCHEMA {name}")
        return self.add_service(name, f"options=-c search_path={name}")

    def use(self, patch: pytest.MonkeyPatch) -> None:
        """Let libpq find the services, in this process and in those that it starts."""
        patch.setenv("PGSERVICEFILE", str(self.services))
        patch.setenv("PGPASSFILE", str(self.passwords))

    def run(self, *statements: str, database: str = "postgres") -> None:
        """Statements of the owner, each in a transaction of its own."""
        given = [part for statement in statements for part in ("-c", statement)]
        self._psql(given, database)

    def rows(self, query: str, database: str = "postgres") -> list[list[str]]:
        """What a query of the owner answers, as texts; no cell may hold a tab or a line break."""
        answer = self._psql(["-At", "-F", "\t", "-c", query], database)
        return [line.split("\t") for line in answer.splitlines()]

    def _psql(self, given: Sequence[str], database: str) -> str:
        place = f"host=127.0.0.1 port={self.port} user={_OWNER} dbname={database}"
        # In the environment of this one process: psql takes no password by an argument.
        typed = {"PGPASSWORD": self.password, "PATH": os.environ.get("PATH", ""), "PGOPTIONS": ""}
        command = [self._program("psql"), "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", place, *given]
        done = subprocess.run(command, env=typed, capture_output=True, text=True, timeout=_PATIENCE)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def _is_started(self) -> bool:
        options = [part for name, value in _SETTINGS.items() for part in ("-c", f"{name}={value}")]
        command = [self._program("postgres"), "-D", "data", "-p", str(self.port), *options]
        with (self.folder / "log").open("ab") as log:
            started: subprocess.Popen[Any] = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=_die_with_parent,
                **self._as(),
            )
        self._process = started
        until = time.monotonic() + _PATIENCE
        asked = [self._program("pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        while time.monotonic() < until and started.poll() is None:
            # Whether it is this one that answers is seen by its being alive: two cannot have one port.
            if subprocess.run(asked, check=False).returncode == 0 and started.poll() is None:
                return True
            time.sleep(0.02)
        self.stop(signal.SIGQUIT)
        return False

    def _run(self, program: str, *given: str) -> None:
        done = subprocess.run([self._program(program), *given], capture_output=True, text=True, **self._as())
        assert done.returncode == 0, done.stderr

    def _program(self, name: str) -> str:
        return str(self.bin / name)

    def _write(self, path: Path, content: str) -> None:
        path.write_text(content)
        path.chmod(0o600)
        self._own(path)

    def _as(self) -> dict[str, Any]:
        """Where, and as whom, the server's own programs run."""
        plain = {"cwd": self.folder, "env": {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "TZ": "UTC"}}
        if os.geteuid() != 0:
            return plain
        user = _unprivileged()
        return {**plain, "user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}

    @staticmethod
    def _own(path: Path) -> None:
        if os.geteuid() == 0:
            user = _unprivileged()
            os.chown(path, user.pw_uid, user.pw_gid)


@contextmanager
def running(bin: Path) -> Iterator[Server]:
    """A server that is stopped and removed at the end, however that comes."""
    # Not below pytest's folders: those are for their owner alone, who is another than the server's.
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="accord-postgres-", dir=memory) as folder:
        server = Server(bin, Path(folder))
        server.create()
        try:
            server.start()
            server.add_service(_OWNER)
            yield server
        finally:
            server.stop(signal.SIGQUIT)


def _unprivileged() -> pwd.struct_passwd:
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise AssertionError("no account to run a server as, other than root")


def _die_with_parent() -> None:
    """Tests that are killed stop nothing: the system stops the server then."""
    ctypes.CDLL(None).prctl(_DEATH, signal.SIGQUIT)
