"""What every `ArtefactStore` promises."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from services.domain.errors import ConfigurationError, NotFoundError, StorageError
from storage.contents.blobs import SqlArtefactStore
from storage.contents.files import Directory, open_files
from storage.database import Database
from tests.contracts.conftest import Stores
from tests.doubles import FrozenClock

LONG = b"long " * 50_000


@pytest.mark.parametrize("content", [b"", b"short \0 \xff", LONG], ids=["empty", "short", "long"])
async def test_a_content_comes_back_under_its_hash(stores: Stores, content: bytes) -> None:
    key = await stores.artefacts.put("local", content)
    assert key == hashlib.sha256(content).hexdigest()
    assert await stores.artefacts.put("local", content) == key
    assert await stores.artefacts.get("local", key) == content


async def test_an_unknown_key_is_not_found(stores: Stores) -> None:
    with pytest.raises(NotFoundError):
        await stores.artefacts.get("local", "0" * 64)


async def test_nothing_is_kept_for_a_job_that_is_not_there(database: Database) -> None:
    store = SqlArtefactStore(database, FrozenClock())
    with pytest.raises(StorageError, match="job job-none is not there"):
        await store.put("local", b"listing", job_id="job-none")


async def test_another_teams_content_is_not_found(stores: Stores) -> None:
    key = await stores.artefacts.put("ours", b"ours alone")
    with pytest.raises(NotFoundError):
        await stores.artefacts.get("theirs", key)


async def test_a_damaged_file_is_noticed(database: Database, tmp_path: Path) -> None:
    store = SqlArtefactStore(database, FrozenClock(), files=Directory(tmp_path / "artefacts"))
    key = await store.put("local", LONG)
    (path,) = (path for path in (tmp_path / "artefacts").rglob("*") if path.is_file())
    path.write_text("forged")
    with pytest.raises(StorageError, match="damaged"):
        await store.get("local", key)
    path.unlink()
    with pytest.raises(StorageError, match="cannot read"):
        await store.get("local", key)


@pytest.mark.parametrize("place", ["directory", "file://", "memory://artefacts"])
async def test_large_contents_lie_where_the_setting_says(database: Database, tmp_path: Path, place: str) -> None:
    address = {"directory": str(tmp_path / "some" / "where"), "file://": f"file://{tmp_path}/there"}.get(place, place)
    store = SqlArtefactStore(database, FrozenClock(), files=open_files(address))
    key = await store.put("local", LONG)
    assert await store.get("local", key) == LONG
    without = SqlArtefactStore(database, FrozenClock())
    with pytest.raises(StorageError, match="no place for artefacts is configured"):
        await without.get("local", key)


async def test_an_object_that_is_gone_is_named(database: Database) -> None:
    store = SqlArtefactStore(database, FrozenClock(), files=open_files("memory://one"))
    key = await store.put("local", LONG)
    moved = SqlArtefactStore(database, FrozenClock(), files=open_files("memory://another"))
    with pytest.raises(StorageError, match="cannot read the artefact at memory://another"):
        await moved.get("local", key)


def test_a_protocol_that_nobody_knows_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="cannot be kept at"):
        open_files("nonsense://bucket")
    assert open_files(None) is None
