"""Teams and what belongs to them: access, quotas, the audit log, report links, webhooks."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol

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
from services.domain.quotas import Period, Quota, Resource
from services.domain.usage import Usage
from services.domain.webhooks import Delivery, DeliveryOutcome, Webhook


class TeamStore(Protocol):
    """Teams, users and who is a member of which. Every change is entered in the audit log in the same transaction."""

    async def create_team(self, team_id: str, actor: str) -> Team:
        """A new team. Raises `ConflictError` where the name is taken."""

    async def teams(self) -> tuple[Team, ...]:
        """All teams, by name."""

    async def set_weight(self, team_id: str, weight: float, actor: str) -> Team:
        """Another weight for a team. Raises `NotFoundError` for an unknown team."""

    async def add_member(self, team_id: str, login: str, name: str, role: Role, actor: str) -> Member:
        """Make somebody a member; a login that is new becomes a user. Raises `NotFoundError` for an unknown team,
        `ConflictError` where the user is a member."""

    async def set_role(self, team_id: str, user_id: str, role: Role, actor: str) -> Member:
        """Another role for a member. Raises `NotFoundError`, and `ConflictError` for the team's last admin."""

    async def remove_member(self, team_id: str, user_id: str, actor: str) -> None:
        """End a membership, and with it what the user's tokens open. Raises as `set_role` does."""

    async def members(self, team_id: str) -> tuple[Member, ...]:
        """A team's members, by login."""

    async def memberships(self, user_id: str) -> tuple[Member, ...]:
        """The teams of a user, by name."""

    async def identify(self, subject: str, login: str | None, name: str) -> User | None:
        """The user that an identity belongs to; the first time the one who is waiting under the login. None for
        neither. Without a login (an address that nobody vouches for) only known identities are found."""


class KeyStore(Protocol):
    """What opens the API: tokens and browser sessions, each known by the SHA-256 of its secret."""

    async def add_token(self, token: ApiToken, digest: str, actor: str) -> None:
        """Keep a new token, and say so in the audit log."""

    async def token(self, token_id: str) -> tuple[ApiToken, str, Member | None] | None:
        """A token with its digest and, where it is a user's, that user's membership if there still is one."""

    async def tokens(self, team_id: str) -> tuple[ApiToken, ...]:
        """A team's tokens, newest first."""

    async def revoke(self, team_id: str, token_id: str, actor: str) -> None:
        """End a token; again is harmless. Raises `NotFoundError`."""

    async def used(self, token_id: str, at: datetime) -> None:
        """Note that a token was used."""

    async def open_session(self, digest: str, user_id: str, team_id: str | None, expires_at: datetime) -> None:
        """Keep a session; those that have expired are forgotten on the way."""

    async def session(self, digest: str) -> SignInSession | None:
        """A session that has not expired, in the team that it looks at, else the first that its user belongs to."""

    async def look_at(self, digest: str, team_id: str) -> None:
        """Turn a session to another team of its user. Raises `NotFoundError`."""

    async def close_session(self, digest: str) -> None:
        """Forget a session; harmless where there is none."""


class QuotaStore(Protocol):
    """What teams may use, and what they have used."""

    async def limits(self, team_id: str) -> tuple[Quota, ...]:
        """A team's limits."""

    async def limited_teams(self) -> tuple[str, ...]:
        """Teams that have limits."""

    async def set(self, team_id: str, quota: Quota, actor: str) -> None:
        """Set a limit, and say so in the audit log. Raises `NotFoundError` for an unknown team."""

    async def drop(self, team_id: str, resource: Resource, period: Period, actor: str) -> None:
        """Take a limit away; harmless where there is none. Raises `NotFoundError` for an unknown team."""

    async def used(self, team_id: str, wanted: Sequence[tuple[Resource, datetime]]) -> tuple[float, ...]:
        """What a team has used of each resource since a moment, in that order."""

    async def record(self, team_id: str, usage: Usage) -> None:
        """Count model calls that belong to no job. Raises `NotFoundError` for an unknown team."""


class IdentityProvider(Protocol):
    """Where people sign in."""

    @property
    def name(self) -> str:
        """What people call it."""

    async def begin(self, redirect_uri: str) -> tuple[str, SignInAttempt]:
        """The address to send a browser to, and what to remember until it comes back. Raises `InfrastructureError`."""

    async def finish(self, redirect_uri: str, code: str, attempt: SignInAttempt) -> Identity:
        """Who has signed in. Raises `AuthenticationError` for an answer that proves nothing, `InfrastructureError`."""


class AuditLog(Protocol):
    """Who did what: appended to, never changed."""

    async def append(self, team_id: str, actor: str, action: str, subject: str = "", detail: str = "") -> None:
        """Enter an act."""

    async def read(self, team_id: str, *, before: int | None = None, limit: int = 50) -> tuple[AuditEntry, ...]:
        """A team's entries with `id < before`, latest first."""


class ShareStore(Protocol):
    """Read-only links to reports."""

    async def add(self, share: ReportShare) -> None:
        """Store a new link."""

    async def find(self, digest: str) -> ReportShare | None:
        """The link whose token has this digest, of whichever team: the token is all that its bearer has."""

    async def list(self, team_id: str, job_id: str) -> tuple[ReportShare, ...]:
        """A job's links, newest first; those that are revoked or have expired too."""

    async def revoke(self, team_id: str, job_id: str, share_id: str) -> ReportShare:
        """Close a link; again is harmless. Raises `NotFoundError`."""


class WebhookStore(Protocol):
    """Webhooks and their messages as rows. A message about an event is written in the event's own transaction."""

    async def add(self, webhook: Webhook) -> None:
        """Store a new webhook."""

    async def list(self, team_id: str) -> tuple[Webhook, ...]:
        """The team's webhooks, oldest first."""

    async def get(self, team_id: str, webhook_id: str) -> Webhook:
        """One webhook. Raises `NotFoundError`."""

    async def enable(self, team_id: str, webhook_id: str, *, enabled: bool, note: str | None) -> Webhook:
        """Switch a webhook on or off, with the reason. Raises `NotFoundError`."""

    async def remove(self, team_id: str, webhook_id: str) -> None:
        """Remove a webhook with its messages. Raises `NotFoundError`."""

    async def place(self, delivery: Delivery) -> None:
        """Store a message; one of its id changes nothing."""

    async def deliveries(self, team_id: str, webhook_id: str, limit: int) -> tuple[Delivery, ...]:
        """A webhook's messages, newest first."""

    async def resend(self, team_id: str, webhook_id: str, delivery_id: str) -> Delivery:
        """Make a message due now, with all its attempts before it. Raises `NotFoundError`."""

    async def claim(
        self, limit: int, lease_s: float, *, each: int | None = None, busy: Collection[str] = ()
    ) -> tuple[tuple[Webhook, Delivery], ...]:
        """Take messages that are due, of webhooks that are on and not `busy` (ids), at most `each` of one webhook; each
        message counts as tried once more, and is due again after `lease_s` unless it is settled before."""

    async def settle(self, delivery: Delivery, outcome: DeliveryOutcome, due_at: datetime | None) -> bool:
        """Store what came of a claimed message's attempt: due again at a time, or ended where that is None. False where
        somebody else has claimed it since: nothing was written."""

    async def prune(self, before: datetime) -> int:
        """Remove messages that ended before a time; how many."""


class MessageSender(Protocol):
    """Brings messages to receivers."""

    async def send(self, webhook: Webhook, delivery: Delivery, at: datetime) -> DeliveryOutcome:
        """Sign a message and try to bring it once. Never raises for what the receiver does."""
