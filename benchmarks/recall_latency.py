"""How long a recall takes over many experiences: p50 and p99, warm, and what loading costs.

`python -m benchmarks.recall_latency [experiences] [recalls] [outcomes]` fills an SQLite memory with experiences that
carry random unit vectors of MiniLM's size, and measures whole recalls: keys, vectors, values, and reading the chosen
rows. `first_recall_s` reads every row and the whole value log; `first_recall_kept_s` is that of a process that starts
when another one has kept its fold and packed the vectors (median of five).
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from sqlalchemy import Connection, insert, update

from services.domain.experiences import Embedded, RecallQuery
from services.domain.jobs import LOCAL_TEAM, Stage
from services.domain.value_log import ContextItem, OutcomeEntry
from storage.contents.blobs import ensure_team
from storage.database import Database
from storage.memory.store import SqlMemory
from storage.memory.value_log import append_entry
from storage.tables import embeddings, experiences, teams

DIMENSIONS = 384
FAMILIES = ("norm", "softmax", "reduction", "loss", "pointwise", "matmul", "views", "mixed")
BACKENDS = ("cpp", "triton")
NOW = datetime(2026, 1, 1, tzinfo=UTC)


class RandomVectors:
    """An embedder that costs nothing, so that recall itself is measured."""

    name = "random"
    dimensions = DIMENSIONS
    note = None

    def __init__(self) -> None:
        self._random = np.random.default_rng(1)

    async def embed(self, texts: Sequence[str]) -> Embedded:
        return Embedded(space=self.name, vectors=[unit(self._random).tolist() for _ in texts])


def unit(random: np.random.Generator) -> np.ndarray:
    vector = random.standard_normal(DIMENSIONS).astype(np.float32)
    return np.asarray(vector / np.linalg.norm(vector))


def fill(connection: Connection, first: int, count: int, random: np.random.Generator) -> None:
    numbers = range(first, first + count)
    rows = [
        {
            "id": f"exp-{n}", "team_id": LOCAL_TEAM, "number": n + 1, "content_key": str(n), "kind": "success",
            "stage": "draft", "family": FAMILIES[n % 8], "backend": BACKENDS[n % 2 if n % 5 else 0], "device": "cpu",
            "toolchain": "g++", "title": f"experience {n}", "text": f"advice {n} " * 20, "moves": "[]", "used": "[]",
            "created_at": NOW, "dtype": "float32", "shape_class": f"2d-r{n % 4}-c{n % 3}",
        }
        for n in numbers
    ]  # fmt: skip
    connection.execute(insert(experiences), rows)
    vectors = [
        {"experience_id": f"exp-{n}", "embedder": "random", "team_id": LOCAL_TEAM, "vector": unit(random).tobytes()}
        for n in numbers
    ]
    connection.execute(insert(embeddings), vectors)
    connection.execute(update(teams).where(teams.c.id == LOCAL_TEAM).values(memory_seq=first + count))


def learn(connection: Connection, experiences_known: int, random: np.random.Generator, count: int = 2000) -> None:
    """A value log; every third outcome is accepted and makes an experience, so that there is provenance."""
    for index in range(count):
        names = random.integers(experiences_known, size=6)
        context = tuple(ContextItem(experience_id=f"exp-{name}", similarity=0.3) for name in names)

        def make(seq: int, number: int = index, used: tuple[ContextItem, ...] = context) -> OutcomeEntry:
            return OutcomeEntry(
                seq=seq,
                evaluation_id=f"eval-{number}",
                job_id=f"job-{number // 10}",
                step=number % 10,
                family=FAMILIES[number % 8],
                site="cpu/g++",
                accepted=number % 3 == 0,
                median_us=100.0 if number % 3 == 0 else None,
                context=used,
                made=(f"exp-{number}",) if number % 3 == 0 else (),
            )

        append_entry(connection, LOCAL_TEAM, f"eval-{index}", make, NOW)


def a_query(number: int) -> RecallQuery:
    return RecallQuery(
        team_id=LOCAL_TEAM,
        stage=(Stage.DRAFT, Stage.REFINE)[number % 2],
        text=f"query {number}",
        family=FAMILIES[number % 8],
        backend="cpp",
        device="cpu",
        dtype="float32",
        site="cpu/g++",
        seed=number,
    )


async def first_recall(database: Database) -> float:
    """Seconds that the first recall takes that is made without anything in memory."""
    memory = SqlMemory(database, RandomVectors())
    start = time.perf_counter()
    await memory.recall(a_query(0))
    return time.perf_counter() - start


async def measure(count: int, recalls: int, outcomes: int) -> dict[str, float]:
    random = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        database = Database(f"sqlite:///{Path(folder) / 'memory.db'}")
        await database.upgrade()
        await database.write(lambda connection: ensure_team(connection, LOCAL_TEAM, NOW))
        for first in range(0, count, 5000):
            size = min(5000, count - first)
            await database.write(lambda connection, at=first, n=size: fill(connection, at, n, random))  # type: ignore[misc]
        await database.write(lambda connection: learn(connection, count, random, outcomes))
        memory = SqlMemory(database, RandomVectors())
        start = time.perf_counter()
        await memory.recall(a_query(0))
        cold = time.perf_counter() - start
        await memory.settled()
        kept = [await first_recall(database) for _ in range(5)]
        took = []
        for number in range(recalls):
            start = time.perf_counter()
            found = await memory.recall(a_query(number))
            took.append(time.perf_counter() - start)
            assert len(found) == 6
        await database.close()
    p50, p99 = np.quantile(took[10:], [0.5, 0.99]) * 1000
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "experiences": count,
        "outcomes": outcomes,
        "first_recall_s": round(cold, 2),
        "first_recall_kept_s": round(float(np.median(kept)), 2),
        "p50_ms": round(float(p50), 2),
        "p99_ms": round(float(p99), 2),
        "peak_mib": round(peak),
    }


if __name__ == "__main__":
    given = [int(argument) for argument in sys.argv[1:]]
    found = asyncio.run(measure(*(given + [100_000, 500, 2000][len(given) :])))
    print(json.dumps(found))
