"""The first stage inside PostgreSQL: what pgvector finds is what this process would have found."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

import numpy as np
import pytest
import pytest_asyncio
from sqlalchemy import text

from services.adapters.embeddings.hashing import HashingEmbedder
from services.domain.evaluations import Verdict
from services.domain.experiences import Experience, RecallQuery
from services.domain.referees import CURRENT
from services.memory.keys import Keys
from storage.database import Database
from storage.db.pgvector_schema import describe, uninstall
from storage.memory.embedding import Vectoriser
from storage.memory.numpy_index import NumpyVectorIndex
from storage.memory.pgvector_index import PgStage, PgVectorIndex, SearchRules, has_pgvector
from storage.memory.records import SqlMemoryRecords
from storage.memory.store import SqlMemory
from storage.memory.vector_index import FirstStage, VectorIndex
from tests.contracts.test_memory import query
from tests.doubles import FrozenClock, an_experience

FAMILIES, SHAPES = ("norm", "softmax"), ("2d-r3-c3", "2d-r1-c5", "3d-r2-c2")
EVERYTHING_BY_INDEX = SearchRules(index_from=50, exact_upto=0, compared=0.0, least_ef=400)
EMBEDDER = HashingEmbedder(64)


def some_experiences(count: int) -> list[Experience]:
    return [
        replace(
            an_experience(f"exp-{n:03}", text=f"advice {n} about {n % 7} tiles and {n % 11} warps"),
            family=FAMILIES[n % 2],
            backend="triton" if n % 10 == 9 else "cpp",
            dtype=None if n % 5 == 0 else "float32",
            shape_class=SHAPES[n % 3],
            bottleneck="memory" if n % 4 else "compute",
        )
        for n in range(count)
    ]


@pytest_asyncio.fixture
async def database(pgvector_address: str) -> AsyncIterator[Database]:
    opened = Database(pgvector_address)
    yield opened
    await opened.close()


async def opened(database: Database, rules: SearchRules | None) -> tuple[FirstStage, VectorIndex]:
    """A first stage with everything in it; without rules this process's."""
    vectoriser = Vectoriser(database, EMBEDDER)
    index = NumpyVectorIndex(database, vectoriser) if rules is None else PgVectorIndex(database, vectoriser, rules)
    near = await index.open("local", EMBEDDER.name, EMBEDDER.dimensions)
    await index.settled()
    return near, index


async def vector_of(words: str) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    return np.asarray((await EMBEDDER.embed([words])).vectors[0], dtype=np.float32)


WANTED = (
    Keys(family="norm", backend="cpp"),
    Keys(family="norm", backend="cpp", dtype="float32", shape_class=SHAPES[1]),
    Keys(family="softmax", backend="cpp", dtype="float32", shape_class=SHAPES[0], bottleneck="compute"),
    Keys(family="scan", backend="cpp"),
    Keys(family="norm", backend="triton", dtype="float16"),
    Keys(),
)


@pytest.mark.parametrize("unproven", [False, True], ids=["proven", "with unproven"])
@pytest.mark.parametrize("rules", [SearchRules(), EVERYTHING_BY_INDEX], ids=["exact", "hnsw"])
async def test_the_pool_is_that_of_the_exact_search_in_this_process(
    database: Database, rules: SearchRules, unproven: bool
) -> None:
    memory = SqlMemory(database, EMBEDDER)
    made = some_experiences(300)
    if unproven:
        made = [replace(item, verdict=Verdict.ACCEPTED, referee=CURRENT - n % 3) for n, item in enumerate(made)]
    await memory.remember(made)
    inside, _ = await opened(database, rules)
    here, _ = await opened(database, None)
    for number, wanted in enumerate(WANTED):
        asked = await vector_of(f"advice about {number} tiles and warps")
        for count, at_least in ((12, 7), (40, 30)):
            pool = await inside.pool(wanted, asked, count, at_least)
            exact = await here.pool(wanted, asked, count, at_least)
            assert list(pool.values()) == pytest.approx(list(exact.values()), abs=2e-6)
            certain = [name for name, similarity in exact.items() if similarity > min(exact.values(), default=0) + 1e-5]
            assert pool.keys() >= set(certain), "equally similar ones may take each other's last places"
        everything = await inside.nearest(asked, 5)
        assert list(everything.values()) == pytest.approx(list((await here.nearest(asked, 5)).values()), abs=2e-6)


async def test_a_large_number_of_fitting_rows_is_counted_whole_and_again_when_the_groups_have_grown(
    database: Database,
) -> None:
    memory = SqlMemory(database, EMBEDDER)
    await memory.remember(some_experiences(200))
    near, index = await opened(database, replace(EVERYTHING_BY_INDEX, counted=60))
    assert isinstance(near, PgStage)
    asked = await vector_of("advice about tiles")
    large = Keys(family="norm", backend="cpp", dtype="float32")
    small = Keys(family="norm", backend="cpp", dtype="float32", shape_class=SHAPES[1])

    async def counted() -> list[tuple[int, int]]:
        await near.pool(large, asked, 12, 1)
        await near.pool(small, asked, 12, 1)
        return list(near.kept.values())

    assert await counted() == [(100, 100)], "with those without a dtype, and not the few of one shape"
    await memory.remember(some_experiences(204)[200:])
    await index.open("local", EMBEDDER.name, EMBEDDER.dimensions)
    assert await counted() == [(100, 100)], "two more of a hundred change no share"
    await memory.remember(some_experiences(300)[204:])
    await index.open("local", EMBEDDER.name, EMBEDDER.dimensions)
    await index.settled()
    assert await counted() == [(150, 150)]


async def test_a_large_group_gets_its_index_in_the_background(database: Database) -> None:
    memory = SqlMemory(database, EMBEDDER)
    await memory.remember(some_experiences(300))
    await opened(database, EVERYTHING_BY_INDEX)
    found = await database.read(describe)
    assert (found["rows"], found["indexed"]) == (300, 270), "the two groups of cpp; triton's have too few rows"
    valid = text(
        "SELECT count(*) FROM vector_groups g JOIN pg_class c ON c.relname = 'vector_index_hnsw_' || g.id "
        "JOIN pg_index i ON i.indexrelid = c.oid WHERE i.indisvalid"
    )
    assert await database.read(lambda connection: connection.execute(valid).scalar()) == 2


async def test_what_comes_later_is_found_and_what_is_retracted_is_not(database: Database) -> None:
    memory = SqlMemory(database, EMBEDDER, index=_by_index)
    records = SqlMemoryRecords(database, memory, EMBEDDER.name, FrozenClock())
    await memory.remember(some_experiences(120))
    await memory.recall(asked())
    await memory.settled()
    late = replace(an_experience("exp-late", text="warp shuffles win"), family="norm")
    await memory.remember([late])
    assert "exp-late" in await recalled(memory)
    await records.retract("local", "exp-late", "a cheat", "ada")
    assert "exp-late" not in await recalled(memory)
    assert (await database.read(describe))["rows"] == 120


async def test_a_team_meets_only_its_own_and_what_is_shared_with_it(database: Database) -> None:
    memory = SqlMemory(database, EMBEDDER, index=_by_index)
    records = SqlMemoryRecords(database, memory, EMBEDDER.name, FrozenClock())
    ours = an_experience("exp-ours", team_id="ours", text="keep the sums in registers")
    await memory.remember([ours, an_experience("exp-theirs", team_id="theirs")])
    theirs = query("vectorise", team_id="theirs")
    assert [item.experience.id for item in await memory.recall(theirs)] == ["exp-theirs"]
    await records.share("ours", "theirs", "ada")
    assert {item.experience.id for item in await memory.recall(theirs)} == {"exp-ours", "exp-theirs"}


async def test_a_changed_embedder_enters_everything_anew_while_recall_goes_on(database: Database) -> None:
    await SqlMemory(database, HashingEmbedder(32)).recall(asked())
    memory = SqlMemory(database, EMBEDDER)
    await memory.remember(some_experiences(400))
    first = await memory.recall(asked())
    assert [item.similarity for item in first] == [0.0] * 6, "what fits by its keys, while vectors are made"
    await memory.settled()
    assert all(item.similarity != 0.0 for item in await memory.recall(asked()))


async def test_without_the_tables_recall_searches_in_this_process(database: Database) -> None:
    await SqlMemory(database, EMBEDDER).remember(some_experiences(20))
    await database.write(uninstall)
    assert not await has_pgvector(database)
    assert len(await SqlMemory(database, EMBEDDER).recall(asked())) == 6
    await database.upgrade()
    assert await has_pgvector(database), "an upgrade makes them again"
    assert len(await SqlMemory(database, EMBEDDER).recall(asked())) == 6


def _by_index(database: Database, vectoriser: Vectoriser) -> VectorIndex:
    return PgVectorIndex(database, vectoriser, EVERYTHING_BY_INDEX)


def asked() -> RecallQuery:
    return query("warp shuffles win", family="norm")


async def recalled(memory: SqlMemory) -> Sequence[str]:
    return [item.experience.id for item in await memory.search("local", "warp shuffles win", 5)]
