"""`kernelwright db`: the database's schema."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

app = typer.Typer(help="The database.", no_args_is_help=True)


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


@app.command("new-key")
def new_key() -> None:
    """Print a new key for KERNELWRIGHT_SECRETS_KEY."""
    from cryptography.fernet import Fernet

    typer.echo(Fernet.generate_key().decode())


@app.command("seal")
def seal() -> None:
    """Encrypt the stored webhook secrets.

    With the first key of KERNELWRIGHT_SECRETS_KEY."""
    from kernelwright.settings import load_settings
    from kernelwright.wiring.installation import open_sealer
    from services.runtime.clock import SystemClock
    from storage.database import Database
    from storage.teams.webhooks import SqlWebhookStore

    settings = load_settings()

    async def work() -> int:
        database = Database(settings.database)
        try:
            return await SqlWebhookStore(database, SystemClock(), open_sealer(settings)).seal_all()
        finally:
            await database.close()

    typer.echo(f"{asyncio.run(work())} webhook secrets are encrypted with the first key")


@app.command("downgrade")
def downgrade(
    version: Annotated[str, typer.Argument(help="Schema version, for example 0014.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Take the database schema back to an earlier version.

    Stop every process of the installation first."""
    from kernelwright.settings import load_settings
    from storage.database import Database

    settings = load_settings()
    if not yes:
        typer.confirm("What only later versions keep is lost. Go on?", abort=True)

    async def work() -> None:
        database = Database(settings.database)
        try:
            await database.downgrade(version)
        finally:
            await database.close()

    asyncio.run(work())
    typer.echo(f"the database has schema version {version}")
