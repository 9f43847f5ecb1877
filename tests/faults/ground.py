"""Servers of the suite's own, which it may stop, kill and empty: a Redis with an append-only file, and a PostgreSQL."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psycopg
import redis

from tests.ports import a_free_port
from tests.waiting import until


class UnavailableError(Exception):
    """A server's program is not installed here."""


class RedisServer:
    """A Redis as the deployment runs it: append-only file synced every second, nothing evicted."""

    def __init__(self, folder: Path) -> None:
        if shutil.which("redis-server") is None:
            raise UnavailableError("redis-server is not installed (apt-get install redis-server)")
        self._folder = folder
        self.port = a_free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        """Start it, with what its file holds."""
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self._folder), "--save", ""]
        options += ["--appendonly", "yes", "--appendfsync", "everysec", "--maxmemory-policy", "noeviction"]
        self._process = subprocess.Popen(
            ["redis-server", *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        until(self._answers)

    def kill(self) -> None:
        """SIGKILL."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def flush(self) -> None:
        """Lose everything."""
        with redis.Redis.from_url(self.url) as client:
            client.flushall()

    def close(self) -> None:
        """End it."""
        if self._process is not None and self._process.poll() is None:
            self.kill()

    def _answers(self) -> bool:
        try:
            with redis.Redis.from_url(self.url) as client:
                return bool(client.ping())
        except redis.ConnectionError:
            return False


class PostgresServer:
    """A PostgreSQL cluster that can be stopped."""

    def __init__(
        self, folder: Path, log: Path | None = None, *, max_connections: int = 200, settings: Sequence[str] = ()
    ) -> None:
        """`log`: where its write-ahead log lies, when not with the data. `settings`: more of them, `name=value`."""
        self._programs = _postgres_programs()
        self._data = folder / "data"
        self._user = "postgres" if os.geteuid() == 0 else None
        if self._user is not None:
            shutil.chown(folder, self._user)
        self.port = a_free_port()
        self.url = f"postgresql+psycopg://kernelwright@127.0.0.1:{self.port}/postgres"
        apart = []
        if log is not None:
            shutil.chown(log, self._user) if self._user is not None else None
            apart = [f"--waldir={log / 'wal'}"]
        initial = ["-D", str(self._data), "-U", "kernelwright", "-A", "trust", "--no-sync", "-E", "UTF8", *apart]
        self._run("initdb", *initial)
        settings = ("listen_addresses=127.0.0.1", f"max_connections={max_connections}", *settings)
        self._options = " ".join((f"-p {self.port} -k {folder}", *(f"-c {setting}" for setting in settings)))
        self.start()

    @property
    def data(self) -> Path:
        """Its data folder."""
        return self._data

    @property
    def address(self) -> str:
        """As psycopg takes it."""
        return f"postgresql://kernelwright@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        """Start it and wait until it answers."""
        self._run(
            "pg_ctl", "-D", str(self._data), "-o", self._options, "-w", "-s", "-l", str(self._data / "log"), "start"
        )

    def stop(self, mode: str = "immediate") -> None:
        """`immediate` is like pulling the plug."""
        self._run("pg_ctl", "-D", str(self._data), "-m", mode, "-w", "-s", "stop")

    def rows(self, query: str, *values: object) -> list[tuple[object, ...]]:
        """What a query finds."""
        with psycopg.connect(self.address, autocommit=True, connect_timeout=5) as connection:
            return connection.execute(query.encode(), values).fetchall()

    def execute(self, statement: str) -> None:
        """Run a statement."""
        with psycopg.connect(self.address, autocommit=True, connect_timeout=5) as connection:
            connection.execute(statement.encode())

    def close(self) -> None:
        """End it."""
        subprocess.run(
            [self._programs / "pg_ctl", "-D", str(self._data), "-m", "immediate", "stop"],
            user=self._user,
            capture_output=True,
            check=False,
        )

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [self._programs / program, *arguments],
            user=self._user,
            cwd="/",
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"{program}: {done.stderr.strip()[-500:]}")


def _postgres_programs() -> Path:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if found:
        return found[-1].parent
    on_path = shutil.which("initdb")
    if on_path is None:
        raise UnavailableError("PostgreSQL's programs are not installed (apt-get install postgresql)")
    return Path(on_path).parent


@contextmanager
def folder() -> Iterator[Path]:
    """A folder that other users may enter."""
    made = Path(tempfile.mkdtemp(prefix="kernelwright-faults-"))
    made.chmod(0o755)
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


@contextmanager
def redis_server() -> Iterator[RedisServer]:
    """A Redis for the time of the context."""
    with folder() as place:
        server = RedisServer(place)
        try:
            yield server
        finally:
            server.close()


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """A PostgreSQL for the time of the context."""
    with folder() as place:
        server = PostgresServer(place)
        try:
            yield server
        finally:
            server.close()


def kill(pid: int, number: signal.Signals = signal.SIGKILL) -> None:
    """Send a signal; a process that is gone already is fine."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return
