"""A disk that fills up: the database's, and that of an embedded installation."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import httpx

from tests.e2e.programs import SMALL, running
from tests.faults.ground import PostgresServer, UnavailableError, folder, redis_server
from tests.faults.installation import Installation, installed
from tests.ports import a_free_port
from tests.waiting import until

if TYPE_CHECKING:
    from tests.faults.rows import Tally

SIZE_MIB = 192
EMBEDDED_MIB = 24
WORDS = "disk is full or failing"
BALLAST = "ballast"


def database_disk_full(place: Installation, times: int, tally: Tally) -> str:
    """PostgreSQL's data directory has no room left; its log of changes lies on another disk."""
    del place
    with small_disk(SIZE_MIB) as disk, folder() as log, redis_server() as redis, folder() as home:
        postgres = PostgresServer(disk, log)
        try:
            with installed(home, postgres, redis) as own:
                jobs = [job for _ in range(times) for job in _filled(own, disk, tally)]
                own.check(jobs)
                _check_pages(postgres)
        finally:
            postgres.close()
    return "503 with the reason, reads go on, the database intact, every job finishes"


def _filled(place: Installation, disk: Path, tally: Tally) -> list[str]:
    assert place.client is not None
    place.orchestrators(1)
    place.workers(1)
    jobs = place.submit(3)
    until(lambda: place.open(jobs) < len(jobs), "the first job's end")
    fill(disk)
    refused = _until_refused(place.client, jobs)
    assert "disk is full" in refused.json()["detail"], refused.text
    for path in (f"/jobs/{jobs[0]}", "/jobs", f"/jobs/{jobs[0]}/log", f"/jobs/{jobs[0]}/candidates"):
        answer = place.client.get(path)
        assert answer.status_code == 200, f"{path}: {answer.text[:300]}"
    time.sleep(3)
    (disk / BALLAST).unlink()
    tally.saw("accepts again after s", until(partial(_accepts, place.client, jobs), "an accepted job"))
    tally.saw("all ended after s", place.wait(jobs))
    return jobs


def _until_refused(client: httpx.Client, jobs: list[str]) -> httpx.Response:
    """Submit until a page more is needed; jobs that were acknowledged are counted."""
    for _ in range(400):
        answer = client.post("/jobs", json=_body())
        if answer.status_code != 201:
            assert answer.status_code == 503, f"{answer.status_code}: {answer.text[:300]}"
            assert answer.headers["content-type"] == "application/problem+json"
            return answer
        jobs.append(answer.json()["id"])
    raise AssertionError("a full disk refused nothing")


def _accepts(client: httpx.Client, jobs: list[str]) -> bool:
    answer = client.post("/jobs", json=_body())
    if answer.status_code == 201:
        jobs.append(answer.json()["id"])
    return answer.status_code == 201


def _body() -> dict[str, object]:
    # Random words: equal sources would be kept once, and need no room.
    filler = os.urandom(6000).hex()
    return {
        "problem": {"source": f"{SMALL}# {filler}\n", "name": "scaled_silu"},
        "budget": {"rounds": 2, "tokens": 100_000},
    }


def _check_pages(postgres: PostgresServer) -> None:
    """Every table can be read from its first page to its last."""
    tables = postgres.rows("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    assert len(tables) > 10
    for (table,) in tables:
        postgres.rows(f'SELECT count(*), max(length(t::text)) FROM "{table}" t')


def embedded_disk_full(place: Installation, times: int, tally: Tally) -> str:
    """The disk of an installation in one process, with SQLite."""
    del place
    with small_disk(EMBEDDED_MIB) as disk:
        port = a_free_port()
        with (
            running("api", "--port", str(port), home=disk / "home") as api,
            httpx.Client(base_url=f"http://127.0.0.1:{port}/api/v1", timeout=40) as client,
        ):
            until(lambda: api.process.poll() is not None or _is_up(client), "the API's first answer")
            jobs: list[str] = []
            for _ in range(times):
                assert _accepts(client, jobs)
                fill(disk)
                assert "disk is full" in _until_refused(client, jobs).json()["detail"]
                assert client.get(f"/jobs/{jobs[0]}").status_code == 200
                assert client.get("/jobs").status_code == 200
                (disk / BALLAST).unlink()
                tally.saw("accepts again after s", until(partial(_accepts, client, jobs), "an accepted job"))
            assert all(client.get(f"/jobs/{job}").status_code == 200 for job in jobs), "an acknowledged job is lost"
        with contextlib.closing(sqlite3.connect(next((disk / "home").glob("*.db")))) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    return "503 with the reason, reads go on, the file intact"


def _is_up(client: httpx.Client) -> bool:
    with contextlib.suppress(httpx.TransportError):
        return client.get("/jobs").status_code == 200
    return False


def fill(disk: Path) -> None:
    """Leave no room."""
    with contextlib.suppress(OSError), (disk / BALLAST).open("ab") as file:
        while True:
            file.write(bytes(1 << 12))
            file.flush()


@contextmanager
def small_disk(size_mib: int) -> Iterator[Path]:
    """A file system of a size, in memory. Raises `UnavailableError` where we may not mount one."""
    with folder() as place:
        made = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size_mib}m,mode=755", "kernelwright-faults", str(place)],
            capture_output=True,
            text=True,
            check=False,
        )
        if made.returncode != 0:
            raise UnavailableError(f"no small disk can be mounted here: {made.stderr.strip()}")
        try:
            yield place
        finally:
            subprocess.run(["umount", "--lazy", str(place)], check=False)
