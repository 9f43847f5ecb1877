"""`kernelwright db`: the database's schema."""

from __future__ import annotations

from typing import Annotated

import typer

from kernelwright.cli.local import run_over

app = typer.Typer(help="The database.", no_args_is_help=True)


@app.command("upgrade")
def upgrade() -> None:
    """Upgrade the database schema to this version."""
    from kernelwright.wiring.database import open_database

    run_over(open_database, lambda database: database.upgrade())
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
    from kernelwright.wiring.database import open_database
    from kernelwright.wiring.installation import open_sealer
    from services.runtime.clock import SystemClock
    from storage.teams.webhooks import SqlWebhookStore

    sealer = open_sealer(load_settings())
    count = run_over(open_database, lambda database: SqlWebhookStore(database, SystemClock(), sealer).seal_all())
    typer.echo(f"{count} webhook secrets are encrypted with the first key")


@app.command("downgrade")
def downgrade(
    version: Annotated[str, typer.Argument(help="Schema version, for example 0014.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Take the database schema back to an earlier version.

    Stop every process of the installation first."""
    from kernelwright.wiring.database import open_database

    if not yes:
        typer.confirm("What only later versions keep is lost. Go on?", abort=True)
    run_over(open_database, lambda database: database.downgrade(version))
    typer.echo(f"the database has schema version {version}")
