"""What the part of the REST API about teams and access takes and gives."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field, computed_field

from services.domain.access import ApiToken, Member, Role, Team, TokenScope
from services.domain.quotas import Period, QuotaUsage, Resource
from services.teams.access import MAX_TOKEN_DAYS, NewToken
from web.schemas.base import Body, Name, Page, View, formerly

Login = Annotated[str, Field(min_length=1, max_length=200)]


class TeamBody(Body):
    """A new team."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")]


class TeamView(View):
    """A team."""

    name: str
    created_at: datetime

    @classmethod
    def of(cls, team: Team) -> TeamView:
        """The list's entry about a team."""
        return cls(name=team.id, created_at=team.created_at)


class MemberBody(Body):
    """Somebody who shall be a member."""

    login: Login
    """The e-mail address that the identity provider vouches for."""
    role: Role = Role.MEMBER
    name: Annotated[str, Field(max_length=200)] = ""


class RoleBody(Body):
    """Another role."""

    role: Role


class MemberView(View):
    """A member of the caller's team."""

    user_id: str
    login: str
    name: str
    role: Role
    since: datetime
    signed_in: bool
    """Whether this person has ever signed in."""

    @classmethod
    def of(cls, member: Member) -> MemberView:
        """The list's entry about a member."""
        return cls.from_parts(member, member.user, user_id=member.user.id, signed_in=member.user.subject is not None)


class TokenBody(Body):
    """A new token."""

    name: Name
    """What it is for."""
    scopes: Annotated[tuple[TokenScope, ...], Field(min_length=1, max_length=8)] = (TokenScope.READ, TokenScope.WRITE)
    days: Annotated[int, Field(ge=1, le=MAX_TOKEN_DAYS)] | None = 90
    """How long it lives; null for ever."""
    login: Login | None = None
    """Whose token it is: it does what they may do, as long as they are a member. Default: the caller's own, and the
    team's where the caller is no user."""
    devices: Annotated[tuple[Annotated[str, Field(max_length=63)], ...], Field(max_length=32)] = ()
    """Devices whose work orders a node may take, with the scope `node` alone; only admins of the team that runs the
    installation may."""
    of_team: bool = False
    """Make a token of the team itself, for CI or Prometheus; only admins may."""


class TokenView(View):
    """A token without its secret."""

    id: str
    prefix: str
    """How its text begins."""
    name: str
    user_id: str | None
    """Null for a token of the team."""
    scopes: tuple[TokenScope, ...]
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    used_at: datetime | None
    """To the minute."""
    devices: tuple[str, ...]
    """Of a node's token: whose work orders it may take."""

    @classmethod
    def of(cls, token: ApiToken) -> TokenView:
        """The list's entry about a token."""
        return cls.from_parts(token, prefix=f"kw_{token.id}_", scopes=in_order(token.scopes))


class NewTokenView(View):
    """A new token, with its text, which is never shown again."""

    token: TokenView
    text: str

    @classmethod
    def made(cls, new: NewToken) -> NewTokenView:
        """The answer to a request for a token."""
        return cls(token=TokenView.of(new.token), text=new.text)


class ActView(View):
    """An entry of the audit log."""

    id: int
    actor: str
    action: str
    subject: str
    detail: str
    at: datetime


class ActPageView(Page[ActView]):
    """Entries, latest first."""

    @computed_field(**formerly("the same as `items`"))  # type: ignore[prop-decorator]
    @property
    def entries(self) -> tuple[ActView, ...]:
        """The field's old name."""
        return self.items

    @computed_field(**formerly("the same as `next_cursor`, to be passed as `before`"))  # type: ignore[prop-decorator]
    @property
    def next_before(self) -> int | None:
        """The field's old name."""
        return None if self.next_cursor is None else int(self.next_cursor)


class QuotaBody(Body):
    """A limit."""

    most: Annotated[float, Field(ge=0, allow_inf_nan=False)]


class QuotaView(View):
    """A limit of the caller's team, and how much of it is used."""

    resource: Resource
    period: Period
    most: float
    used: float
    resets_at: datetime

    @classmethod
    def of(cls, usage: QuotaUsage) -> QuotaView:
        """The list's entry about a quota."""
        return cls.from_parts(usage, usage.quota)


class SessionBody(Body):
    """Which of the caller's teams to look at."""

    team: Name


def in_order(scopes: frozenset[TokenScope]) -> tuple[TokenScope, ...]:
    """Scopes from the least to the most."""
    return tuple(scope for scope in TokenScope if scope in scopes)
