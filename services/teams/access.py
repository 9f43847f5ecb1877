"""Teams and access: who is calling, who belongs to which team, and the tokens that programs carry."""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from services.domain.access import (
    ALL_SCOPES,
    ApiToken,
    AuditEntry,
    Identity,
    Member,
    Principal,
    Role,
    SignInSession,
    Team,
    TokenScope,
    User,
    new_token,
    token_digest,
)
from services.domain.errors import AuthenticationError, ConfigurationError, ForbiddenError, NotFoundError
from services.domain.jobs import LOCAL_TEAM
from services.ports.runtime import Clock
from services.ports.teams import AuditLog, KeyStore, TeamStore

TOKEN_MARK = "kw_"  # noqa: S105 -- how it begins
"""How every token begins, so that people and secret scanners know one when they see it."""
MAX_TOKEN_DAYS = 3650
SESSION_HOURS = 12
LEAST_WEIGHT, MOST_WEIGHT = 0.01, 1000
_TOKEN = re.compile(rf"{TOKEN_MARK}(?P<id>[0-9a-f]{{10}})_[A-Za-z0-9_-]{{43}}")
_TEAM = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_LOGIN = re.compile(r"[^\s\x00-\x1f\x7f\ud800-\udfff]{1,200}")
_DEVICE = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
_NOTED_TO = timedelta(minutes=1)


@dataclass(frozen=True, kw_only=True)
class NewToken:
    """A token at the one moment when its text is known."""

    token: ApiToken
    text: str


class AccessService:
    """The use cases of access for one installation."""

    def __init__(self, teams: TeamStore, keys: KeyStore, audit: AuditLog, clock: Clock) -> None:
        self._teams = teams
        self._keys = keys
        self._audit = audit
        self._clock = clock

    async def by_token(self, text: str) -> Principal:
        """The caller that a token stands for. Raises `AuthenticationError`, whatever is wrong with it."""
        form = _TOKEN.fullmatch(text)
        found = None if form is None else await self._keys.token(form["id"])
        if found is None or not hmac.compare_digest(found[1], token_digest(text)):
            raise AuthenticationError("Invalid or revoked token")
        token, _, member = found
        now = self._clock.now()
        if not token.works_at(now):
            raise AuthenticationError(
                f"token {token.id} has {'expired' if token.revoked_at is None else 'been revoked'}"
            )
        if token.user_id is not None and member is None:
            raise AuthenticationError(f"token {token.id} belongs to a user who has left team {token.team_id}")
        await self._note_use(token, now)
        return Principal(
            team_id=token.team_id,
            actor=f"token:{token.id}" if member is None else f"user:{member.user.login}",
            role=Role.ADMIN if member is None else member.role,
            scopes=token.scopes,
            user=None if member is None else member.user,
            token_id=token.id,
            devices=token.devices,
        )

    async def by_session(self, secret: str) -> Principal:
        """The person behind a browser's cookie. Raises `AuthenticationError`, and `ForbiddenError` where they belong to
        no team any more."""
        session = await self._session(secret)
        if session.team_id is None or session.role is None:
            raise ForbiddenError(f"{session.user.login} belongs to no team: ask an admin to add you")
        return Principal(
            team_id=session.team_id,
            actor=f"user:{session.user.login}",
            role=session.role,
            scopes=ALL_SCOPES,
            user=session.user,
        )

    async def sign_in(self, identity: Identity) -> str:
        """Open a session for a person who was identified; the cookie's secret. Raises `ForbiddenError` for somebody
        whom no admin has added."""
        login = None if identity.email is None else as_login(identity.email)
        user = await self._teams.identify(f"{identity.issuer} {identity.subject}", login, identity.name)
        if user is None:
            raise ForbiddenError(
                f"{identity.email or identity.name or 'this account'} is not a user here: ask an admin to add you "
                "(kernelwright user add)"
            )
        teams = await self._teams.memberships(user.id)
        if not teams:
            raise ForbiddenError(f"{user.login} belongs to no team: ask an admin to add you")
        secret = new_token()
        until = self._clock.now() + timedelta(hours=SESSION_HOURS)
        await self._keys.open_session(token_digest(secret), user.id, teams[0].team_id, until)
        await self._audit.append(teams[0].team_id, f"user:{user.login}", "sign_in", user.id, identity.issuer)
        return secret

    async def sign_out(self, secret: str) -> None:
        """End a session; harmless where there is none."""
        await self._keys.close_session(token_digest(secret))

    async def look_at(self, secret: str, team_id: str) -> None:
        """Turn a session to another of its user's teams. Raises `AuthenticationError`, `NotFoundError`."""
        await self._session(secret)
        await self._keys.look_at(token_digest(secret), team_id)

    async def create_team(self, team_id: str, actor: str) -> Team:
        """A new team. Raises `ConfigurationError` for a name that is none, `ConflictError` where it is taken."""
        if not _TEAM.fullmatch(team_id):
            raise ConfigurationError("a team's name is 1 to 63 of a-z, 0-9 and - (not at an end)")
        return await self._teams.create_team(team_id, actor)

    async def teams(self) -> tuple[Team, ...]:
        """All teams, by name."""
        return await self._teams.teams()

    async def set_weight(self, team_id: str, weight: float, actor: str) -> Team:
        """Another share of devices for a team. Raises `ConfigurationError` for a weight out of range, `NotFoundError`
        for an unknown team."""
        if not LEAST_WEIGHT <= weight <= MOST_WEIGHT:
            raise ConfigurationError(f"a team's weight is a number from {LEAST_WEIGHT} to {MOST_WEIGHT}, not {weight}")
        return await self._teams.set_weight(team_id, weight, actor)

    async def teams_of(self, user: User) -> tuple[Member, ...]:
        """The teams that a user belongs to, by name."""
        return await self._teams.memberships(user.id)

    async def members(self, team_id: str) -> tuple[Member, ...]:
        """A team's members, by login."""
        return await self._teams.members(team_id)

    async def add_member(self, team_id: str, login: str, role: Role, actor: str, name: str = "") -> Member:
        """Make somebody a member, who may sign in from then on. Raises `ConfigurationError`, `NotFoundError`,
        `ConflictError`."""
        return await self._teams.add_member(team_id, as_login(login), name, role, actor)

    async def member(self, team_id: str, login: str) -> Member:
        """A member by login. Raises `NotFoundError`."""
        wanted = as_login(login)
        for member in await self._teams.members(team_id):
            if member.user.login == wanted:
                return member
        raise NotFoundError(f"team {team_id} has no member {wanted}")

    async def set_role(self, team_id: str, user_id: str, role: Role, actor: str) -> Member:
        """Another role for a member. Raises `NotFoundError`, and `ConflictError` for the last admin."""
        return await self._teams.set_role(team_id, user_id, role, actor)

    async def remove_member(self, team_id: str, user_id: str, actor: str) -> None:
        """End a membership; the user's tokens of this team open nothing from then on. Raises as `set_role` does."""
        await self._teams.remove_member(team_id, user_id, actor)

    async def create_token(
        self,
        caller: Principal,
        name: str,
        scopes: Collection[TokenScope],
        *,
        days: int | None,
        owner: User | None,
        devices: Collection[str] = (),
    ) -> NewToken:
        """A token of a user, or of the team where there is no owner. It never permits more than its maker may do.
        `devices`: whose work orders it may take, for a node's.

        Raises `ForbiddenError`, and `ConfigurationError` for what makes no sense."""
        if not scopes:
            raise ConfigurationError(f"a token needs at least one scope of {', '.join(TokenScope)}")
        if days is not None and not 1 <= days <= MAX_TOKEN_DAYS:
            raise ConfigurationError(f"a token lives 1 to {MAX_TOKEN_DAYS} days, not {days}")
        if devices or TokenScope.NODE in scopes:
            _check_node(caller, scopes, owner, devices)
        else:
            self._check_maker(caller, scopes, owner)
        now = self._clock.now()
        token = ApiToken(
            id=secrets.token_hex(5),
            team_id=caller.team_id,
            user_id=None if owner is None else owner.id,
            name=name,
            scopes=frozenset(scopes),
            created_at=now,
            expires_at=None if days is None else now + timedelta(days=days),
            devices=tuple(sorted(set(devices))),
        )
        text = f"{TOKEN_MARK}{token.id}_{new_token()}"
        await self._keys.add_token(token, token_digest(text), caller.actor)
        return NewToken(token=token, text=text)

    async def tokens(self, caller: Principal) -> tuple[ApiToken, ...]:
        """The team's tokens for an admin, one's own for others, newest first."""
        return tuple(token for token in await self._keys.tokens(caller.team_id) if _may_touch(caller, token))

    async def revoke(self, caller: Principal, token_id: str) -> None:
        """End a token; again is harmless. Raises `NotFoundError` for one that the caller does not see."""
        if token_id not in {token.id for token in await self.tokens(caller)}:
            raise NotFoundError(f"no token {token_id}")
        await self._keys.revoke(caller.team_id, token_id, caller.actor)

    async def audit(self, team_id: str, *, before: int | None = None, limit: int = 50) -> tuple[AuditEntry, ...]:
        """What was done in a team, latest first."""
        return await self._audit.read(team_id, before=before, limit=limit)

    async def record(self, caller: Principal, action: str, subject: str = "", detail: str = "") -> None:
        """Enter an act in the audit log."""
        await self._audit.append(caller.team_id, caller.actor, action, subject, detail)

    async def _session(self, secret: str) -> SignInSession:
        session = await self._keys.session(token_digest(secret))
        if session is None:
            raise AuthenticationError("you are signed out: sign in again")
        return session

    async def _note_use(self, token: ApiToken, now: datetime) -> None:
        if token.used_at is None or now - token.used_at >= _NOTED_TO:
            await self._keys.used(token.id, now)

    def _check_maker(self, caller: Principal, scopes: Collection[TokenScope], owner: User | None) -> None:
        more = sorted(scope for scope in scopes if not caller.may(scope))
        if more:
            raise ForbiddenError(f"you cannot give a token the scope {more[0]}: you do not have it yourself")
        if caller.may(TokenScope.ADMIN):
            return
        if caller.token_id is not None:
            raise ForbiddenError("only a token with the scope admin can create tokens: sign in instead")
        if owner is None or caller.user is None or owner.id != caller.user.id:
            raise ForbiddenError("only admins can create tokens for the team or for others")


def as_login(text: str) -> str:
    """A login in the one form that is compared. Raises `ConfigurationError`."""
    login = text.strip().lower()
    if not _LOGIN.fullmatch(login):
        raise ConfigurationError("a login is 1 to 200 characters without spaces, usually an e-mail address")
    return login


def _check_node(
    caller: Principal, scopes: Collection[TokenScope], owner: User | None, devices: Collection[str]
) -> None:
    """A node works for all teams: only who runs the installation gives it a token, which opens nothing else."""
    if not (caller.runs_installation and caller.may(TokenScope.ADMIN)):
        raise ForbiddenError(
            f"only admins of the team {LOCAL_TEAM}, which runs this installation, may give tokens to nodes"
        )
    if set(scopes) != {TokenScope.NODE} or owner is not None:
        raise ConfigurationError("a node's token belongs to the team, and has the scope node and no other")
    if not devices:
        raise ConfigurationError("a node's token must name the devices whose orders it may take")
    if wrong := sorted(name for name in devices if not _DEVICE.fullmatch(name)):
        raise ConfigurationError(f"not a device's name: {wrong[0]!r}")


def _may_touch(caller: Principal, token: ApiToken) -> bool:
    return caller.may(TokenScope.ADMIN) or (caller.user is not None and token.user_id == caller.user.id)
