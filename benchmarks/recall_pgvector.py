"""Recall over a million experiences with pgvector: latency, recall against exact search, memory and build time.

    python -m benchmarks.recall_pgvector [experiences] [recalls] [--keep FOLDER] [--warm 1000]
                                                               (pip install 'kernelwright[dev]' brings the server)

Starts a PostgreSQL of its own, fills it by COPY, lets the product build its HNSW indexes, and measures whole recalls
(keys, vectors, values, reading the chosen rows) and the first stage alone: its 64 nearest against numpy's over the same
rows. With --keep the database stays in a folder: a run that was interrupted goes on where it stopped, a later one only
measures. Measured is a server that has been running: --warm recalls come first, since a starting one reads its index
from disk page by page. Vectors are drawn around topics in a space of 32 dimensions turned into 384, with noise: like
sentence embeddings, and unlike independent normals, they have neighbours.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import psycopg
from sqlalchemy import func, make_url, select

from benchmarks.recall_latency import BACKENDS, DIMENSIONS, FAMILIES, a_query, learn
from services.domain.experiences import Embedded
from services.domain.jobs import LOCAL_TEAM
from services.memory.keys import Keys
from services.memory.ranking import Vectors
from storage.contents.blobs import ensure_team
from storage.database import Database
from storage.db.pgvector_schema import describe
from storage.memory.embedding import Vectoriser
from storage.memory.pgvector_index import PgVectorIndex
from storage.memory.store import SqlMemory
from storage.tables import experiences, memory_log
from tests.databases import pgvector_server

SPACE, TOPICS, LATENT, NOISE = "random", 2000, 32, 0.35
WANTED = 64
NOW = datetime(2026, 1, 1, tzinfo=UTC)


class World:
    """Where vectors come from."""

    def __init__(self) -> None:
        random = np.random.default_rng(0)
        self._turn = random.standard_normal((LATENT, DIMENSIONS)).astype(np.float32) / LATENT**0.5
        self._topics = random.standard_normal((TOPICS, LATENT)).astype(np.float32)

    def draw(self, count: int, random: np.random.Generator) -> Vectors:
        """Unit vectors, shape (count, DIMENSIONS)."""
        near = self._topics[random.integers(TOPICS, size=count)]
        latent = near + 0.5 * random.standard_normal((count, LATENT)).astype(np.float32)
        vectors = latent @ self._turn + NOISE * random.standard_normal((count, DIMENSIONS)).astype(np.float32)
        unit: Vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
        return unit


class Embedder:
    """Draws a query's vector."""

    name = SPACE
    dimensions = DIMENSIONS
    note = None

    def __init__(self, world: World) -> None:
        self._world = world
        self._random = np.random.default_rng(1)

    async def embed(self, texts: Sequence[str]) -> Embedded:
        vectors = [self._world.draw(1, self._random)[0].tolist() for _ in texts]
        return Embedded(space=SPACE, vectors=vectors)


def keys(number: int) -> tuple[str, str, str, str, str]:
    """Family, backend, dtype, shape class and bottleneck of an experience."""
    return (
        FAMILIES[number % 8],
        BACKENDS[number // 8 % 2],
        "float32",
        f"2d-r{number // 16 % 4}-c{number // 64 % 3}",
        ("memory", "compute", "latency")[number // 192 % 3],
    )


def fill(address: str, vectors: Vectors) -> None:
    """Experiences, their vectors, and the index's rows, by COPY."""
    plain = make_url(address).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(plain) as connection, connection.cursor() as cursor:
        groups: dict[tuple[str, str], int] = {}
        for family in FAMILIES:
            for backend in BACKENDS:
                cursor.execute(
                    "INSERT INTO vector_groups (team_id, space, sheet, backend, family) "
                    "VALUES (%s, %s, false, %s, %s) RETURNING id",
                    (LOCAL_TEAM, SPACE, backend, family),
                )
                row = cursor.fetchone()
                assert row is not None
                groups[family, backend] = row[0]
        _copy_experiences(cursor, len(vectors))
        columns = "experience_id, embedder, team_id, vector"
        with cursor.copy(f"COPY embeddings ({columns}) FROM STDIN (FORMAT BINARY)") as copy:
            for piece in _binary((_text(f"exp-{n}"), b"random", b"local", vectors[n].tobytes()) for n in _all(vectors)):
                copy.write(piece)
        columns = "experience_id, space, team_id, group_id, number, dtype, shape_class, bottleneck, v"
        with cursor.copy(f"COPY vector_index ({columns}) FROM STDIN (FORMAT BINARY)") as copy:
            for piece in _binary(_index_row(n, vectors[n], groups) for n in _all(vectors)):
                copy.write(piece)
        cursor.execute(
            "UPDATE vector_groups g SET size = n.count FROM "
            "(SELECT group_id, count(*) FROM vector_index GROUP BY group_id) n WHERE g.id = n.group_id"
        )
        cursor.execute("UPDATE teams SET memory_seq = %s WHERE id = %s", (len(vectors), LOCAL_TEAM))
    with psycopg.connect(plain, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE vector_index")
        connection.execute("VACUUM ANALYZE experiences")
        connection.execute("VACUUM ANALYZE embeddings")


def _copy_experiences(cursor: psycopg.Cursor[tuple[int]], count: int) -> None:
    columns = (
        "id, team_id, number, content_key, kind, stage, family, backend, device, toolchain, title, text, moves, used, "
        "created_at, dtype, shape_class, bottleneck"
    )
    with cursor.copy(f"COPY experiences ({columns}) FROM STDIN") as copy:
        for n in range(count):
            family, backend, dtype, shape_class, bottleneck = keys(n)
            copy.write_row(
                (
                    f"exp-{n}", LOCAL_TEAM, n + 1, str(n), "success", "draft", family, backend, "cpu", "g++",
                    f"experience {n}", f"advice {n} " * 20, "[]", "[]", NOW, dtype, shape_class, bottleneck,
                )
            )  # fmt: skip


def _index_row(n: int, vector: Vectors, groups: dict[tuple[str, str], int]) -> tuple[bytes, ...]:
    family, backend, dtype, shape_class, bottleneck = keys(n)
    packed = DIMENSIONS.to_bytes(2, "big") + b"\0\0" + vector.astype(">f4").tobytes()
    return (
        _text(f"exp-{n}"), b"random", b"local", groups[family, backend].to_bytes(4, "big"), (n + 1).to_bytes(4, "big"),
        _text(dtype), _text(shape_class), _text(bottleneck), packed,
    )  # fmt: skip


def _text(text: str) -> bytes:
    return text.encode()


def _all(vectors: Vectors) -> range:
    return range(len(vectors))


def _binary(rows: Iterator[tuple[bytes, ...]]) -> Iterator[bytes]:
    """PostgreSQL's binary COPY format."""
    yield b"PGCOPY\n\xff\r\n\0" + bytes(8)
    piece = bytearray()
    for row in rows:
        piece += len(row).to_bytes(2, "big")
        for value in row:
            piece += len(value).to_bytes(4, "big") + value
        if len(piece) > 1 << 22:
            yield bytes(piece)
            piece.clear()
    yield bytes(piece) + b"\xff\xff"


def nearest(held: Vectors, rows: np.ndarray, queries: Vectors) -> list[set[str]]:
    """The exact answer for each query. `held` are the vectors of the fitting `rows`."""
    similar = queries @ held.T
    return [{f"exp-{rows[n]}" for n in np.argpartition(-one, min(WANTED, len(one)) - 1)[:WANTED]} for one in similar]


FILTERS = {
    "family and backend": Keys(family="softmax", backend="cpp"),
    "family, backend and dtype": Keys(family="softmax", backend="cpp", dtype="float32"),
    "family, backend and shape": Keys(family="softmax", backend="cpp", dtype="float32", shape_class="2d-r1-c1"),
    "backend": Keys(backend="cpp"),
}


async def first_stage(database: Database, world: World, vectors: Vectors, recalls: int) -> dict[str, dict[str, float]]:
    """Recall@64 and latency of the first stage under each filter, told as they come."""
    near = await PgVectorIndex(database, Vectoriser(database, Embedder(world))).open(LOCAL_TEAM, SPACE, DIMENSIONS)
    random = np.random.default_rng(2)
    told = {}
    for title, wanted in FILTERS.items():
        rows = np.array([n for n in range(len(vectors)) if _fits(n, wanted)])
        queries = world.draw(recalls, random)
        truth = nearest(vectors[rows], rows, queries)
        found, took = [], []
        for query, right in zip(queries, truth, strict=True):
            start = time.perf_counter()
            pool = await near.pool(wanted, query, WANTED, 1)
            took.append(time.perf_counter() - start)
            found.append(len(pool.keys() & right) / len(right))
        p50, p99 = np.quantile(took[min(10, recalls // 5) :], [0.5, 0.99]) * 1000
        told[title] = {
            "fitting": len(rows),
            "recall_at_64": round(float(np.mean(found)), 4),
            "p50_ms": round(float(p50), 2),
            "p99_ms": round(float(p99), 2),
            "load_average": round(os.getloadavg()[0], 1),
        }
        print(f"{title}: {told[title]}", file=sys.stderr, flush=True)
    return told


def _fits(n: int, wanted: Keys) -> bool:
    family, backend, _, shape_class, _ = keys(n)
    return (
        wanted.family in (None, family)
        and wanted.backend in (None, backend)
        and wanted.shape_class in (None, shape_class)
    )


async def whole_recalls(memory: SqlMemory, recalls: int) -> dict[str, float]:
    """Latency of recalls as jobs make them."""
    start = time.perf_counter()
    await memory.recall(a_query(0))
    cold = time.perf_counter() - start
    took = []
    for number in range(recalls):
        start = time.perf_counter()
        assert len(await memory.recall(a_query(number))) == 6
        took.append(time.perf_counter() - start)
    p50, p99 = np.quantile(took[min(10, recalls // 5) :], [0.5, 0.99]) * 1000
    return {
        "first_s": round(cold, 2),
        "p50_ms": round(float(p50), 2),
        "p99_ms": round(float(p99), 2),
        "load_average": round(os.getloadavg()[0], 1),
    }


async def warmed(memory: SqlMemory, recalls: int) -> dict[str, float]:
    """Recalls that are not counted: how long they took, and how the last ones compare with the first."""
    start, took = time.perf_counter(), []
    for number in range(recalls):
        began = time.perf_counter()
        await memory.recall(a_query(number))
        took.append(time.perf_counter() - began)
    part = max(1, recalls // 10)
    first, last = (round(float(np.median(some)) * 1000, 1) for some in (took[:part], took[-part:]))
    return {"recalls": recalls, "took_s": round(time.perf_counter() - start, 1), "first_ms": first, "last_ms": last}


async def prepare(database: Database, address: str, vectors: Vectors) -> float:
    """Fill an empty database; the seconds it took, 0 where an earlier run has filled it."""
    await database.upgrade()
    await database.write(lambda connection: ensure_team(connection, LOCAL_TEAM, NOW))
    held = await database.read(lambda connection: connection.scalar(select(func.count()).select_from(experiences)))
    if held not in (0, len(vectors)):
        raise SystemExit(f"the kept database holds {held} experiences, not {len(vectors)}: name another folder")
    start = time.perf_counter()
    if not held:
        await asyncio.to_thread(fill, address, vectors)
    took = time.perf_counter() - start if not held else 0.0
    logged = await database.read(lambda connection: connection.scalar(select(func.count()).select_from(memory_log)))
    if not logged:
        await database.write(lambda connection: learn(connection, len(vectors), np.random.default_rng(4)))
    return took


async def measure(address: str, count: int, recalls: int, warm: int) -> dict[str, object]:
    world, times = World(), {}
    vectors = world.draw(count, np.random.default_rng(3))
    database = Database(address)
    times["fill_s"] = round(await prepare(database, address, vectors), 1)
    print(f"filled: {times}", file=sys.stderr, flush=True)
    memory = SqlMemory(database, Embedder(world))
    start = time.perf_counter()
    await memory.recall(a_query(0))
    await memory.settled()
    times["index_build_s"] = round(time.perf_counter() - start, 1)
    print(f"indexed: {times}", file=sys.stderr, flush=True)
    told: dict[str, object] = {"experiences": count, **times}
    if warm:
        told["warmed"] = await warmed(memory, warm)
        print(f"warmed: {told['warmed']}", file=sys.stderr, flush=True)
    told["first_stage"] = await first_stage(database, world, vectors, recalls)
    told["recall"] = await whole_recalls(SqlMemory(database, Embedder(world)), recalls)
    told["database"] = {
        name: round(int(value) / 2**20) if name.endswith("bytes") else int(value or 0)
        for name, value in (await database.read(describe)).items()
    }
    told["client_peak_mib"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    told["of_which_vectors_for_the_comparison_mib"] = round(vectors.nbytes / 2**20)
    await database.close()
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiences", type=int, nargs="?", default=1_000_000)
    parser.add_argument("recalls", type=int, nargs="?", default=200)
    parser.add_argument("--keep", type=Path, default=None, help="where the database stays; default: a temporary folder")
    parser.add_argument("--warm", type=int, default=1000, help="recalls before anything is measured")
    given = parser.parse_args()
    with ExitStack() as stack:
        folder = given.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        address = stack.enter_context(pgvector_server(folder, shared_buffers="3GB"))
        print(json.dumps(asyncio.run(measure(address, given.experiences, given.recalls, given.warm)), indent=2))


if __name__ == "__main__":
    main()
