"""The `TeamStore` port over the database: teams, users, memberships."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, delete, func, select, update

from services.domain.access import Member, Role, Team, User
from services.domain.errors import ConflictError, NotFoundError
from services.ports.runtime import Clock
from storage.database import Database
from storage.db.mapping import value_of
from storage.db.statements import insert_one_new
from storage.db.transactions import writes
from storage.tables import members, teams, users
from storage.teams.audit import enter

JOINED: Select[Any] = select(members, *users.c).join(users, users.c.id == members.c.user_id)
"""Members with their users; `member_of` reads a row of it."""


_TEAM = (teams.c.id, teams.c.created_at, teams.c.weight)


class SqlTeamStore:
    """Teams and their members; each method is one transaction."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    @writes
    def create_team(self, connection: Connection, team_id: str, actor: str) -> Team:
        """A new team. Raises `ConflictError` where the name is taken."""
        now = self._clock.now()
        if not insert_one_new(connection, teams, {"id": team_id, "created_at": now}):
            raise ConflictError(f"there is a team {team_id} already")
        enter(connection, now, team_id, actor, "create_team", team_id)
        return Team(id=team_id, created_at=now)

    async def teams(self) -> tuple[Team, ...]:
        """All teams, by name."""
        query: Select[Any] = select(*_TEAM).order_by(teams.c.id)
        rows = await self._database.read(lambda connection: connection.execute(query).all())
        return tuple(value_of(Team, row) for row in rows)

    @writes
    def set_weight(self, connection: Connection, team_id: str, weight: float, actor: str) -> Team:
        """Another weight for a team. Raises `NotFoundError` for an unknown team."""
        now = self._clock.now()
        changed = update(teams).where(teams.c.id == team_id).values(weight=weight).returning(*_TEAM)
        row = connection.execute(changed).one_or_none()
        if row is None:
            raise NotFoundError(f"no team {team_id}")
        enter(connection, now, team_id, actor, "set_weight", team_id, f"{weight:g}")
        return value_of(Team, row)

    @writes
    def add_member(self, connection: Connection, team_id: str, login: str, name: str, role: Role, actor: str) -> Member:
        """Make somebody a member; a login that is new becomes a user. Raises `NotFoundError` for an unknown team,
        `ConflictError` where the user is a member."""
        now = self._clock.now()
        _lock_team(connection, team_id)
        user_id = _user_of(connection, login, name, now)
        row = {"team_id": team_id, "user_id": user_id, "role": str(role), "since": now}
        if not insert_one_new(connection, members, row):
            raise ConflictError(f"{login} is a member of team {team_id} already: change the role instead")
        enter(connection, now, team_id, actor, "add_member", user_id, f"{login} as {role}")
        return _member(connection, team_id, user_id)

    @writes
    def set_role(self, connection: Connection, team_id: str, user_id: str, role: Role, actor: str) -> Member:
        """Another role for a member. Raises `NotFoundError`, and `ConflictError` for the team's last admin."""
        now = self._clock.now()
        _lock_team(connection, team_id)
        known = _member(connection, team_id, user_id)
        if role is not Role.ADMIN:
            _keep_an_admin(connection, known)
        connection.execute(update(members).where(_one(team_id, user_id)).values(role=str(role)))
        enter(connection, now, team_id, actor, "set_role", user_id, f"{known.user.login}: {known.role} to {role}")
        return _member(connection, team_id, user_id)

    @writes
    def remove_member(self, connection: Connection, team_id: str, user_id: str, actor: str) -> None:
        """End a membership, and with it what the user's tokens open. Raises as `set_role` does."""
        now = self._clock.now()
        _lock_team(connection, team_id)
        known = _member(connection, team_id, user_id)
        _keep_an_admin(connection, known)
        connection.execute(delete(members).where(_one(team_id, user_id)))
        enter(connection, now, team_id, actor, "remove_member", user_id, known.user.login)

    async def members(self, team_id: str) -> tuple[Member, ...]:
        """A team's members, by login."""
        query = JOINED.where(members.c.team_id == team_id).order_by(users.c.login)
        rows = await self._database.read(lambda connection: connection.execute(query).all())
        return tuple(map(member_of, rows))

    async def memberships(self, user_id: str) -> tuple[Member, ...]:
        """The teams of a user, by name."""
        query = JOINED.where(members.c.user_id == user_id).order_by(members.c.team_id)
        rows = await self._database.read(lambda connection: connection.execute(query).all())
        return tuple(map(member_of, rows))

    @writes
    def identify(self, connection: Connection, subject: str, login: str | None, name: str) -> User | None:
        """The user that an identity belongs to; the first time the one who is waiting under the login. None for
        neither. Without a login (an address that nobody vouches for) only known identities are found."""
        row = connection.execute(select(users).where(users.c.subject == subject)).one_or_none()
        if row is None and login is not None:
            waiting = (users.c.login == login) & users.c.subject.is_(None)
            connection.execute(update(users).where(waiting).values(subject=subject, name=name or login))
            row = connection.execute(select(users).where(users.c.subject == subject)).one_or_none()
        return None if row is None else value_of(User, row)


def member_of(row: Row[Any]) -> Member:
    """The member of a row of `JOINED`."""
    return value_of(Member, row, user=value_of(User, row))


def _one(team_id: str, user_id: str) -> Any:
    return (members.c.team_id == team_id) & (members.c.user_id == user_id)


def _lock_team(connection: Connection, team_id: str) -> None:
    """Changes to one team's members come one after the other, so that two of them cannot leave it without an admin."""
    query = select(teams.c.id).where(teams.c.id == team_id).with_for_update(key_share=True)
    if connection.execute(query).one_or_none() is None:
        raise NotFoundError(f"no team {team_id}")


def _user_of(connection: Connection, login: str, name: str, now: datetime) -> str:
    row = {"id": f"usr-{uuid.uuid4().hex[:16]}", "login": login, "name": name or login, "created_at": now}
    insert_one_new(connection, users, row)
    return str(connection.execute(select(users.c.id).where(users.c.login == login)).scalar_one())


def _member(connection: Connection, team_id: str, user_id: str) -> Member:
    row = connection.execute(JOINED.where(_one(team_id, user_id))).one_or_none()
    if row is None:
        raise NotFoundError(f"no member {user_id}")
    return member_of(row)


def _keep_an_admin(connection: Connection, leaving: Member) -> None:
    if leaving.role is not Role.ADMIN:
        return
    query = select(func.count()).where(members.c.team_id == leaving.team_id, members.c.role == str(Role.ADMIN))
    if connection.execute(query).scalar_one() == 1:
        raise ConflictError(f"{leaving.user.login} is the last admin of team {leaving.team_id}: make another one first")
