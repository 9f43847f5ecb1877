"""Teams, their members, and what opens the API to them, in dictionaries."""

from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import datetime

from services.domain.access import ApiToken, Member, Role, SignInSession, Team, User
from services.domain.errors import ConflictError, NotFoundError
from services.ports.teams import KeyStore, TeamStore
from services.testing.database import InMemoryDatabase


class InMemoryTeamStore(TeamStore):
    """A `TeamStore` that keeps the last admin."""

    def __init__(self, database: InMemoryDatabase) -> None:
        self._database = database

    async def create_team(self, team_id: str, actor: str) -> Team:
        """A new team. Raises `ConflictError` where the name is taken."""
        if team_id in self._database.teams:
            raise ConflictError(f"there is a team {team_id} already")
        team = self._database.ensure_team(team_id)
        self._database.enter(team_id, actor, "create_team", team_id)
        return team

    async def teams(self) -> tuple[Team, ...]:
        """All teams, by name."""
        return tuple(team for _, team in sorted(self._database.teams.items()))

    async def set_weight(self, team_id: str, weight: float, actor: str) -> Team:
        """Another weight for a team. Raises `NotFoundError`."""
        self._check_team(team_id)
        team = self._database.teams[team_id] = replace(self._database.teams[team_id], weight=weight)
        self._database.enter(team_id, actor, "set_weight", team_id, f"{weight:g}")
        return team

    async def add_member(self, team_id: str, login: str, name: str, role: Role, actor: str) -> Member:
        """Make somebody a member. Raises `NotFoundError`, `ConflictError`."""
        self._check_team(team_id)
        now = self._database.clock.now()
        user = next((one for one in self._database.users.values() if one.login == login), None)
        if user is None:
            user = User(id=f"usr-{uuid.uuid4().hex[:16]}", login=login, name=name or login, created_at=now)
            self._database.users[user.id] = user
        if (team_id, user.id) in self._database.members:
            raise ConflictError(f"{login} is a member of team {team_id} already: change the role instead")
        self._database.members[team_id, user.id] = (role, now)
        self._database.enter(team_id, actor, "add_member", user.id, f"{login} as {role}")
        return self._member(team_id, user.id)

    async def set_role(self, team_id: str, user_id: str, role: Role, actor: str) -> Member:
        """Another role for a member. Raises `NotFoundError`, `ConflictError`."""
        self._check_team(team_id)
        known = self._member(team_id, user_id)
        if role is not Role.ADMIN:
            self._keep_an_admin(known)
        self._database.members[team_id, user_id] = (role, known.since)
        told = f"{known.user.login}: {known.role} to {role}"
        self._database.enter(team_id, actor, "set_role", user_id, told)
        return self._member(team_id, user_id)

    async def remove_member(self, team_id: str, user_id: str, actor: str) -> None:
        """End a membership. Raises `NotFoundError`, `ConflictError`."""
        self._check_team(team_id)
        known = self._member(team_id, user_id)
        self._keep_an_admin(known)
        del self._database.members[team_id, user_id]
        self._database.enter(team_id, actor, "remove_member", user_id, known.user.login)

    async def members(self, team_id: str) -> tuple[Member, ...]:
        """A team's members, by login."""
        found = [self._member(team, user) for team, user in self._database.members if team == team_id]
        return tuple(sorted(found, key=lambda member: member.user.login))

    async def memberships(self, user_id: str) -> tuple[Member, ...]:
        """The teams of a user, by name."""
        return self._database.memberships(user_id)

    async def identify(self, subject: str, login: str | None, name: str) -> User | None:
        """The user that an identity belongs to; the first time the one who is waiting under the login."""
        users = self._database.users
        known = next((user for user in users.values() if user.subject == subject), None)
        if known is None and login is not None:
            waiting = next((user for user in users.values() if user.login == login and user.subject is None), None)
            if waiting is not None:
                known = users[waiting.id] = replace(waiting, subject=subject, name=name or login)
        return known

    def _check_team(self, team_id: str) -> None:
        if team_id not in self._database.teams:
            raise NotFoundError(f"no team {team_id}")

    def _member(self, team_id: str, user_id: str) -> Member:
        member = self._database.member(team_id, user_id)
        if member is None:
            raise NotFoundError(f"no member {user_id}")
        return member

    def _keep_an_admin(self, leaving: Member) -> None:
        roles = [role for (team, _), (role, _) in self._database.members.items() if team == leaving.team_id]
        if leaving.role is Role.ADMIN and roles.count(Role.ADMIN) == 1:
            raise ConflictError(
                f"{leaving.user.login} is the last admin of team {leaving.team_id}: make another one first"
            )


class InMemoryKeyStore(KeyStore):
    """A `KeyStore` that holds the hashes of tokens and sessions."""

    def __init__(self, database: InMemoryDatabase) -> None:
        self._database = database

    async def add_token(self, token: ApiToken, digest: str, actor: str) -> None:
        """Keep a new token."""
        self._database.ensure_team(token.team_id)
        self._database.api_tokens[token.id] = (token, digest)
        told = f"{token.name}: {', '.join((*sorted(token.scopes), *token.devices))}"
        self._database.enter(token.team_id, actor, "create_token", token.id, told)

    async def token(self, token_id: str) -> tuple[ApiToken, str, Member | None] | None:
        """A token with its digest and its user's membership."""
        if token_id not in self._database.api_tokens:
            return None
        token, digest = self._database.api_tokens[token_id]
        return token, digest, self._database.member(token.team_id, token.user_id)

    async def tokens(self, team_id: str) -> tuple[ApiToken, ...]:
        """A team's tokens, newest first."""
        own = [token for token, _ in self._database.api_tokens.values() if token.team_id == team_id]
        own.sort(key=lambda token: token.id)
        return tuple(sorted(own, key=lambda token: token.created_at, reverse=True))

    async def revoke(self, team_id: str, token_id: str, actor: str) -> None:
        """End a token; again is harmless. Raises `NotFoundError`."""
        token, digest = self._database.api_tokens.get(token_id, (None, ""))
        if token is None or token.team_id != team_id:
            raise NotFoundError(f"no token {token_id}")
        if token.revoked_at is None:
            self._database.api_tokens[token_id] = (replace(token, revoked_at=self._database.clock.now()), digest)
            self._database.enter(team_id, actor, "revoke_token", token_id, token.name)

    async def used(self, token_id: str, at: datetime) -> None:
        """Note that a token was used."""
        token, digest = self._database.api_tokens[token_id]
        self._database.api_tokens[token_id] = (replace(token, used_at=at), digest)

    async def open_session(self, digest: str, user_id: str, team_id: str | None, expires_at: datetime) -> None:
        """Keep a session."""
        self._database.sessions[digest] = (user_id, team_id, expires_at)

    async def session(self, digest: str) -> SignInSession | None:
        """A session that has not expired."""
        user_id, team_id, expires_at = self._database.sessions.get(digest, (None, None, None))
        if user_id is None or expires_at is None or expires_at <= self._database.clock.now():
            return None
        member = self._database.member(team_id, user_id) or next(iter(self._database.memberships(user_id)), None)
        return SignInSession(
            user=self._database.users[user_id],
            team_id=None if member is None else member.team_id,
            role=None if member is None else member.role,
            expires_at=expires_at,
        )

    async def look_at(self, digest: str, team_id: str) -> None:
        """Turn a session to another team of its user. Raises `NotFoundError`."""
        user_id, _, expires_at = self._database.sessions.get(digest, (None, None, None))
        if user_id is None or expires_at is None or self._database.member(team_id, user_id) is None:
            raise NotFoundError(f"no team {team_id}")
        self._database.sessions[digest] = (user_id, team_id, expires_at)

    async def close_session(self, digest: str) -> None:
        """Forget a session; harmless where there is none."""
        self._database.sessions.pop(digest, None)
