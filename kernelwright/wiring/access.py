"""Wiring of teams and access: users, tokens, quotas, sign-in. Heavy parts are imported where they are built."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from kernelwright.settings import Settings
from kernelwright.wiring.database import open_current_database
from services.domain.errors import ConfigurationError
from services.runtime.clock import SystemClock
from services.teams.access import AccessService
from services.teams.quotas import QuotaService

if TYPE_CHECKING:
    from services.ports.runtime import Clock
    from services.ports.teams import IdentityProvider
    from storage.database import Database


@asynccontextmanager
async def open_access(settings: Settings) -> AsyncIterator[AccessService]:
    """Users, teams and tokens over a database connection of its own. Raises `StorageError`."""
    async with open_current_database(settings) as database:
        yield make_access(database, SystemClock())


@asynccontextmanager
async def open_quotas(settings: Settings) -> AsyncIterator[QuotaService]:
    """The teams' quotas over a database connection of its own. Raises `StorageError`."""
    async with open_current_database(settings) as database:
        yield make_quotas(database, SystemClock())


def make_access(database: Database, clock: Clock) -> AccessService:
    """Users, teams, tokens and the audit log."""
    from storage.teams.audit import SqlAuditLog
    from storage.teams.credentials import SqlKeyStore
    from storage.teams.store import SqlTeamStore

    return AccessService(
        SqlTeamStore(database, clock), SqlKeyStore(database, clock), SqlAuditLog(database, clock), clock
    )


def make_quotas(database: Database, clock: Clock) -> QuotaService:
    """What teams may use."""
    from storage.teams.quotas import SqlQuotaStore

    return QuotaService(SqlQuotaStore(database, clock), clock)


def make_identity(settings: Settings) -> IdentityProvider | None:
    """Where people sign in; None where the settings name no provider. Raises `ConfigurationError`."""
    if settings.oidc_issuer is None:
        return None
    if settings.oidc_client_id is None:
        raise ConfigurationError("KERNELWRIGHT_OIDC_ISSUER is set: set KERNELWRIGHT_OIDC_CLIENT_ID too")
    from services.adapters.oidc.provider import OidcProvider

    secret = settings.oidc_client_secret
    return OidcProvider(
        settings.oidc_issuer,
        settings.oidc_client_id,
        None if secret is None else secret.get_secret_value(),
        settings.oidc_name,
    )


def public_names(settings: Settings) -> tuple[str, ...]:
    """What a server on loopback answers to: its own names, and the one that a proxy before it has."""
    public = [] if settings.public_url is None else [urlsplit(settings.public_url).hostname or ""]
    return ("127.0.0.1", "localhost", "[::1]", *public)
