"""What statements cost a PostgreSQL, however long they wait for a core: processor time, buffers, spills."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import psycopg

from tests.faults.ground import PostgresServer

SETTINGS = ("shared_preload_libraries=pg_stat_statements", "pg_stat_statements.track=all")
"""Options that the server must be started with."""
TICK_MS = 10.0


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Of some calls, each on average."""

    HEAD: ClassVar[str] = "CPU time | buffers | spilled"

    cpu_ms: float
    """Of the server's processes for clients, and of the helpers that they had."""
    buffers: float
    """Pages of 8 KiB that were read, from memory or from disk."""
    spilled: float
    """Pages written to temporary files."""

    def __str__(self) -> str:
        return f"{self.cpu_ms:.1f} ms | {self.buffers:,.0f} | {self.spilled:,.0f}"


class CostMeter:
    """Counts from one reading to the next."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        self._connection = psycopg.connect(server.address, autocommit=True)
        self._connection.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")

    def start(self) -> None:
        """Count from here."""
        self._connection.execute("SELECT pg_stat_statements_reset()")
        self._cpu_ms = self._processor_ms()

    def read(self, calls: int) -> Cost:
        """What so many calls have cost since then."""
        cpu_ms = self._processor_ms() - self._cpu_ms
        row = self._connection.execute(_COUNTED).fetchone()
        assert row is not None
        return Cost(cpu_ms=cpu_ms / calls, buffers=row[0] / calls, spilled=row[1] / calls)

    def close(self) -> None:
        """Close the connection to the server."""
        self._connection.close()

    def _processor_ms(self) -> float:
        """Of all clients' processes that live, and of all processes that have ended."""
        living = sum(_processor_ms(pid) for (pid,) in self._connection.execute(_CLIENTS))
        first = int((self._server.data / "postmaster.pid").read_text().splitlines()[0])
        fields = Path(f"/proc/{first}/stat").read_text().rpartition(")")[2].split()
        return living + TICK_MS * (int(fields[13]) + int(fields[14]))


def _processor_ms(pid: int) -> float:
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e6
    except OSError:
        return 0.0


_COUNTED = """
SELECT coalesce(sum(shared_blks_hit + shared_blks_read), 0)::float, coalesce(sum(temp_blks_written), 0)::float
FROM pg_stat_statements WHERE toplevel AND query NOT LIKE '%pg_stat_%'
"""
_CLIENTS = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
