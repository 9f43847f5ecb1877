"""Connections to the installation's database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from kernelwright.settings import Settings

if TYPE_CHECKING:
    from storage.database import Database


@asynccontextmanager
async def open_database(settings: Settings) -> AsyncIterator[Database]:
    """A database connection of its own, whatever state the schema is in. Raises `ConfigurationError`."""
    from storage.database import Database

    database = Database(settings.database)
    try:
        yield database
    finally:
        await database.close()


@asynccontextmanager
async def open_current_database(settings: Settings) -> AsyncIterator[Database]:
    """The same with the schema of this version: an embedded database is made and brought up to date, any other one must
    be. Raises `ConfigurationError`, `StorageError`."""
    async with open_database(settings) as database:
        await bring_up(database)
        yield database


async def bring_up(database: Database) -> None:
    """An embedded database is made and brought up to date; any other one must be."""
    if database.url.get_backend_name() == "sqlite":
        await database.upgrade()
    else:
        await database.check()
