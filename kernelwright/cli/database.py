"""`kernelwright db`: the database's schema."""

from __future__ import annotations

import asyncio

import typer

app = typer.Typer(help="The database.", no_args_is_help=True)


@app.callback()
def root() -> None:
    """The database."""


@app.command("upgrade")
def upgrade() -> None:
    """Upgrade the database schema to this version."""
    from kernelwright.settings import load_settings
    from storage.database import Database

    settings = load_settings()

    async def work() -> None:
        database = Database(settings.database)
        try:
            await database.upgrade()
        finally:
            await database.close()

    asyncio.run(work())
    typer.echo("the database is up to date")
