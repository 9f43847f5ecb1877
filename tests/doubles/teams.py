"""Teams, keys, quotas, report links and the audit log in memory, and an identity provider."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from services.domain.access import (
    ApiToken,
    AuditEntry,
    Identity,
    Member,
    ReportShare,
    Role,
    SignInAttempt,
    SignInSession,
    Team,
    User,
)
from services.domain.errors import AuthenticationError, ConflictError, NotFoundError
from services.domain.quotas import Period, Quota, Resource
from services.domain.usage import Usage
from services.ports.runtime import Clock
from services.ports.teams import AuditLog, IdentityProvider, KeyStore, QuotaStore, ShareStore, TeamStore
from tests.doubles.database import InMemoryDatabase


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


class InMemoryAuditLog(AuditLog):
    """An `AuditLog` over what the stores in memory enter."""

    def __init__(self, database: InMemoryDatabase) -> None:
        self._database = database

    async def append(self, team_id: str, actor: str, action: str, subject: str = "", detail: str = "") -> None:
        """Enter an act."""
        self._database.ensure_team(team_id)
        self._database.enter(team_id, actor, action, subject, detail)

    async def read(self, team_id: str, *, before: int | None = None, limit: int = 50) -> tuple[AuditEntry, ...]:
        """A team's entries with `id < before`, latest first."""
        own = [one for one in self._database.acts if one.team_id == team_id and (before is None or one.id < before)]
        return tuple(own[: -limit - 1 : -1])


class InMemoryShareStore(ShareStore):
    """A `ShareStore` of its own."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: dict[str, ReportShare] = {}

    async def add(self, share: ReportShare) -> None:
        """Store a new link."""
        self._known[share.id] = share

    async def find(self, digest: str) -> ReportShare | None:
        """The link whose token has this digest."""
        return next((share for share in self._known.values() if share.digest == digest), None)

    async def list(self, team_id: str, job_id: str) -> tuple[ReportShare, ...]:
        """A job's links, newest first."""
        own = [share for share in self._known.values() if (share.team_id, share.job_id) == (team_id, job_id)]
        return tuple(sorted(sorted(own, key=lambda share: share.id), key=lambda share: share.created_at, reverse=True))

    async def revoke(self, team_id: str, job_id: str, share_id: str) -> ReportShare:
        """Close a link; again is harmless. Raises `NotFoundError`."""
        share = self._known.get(share_id)
        if share is None or (share.team_id, share.job_id) != (team_id, job_id):
            raise NotFoundError(f"no link {share_id}")
        if share.revoked_at is None:
            share = self._known[share_id] = replace(share, revoked_at=self._clock.now())
        return share


class InMemoryQuotaStore(QuotaStore):
    """A `QuotaStore` that counts anew at each call."""

    def __init__(self, database: InMemoryDatabase) -> None:
        self._database = database

    async def limits(self, team_id: str) -> tuple[Quota, ...]:
        """A team's limits."""
        own = [(key, quota) for key, quota in self._database.quotas.items() if key[0] == team_id]
        return tuple(quota for _, quota in sorted(own, key=lambda item: item[0]))

    async def limited_teams(self) -> tuple[str, ...]:
        """Teams that have limits."""
        return tuple(sorted({team for team, _, _ in self._database.quotas}))

    async def set(self, team_id: str, quota: Quota, actor: str) -> None:
        """Set a limit. Raises `NotFoundError`."""
        self._check_team(team_id)
        self._database.quotas[team_id, quota.resource, quota.period] = quota
        told = f"{quota.resource}: {quota.most:g} a {quota.period}"
        self._database.enter(team_id, actor, "set_quota", team_id, told)

    async def drop(self, team_id: str, resource: Resource, period: Period, actor: str) -> None:
        """Take a limit away. Raises `NotFoundError`."""
        self._check_team(team_id)
        if self._database.quotas.pop((team_id, resource, period), None) is not None:
            self._database.enter(team_id, actor, "drop_quota", team_id, f"{resource} a {period}")

    async def used(self, team_id: str, wanted: Sequence[tuple[Resource, datetime]]) -> tuple[float, ...]:
        """What a team has used of each resource since a moment, in that order."""
        return tuple(self._used(team_id, resource, since) for resource, since in wanted)

    def _used(self, team_id: str, resource: Resource, since: datetime) -> float:
        if resource is Resource.JOBS:
            jobs = self._database.jobs.values()
            return float(sum(job.team_id == team_id and job.created_at >= since for job in jobs))
        if resource is Resource.DEVICE_S:
            judged = self._database.judged.items()
            own = (name for name, (request, at) in judged if request.team_id == team_id and at >= since)
            return sum(self._database.reports[name].phases_s.total for name in own)
        calls = list(self._calls(team_id, since))
        return float(sum(one.tokens if resource is Resource.TOKENS else one.dollars or 0.0 for one in calls))

    async def record(self, team_id: str, usage: Usage) -> None:
        """Count model calls that belong to no job. Raises `NotFoundError`."""
        self._check_team(team_id)
        self._database.playground_calls.append((team_id, self._database.clock.now(), usage))

    def _calls(self, team_id: str, since: datetime) -> Iterator[Usage]:
        yield from (usage for team, at, usage in self._database.playground_calls if team == team_id and at >= since)
        for steps in self._database.steps.values():
            yield from (step.usage for step in steps if step.team_id == team_id and step.finished_at >= since)

    def _check_team(self, team_id: str) -> None:
        if team_id not in self._database.teams:
            raise NotFoundError(f"no team {team_id}")


class FakeIdentityProvider(IdentityProvider):
    """An `IdentityProvider` that sends the browser straight back, signed in as `person`."""

    def __init__(self, person: Identity, name: str = "Example ID") -> None:
        self.person = person
        self._name = name
        self._begun: dict[str, tuple[str, SignInAttempt]] = {}
        """Code to where the browser was sent back to, and its attempt."""

    @property
    def name(self) -> str:
        """As given."""
        return self._name

    async def begin(self, redirect_uri: str) -> tuple[str, SignInAttempt]:
        """The address that the browser comes back to."""
        code, state = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
        attempt = SignInAttempt(state=state, nonce=secrets.token_urlsafe(24), verifier=secrets.token_urlsafe(48))
        self._begun[code] = (redirect_uri, attempt)
        return f"{redirect_uri}?code={code}&state={state}", attempt

    async def finish(self, redirect_uri: str, code: str, attempt: SignInAttempt) -> Identity:
        """The person, once for each code. Raises `AuthenticationError`."""
        if self._begun.pop(code, None) != (redirect_uri, attempt):
            raise AuthenticationError(f"{self.name} refuses: invalid_grant")
        return self.person
