"""The database itself: migrations on both kinds, and one clear line for everything that can be wrong with it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, inspect, text

from services.domain.errors import ConfigurationError, StorageError
from services.domain.jobs import JobSpec
from storage.database import MIGRATIONS, Database
from storage.jobs.store import SqlJobStore
from storage.tables import metadata
from tests.databases import differences, postgres_database
from tests.doubles import FrozenClock, a_job, a_problem


@pytest.fixture(params=["sqlite", "postgres"])
def empty_address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'state' / 'kernelwright.db'}"
        return
    with postgres_database() as address:
        yield address


def downgrade(connection: Connection) -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    command.downgrade(config, "base")


async def test_an_empty_database_is_migrated_to_exactly_the_tables_we_use(empty_address: str) -> None:
    database = Database(empty_address)
    await database.upgrade()
    await database.check()
    assert await database.read(differences) == []
    await database.close()


async def test_upgrading_again_changes_nothing(empty_address: str) -> None:
    database = Database(empty_address)
    await database.upgrade()
    await SqlJobStore(database, FrozenClock()).create(a_job())
    await database.upgrade()
    assert (await SqlJobStore(database, FrozenClock()).get("local", "job-1")).id == "job-1"
    await database.close()


async def test_programs_that_start_together_upgrade_once(empty_address: str) -> None:
    databases = [Database(empty_address) for _ in range(3)]
    await asyncio.gather(*(database.upgrade() for database in databases))
    for database in databases:
        await database.check()
        await database.close()


async def test_a_migration_can_be_undone(empty_address: str) -> None:
    database = Database(empty_address)
    await database.upgrade()
    await database.write(downgrade)
    assert await database.read(lambda connection: inspect(connection).get_table_names()) == ["alembic_version"]
    await database.upgrade()
    await database.check()
    await database.close()


async def test_every_table_has_a_team() -> None:
    without = {name for name, table in metadata.tables.items() if "team_id" not in table.c}
    assert without == {"teams", "users"}  # one person may be a member of several teams


async def test_a_database_that_is_not_migrated_says_what_to_run(empty_address: str, tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    database = Database(empty_address)
    for action in (database.check(), SqlJobStore(database, FrozenClock()).get("local", "job-1")):
        with pytest.raises(StorageError, match="kernelwright db upgrade") as caught:
            await action
        assert caught.value.remedy == "kernelwright db upgrade"
    await database.close()


async def test_a_database_newer_than_the_program_is_left_alone(empty_address: str) -> None:
    database = Database(empty_address)
    await database.upgrade()
    await database.write(lambda connection: connection.execute(text("UPDATE alembic_version SET version_num='9999'")))
    for action in (database.check, database.upgrade):
        with pytest.raises(StorageError, match=r"newer than this program.*9999") as caught:
            await action()
        assert caught.value.remedy == "Install the version that wrote it, or name another database."
    await database.close()


async def test_a_server_that_cannot_be_reached_is_named_without_its_password() -> None:
    database = Database("postgresql+psycopg://someone:secret@127.0.0.1:1/nowhere")
    with pytest.raises(StorageError, match=r"127\.0\.0\.1:1/nowhere cannot be reached") as caught:
        await database.check()
    assert "secret" not in str(caught.value)
    await database.close()


async def test_a_directory_that_does_not_exist_is_named(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'nowhere' / 'kernelwright.db'}")
    with pytest.raises(StorageError, match="does the directory exist"):
        await database.check()
    await database.close()


async def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    database = Database(f"sqlite:///{tmp_path / 'file' / 'kernelwright.db'}")
    with pytest.raises(StorageError, match="cannot make its directory"):
        await database.upgrade()
    await database.close()


async def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    path = tmp_path / "kernelwright.db"
    path.write_text("this is a text file, and a long one" * 100)
    database = Database(f"sqlite:///{path}")
    with pytest.raises(StorageError, match="not an SQLite database"):
        await database.check()
    await database.close()


async def test_a_full_disk_is_named_and_nothing_is_half_written(sqlite_address: str) -> None:
    database = Database(sqlite_address)
    jobs = SqlJobStore(database, FrozenClock())
    await jobs.create(a_job("job-1"))
    pages = await database.read(lambda connection: connection.exec_driver_sql("PRAGMA page_count").scalar_one())
    # The one writing connection is kept, and so is its limit.
    await database.write(lambda connection: connection.exec_driver_sql(f"PRAGMA max_page_count={pages + 2}"))
    large = a_job("job-2", spec=JobSpec(problem=a_problem("x" * 100_000)))
    with pytest.raises(StorageError, match="disk is full"):
        await jobs.create(large)
    assert [job.id for job in (await jobs.list("local")).jobs] == ["job-1"]
    await database.close()


async def test_a_read_only_database_is_named(sqlite_address: str) -> None:
    path = sqlite_address.removeprefix("sqlite:///")
    database = Database(f"sqlite:///file:{path}?mode=ro&uri=true")
    with pytest.raises(StorageError, match="read-only"):
        await SqlJobStore(database, FrozenClock()).create(a_job())
    await database.close()


@pytest.mark.parametrize("url", ["", "kernelwright.db", "mysql://root@localhost/x", "sqlite://", "sqlite:///:memory:"])
def test_an_address_that_is_no_database_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match="sqlite"):
        Database(url)


async def test_a_driver_named_in_the_address_changes_nothing(tmp_path: Path) -> None:
    database = Database(f"sqlite+aiosqlite:///{tmp_path / 'kernelwright.db'}")
    await database.upgrade()
    await database.check()
    await database.close()
