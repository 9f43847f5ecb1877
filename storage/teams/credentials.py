"""The `KeyStore` port over the database: API tokens and browser sessions, by the hashes of their secrets."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, update

from services.domain.access import ApiToken, Member, SignInSession, TokenScope, User
from services.domain.errors import NotFoundError
from services.ports.runtime import Clock
from storage.contents.blobs import ensure_team
from storage.database import Database
from storage.db.mapping import row_of, value_of
from storage.db.transactions import reads, writes
from storage.tables import api_tokens, members, sessions, users
from storage.teams.audit import enter
from storage.teams.store import JOINED, member_of


class SqlKeyStore:
    """Tokens and sessions; each method is one transaction."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    @writes
    def add_token(self, connection: Connection, token: ApiToken, digest: str, actor: str) -> None:
        """Keep a new token, and say so in the audit log."""
        now = self._clock.now()
        told = f"{token.name}: {', '.join((*sorted(token.scopes), *token.devices))}"
        ensure_team(connection, token.team_id, now)
        connection.execute(insert(api_tokens).values(_row(token, digest)))
        enter(connection, now, token.team_id, actor, "create_token", token.id, told)

    @reads
    def token(self, connection: Connection, token_id: str) -> tuple[ApiToken, str, Member | None] | None:
        """A token with its digest and, where it is a user's, that user's membership if there still is one."""
        row = connection.execute(select(api_tokens).where(api_tokens.c.id == token_id)).one_or_none()
        if row is None:
            return None
        return _token(row), row.digest, _membership(connection, row.team_id, row.user_id)

    async def tokens(self, team_id: str) -> tuple[ApiToken, ...]:
        """A team's tokens, newest first."""
        order = (api_tokens.c.created_at.desc(), api_tokens.c.id)
        query = select(api_tokens).where(api_tokens.c.team_id == team_id).order_by(*order)
        rows = await self._database.read(lambda connection: connection.execute(query).all())
        return tuple(map(_token, rows))

    @writes
    def revoke(self, connection: Connection, team_id: str, token_id: str, actor: str) -> None:
        """End a token; again is harmless. Raises `NotFoundError`."""
        now = self._clock.now()
        own = (api_tokens.c.team_id == team_id) & (api_tokens.c.id == token_id)
        row = connection.execute(select(api_tokens).where(own).with_for_update()).one_or_none()
        if row is None:
            raise NotFoundError(f"no token {token_id}")
        if row.revoked_at is None:
            connection.execute(update(api_tokens).where(own).values(revoked_at=now))
            enter(connection, now, team_id, actor, "revoke_token", token_id, row.name)

    async def used(self, token_id: str, at: datetime) -> None:
        """Note that a token was used."""
        query = update(api_tokens).where(api_tokens.c.id == token_id).values(used_at=at)
        await self._database.write(lambda connection: connection.execute(query))

    @writes
    def open_session(
        self, connection: Connection, digest: str, user_id: str, team_id: str | None, expires_at: datetime
    ) -> None:
        """Keep a session; those that have expired are forgotten on the way."""
        now = self._clock.now()
        row = {
            "digest": digest,
            "user_id": user_id,
            "team_id": team_id,
            "created_at": now,
            "expires_at": expires_at,
        }
        connection.execute(delete(sessions).where(sessions.c.expires_at <= now))
        connection.execute(insert(sessions).values(row))

    @reads
    def session(self, connection: Connection, digest: str) -> SignInSession | None:
        """A session that has not expired, in the team that it looks at, else the first that its user belongs to."""
        now = self._clock.now()
        found = connection.execute(select(sessions).where(sessions.c.digest == digest)).one_or_none()
        if found is None or found.expires_at <= now:
            return None
        member = _membership(connection, found.team_id, found.user_id) or _first(connection, found.user_id)
        user = connection.execute(select(users).where(users.c.id == found.user_id)).one()
        return SignInSession(
            user=value_of(User, user),
            team_id=None if member is None else member.team_id,
            role=None if member is None else member.role,
            expires_at=found.expires_at,
        )

    @writes
    def look_at(self, connection: Connection, digest: str, team_id: str) -> None:
        """Turn a session to another team of its user. Raises `NotFoundError`."""
        query = select(sessions.c.user_id).where(sessions.c.digest == digest)
        user_id = connection.execute(query).scalar_one_or_none()
        if _membership(connection, team_id, user_id) is None:
            raise NotFoundError(f"no team {team_id}")
        connection.execute(update(sessions).where(sessions.c.digest == digest).values(team_id=team_id))

    async def close_session(self, digest: str) -> None:
        """Forget a session; harmless where there is none."""
        query = delete(sessions).where(sessions.c.digest == digest)
        await self._database.write(lambda connection: connection.execute(query))


def _membership(connection: Connection, team_id: str | None, user_id: str | None) -> Member | None:
    row = connection.execute(JOINED.where(members.c.team_id == team_id, members.c.user_id == user_id)).one_or_none()
    return None if row is None else member_of(row)


def _first(connection: Connection, user_id: str) -> Member | None:
    query = JOINED.where(members.c.user_id == user_id).order_by(members.c.team_id).limit(1)
    row = connection.execute(query).one_or_none()
    return None if row is None else member_of(row)


def _row(token: ApiToken, digest: str) -> dict[str, Any]:
    scopes, devices = json.dumps(sorted(token.scopes)), json.dumps(token.devices)
    return row_of(api_tokens, token, scopes=scopes, devices=devices, digest=digest)


def _token(row: Row[Any]) -> ApiToken:
    scopes = frozenset(map(TokenScope, json.loads(row.scopes)))
    return value_of(ApiToken, row, scopes=scopes, devices=tuple(json.loads(row.devices)))
