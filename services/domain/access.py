"""Who may do what: teams, users, memberships with roles, tokens with scopes, links, and the caller of a request."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from services.domain.jobs import LOCAL_TEAM


class TokenScope(StrEnum):
    """What a call may do; a token is given some of them."""

    READ = "read"
    """See everything of the team."""
    WRITE = "write"
    """Submit and steer jobs, answer requests, add to memory."""
    ADMIN = "admin"
    """Retract, and manage members, tokens and shares."""
    NODE = "node"
    """Take work orders for the token's devices and answer them. No role has it, and no other scope stands beside it."""


class Role(StrEnum):
    """What a member of a team may do."""

    VIEWER = "viewer"
    MEMBER = "member"
    ADMIN = "admin"

    @property
    def scopes(self) -> frozenset[TokenScope]:
        """What the role permits; each role permits what the one below does."""
        order = (TokenScope.READ, TokenScope.WRITE, TokenScope.ADMIN)
        return frozenset(order[: tuple(Role).index(self) + 1])


@dataclass(frozen=True, kw_only=True)
class Team:
    """A team: everything but users belongs to one."""

    id: str
    """Its name, which never changes."""
    created_at: datetime
    weight: float = 1.0
    """Its share of devices and orchestrators beside the other teams': twice the weight, twice the share."""


@dataclass(frozen=True, kw_only=True)
class User:
    """A person who signs in; may belong to several teams."""

    id: str
    login: str
    """What admins call the person: lower case, usually the e-mail address that the identity provider vouches for."""
    name: str
    """What others see."""
    created_at: datetime
    subject: str | None = None
    """`issuer subject` of the identity that the person first signed in with; None before."""


@dataclass(frozen=True, kw_only=True)
class Member:
    """A user in a team."""

    team_id: str
    user: User
    role: Role
    since: datetime


@dataclass(frozen=True, kw_only=True)
class ApiToken:
    """A token as it is remembered: its secret is known to nobody but its holder."""

    id: str
    """Also the readable part of the token's text: `kw_<id>_<secret>`."""
    team_id: str
    user_id: str | None
    """Whose rights it lends, as they are at the moment of use; None for one of the team itself (CI, Prometheus)."""
    name: str
    scopes: frozenset[TokenScope]
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None = None
    used_at: datetime | None = None
    """When it was last used, to the minute."""
    devices: tuple[str, ...] = ()
    """Devices whose work orders it may take, for a node's token; empty for every other."""

    def works_at(self, now: datetime) -> bool:
        """Whether it opens anything."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


@dataclass(frozen=True, kw_only=True)
class SignInSession:
    """A browser that has signed in."""

    user: User
    team_id: str | None
    """The team it looks at; None while the user belongs to none."""
    role: Role | None
    expires_at: datetime


@dataclass(frozen=True, kw_only=True)
class Identity:
    """A person as an identity provider describes them, after its signature was checked."""

    issuer: str
    subject: str
    name: str
    email: str | None
    """Only one that the provider has verified."""


@dataclass(frozen=True, kw_only=True)
class SignInAttempt:
    """What a browser that was sent to the identity provider must come back with."""

    state: str
    """Ties the answer to the browser."""
    nonce: str
    """Ties the ID token to the attempt."""
    verifier: str
    """Ties the code to us (PKCE)."""


@dataclass(frozen=True, kw_only=True)
class Principal:
    """Who makes a request, for which team, and what that may do. All that is read or written carries the team."""

    team_id: str
    actor: str
    """For the audit log: `user:alice@example.org`, `token:ab12cd34`, `local`, `server-token`, `cli:root`."""
    role: Role
    scopes: frozenset[TokenScope]
    user: User | None = None
    token_id: str | None = None
    devices: tuple[str, ...] = ()
    """Devices whose work orders a node may take."""

    def may(self, scope: TokenScope) -> bool:
        """Whether both the role and the scopes permit it."""
        return scope in self.scopes and scope in self.role.scopes

    @property
    def is_node(self) -> bool:
        """Whether it is a device node, which takes work orders and does nothing else."""
        return TokenScope.NODE in self.scopes

    def signed(self, claimed: str) -> str:
        """Whose name an act is entered under: the one that the caller claims, with who it really is where we know."""
        return claimed if self.user is None and self.token_id is None else f"{claimed} ({self.actor})"

    @property
    def runs_installation(self) -> bool:
        """Whether it belongs to the team that runs the installation, which makes teams and sets their quotas."""
        return self.team_id == LOCAL_TEAM


ALL_SCOPES = Role.ADMIN.scopes
"""What people may do; a node's scope is not among it."""


def local_principal(actor: str) -> Principal:
    """The one user of an installation without users: everything, in the team `local`."""
    return Principal(team_id=LOCAL_TEAM, actor=actor, role=Role.ADMIN, scopes=ALL_SCOPES)


@dataclass(frozen=True, kw_only=True)
class AuditEntry:
    """Something that somebody did."""

    id: int
    team_id: str
    actor: str
    action: str
    """Name of the act as the API calls it: `submit_job`, `create_token`."""
    subject: str
    """Id of what it was done to; empty where there is none."""
    detail: str
    """What else is worth knowing, for people."""
    at: datetime


TOKEN_BYTES = 32


def new_token() -> str:
    """A fresh secret: 256 random bits, so that a plain hash of it is enough at rest."""
    return secrets.token_urlsafe(TOKEN_BYTES)


def token_digest(token: str) -> str:
    """What is stored of a secret: its SHA-256 in hexadecimal digits."""
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()


@dataclass(frozen=True, kw_only=True)
class ReportShare:
    """One link to one job's report, as stored: its token is known to those who have the link only."""

    id: str
    team_id: str
    job_id: str
    digest: str
    """SHA-256 of the token, in hexadecimal digits."""
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None = None

    def is_open(self, now: datetime) -> bool:
        """Whether the link shows anything."""
        return self.revoked_at is None and now < self.expires_at
