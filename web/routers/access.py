"""Teams and access: members with roles, tokens, and the audit log."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request

from services.domain.access import Principal, TokenScope, User
from services.domain.errors import ConfigurationError
from services.domain.quotas import Period, Quota, Resource
from services.teams.access import AccessService
from web.context import Admin, Operator, Reader, Services
from web.cookies import session_secret
from web.errors import responses
from web.schemas.access import (
    ActPageView,
    ActView,
    MemberBody,
    MemberView,
    NewTokenView,
    QuotaBody,
    QuotaView,
    RoleBody,
    SessionBody,
    TeamBody,
    TeamView,
    TokenBody,
    TokenView,
)
from web.schemas.base import NumberCursor, Page, number_of, page

router = APIRouter(tags=["team"])
Id = Annotated[str, Path(max_length=200)]


@router.get("/teams", responses=responses(404, 503))
async def list_teams(caller: Reader, services: Services) -> Page[TeamView]:
    """The caller's teams; all of them for admins of the team that runs the installation."""
    access = services.access
    known = await access.teams()
    if caller.runs_installation and caller.may(TokenScope.ADMIN):
        return page(TeamView.of(team) for team in known)
    own = {caller.team_id}
    if caller.user is not None and caller.token_id is None:
        own |= {member.team_id for member in await access.teams_of(caller.user)}
    return page(TeamView.of(team) for team in known if team.id in own)


@router.post("/teams", status_code=201, responses=responses(404, 409, 422, 503))
async def create_team(body: TeamBody, caller: Operator, services: Services) -> TeamView:
    """Make a team. Only for admins of the team that runs the installation."""
    return TeamView.of(await services.access.create_team(body.name, caller.actor))


@router.get("/members", responses=responses(404, 503))
async def list_members(caller: Reader, services: Services) -> Page[MemberView]:
    """The team's members, by login."""
    return page(MemberView.of(member) for member in await services.access.members(caller.team_id))


@router.post("/members", status_code=201, responses=responses(404, 409, 422, 503))
async def add_member(body: MemberBody, caller: Admin, services: Services) -> MemberView:
    """Make somebody a member, who may sign in from then on."""
    access = services.access
    return MemberView.of(await access.add_member(caller.team_id, body.login, body.role, caller.actor, body.name))


@router.put("/members/{user_id}", responses=responses(404, 409, 422, 503))
async def set_role(user_id: Id, body: RoleBody, caller: Admin, services: Services) -> MemberView:
    """Give a member another role."""
    return MemberView.of(await services.access.set_role(caller.team_id, user_id, body.role, caller.actor))


@router.delete("/members/{user_id}", status_code=204, responses=responses(404, 409, 422, 503))
async def remove_member(user_id: Id, caller: Admin, services: Services) -> None:
    """End a membership; the person's tokens of this team open nothing from then on."""
    await services.access.remove_member(caller.team_id, user_id, caller.actor)


@router.get("/tokens", responses=responses(404, 503))
async def list_tokens(caller: Reader, services: Services) -> Page[TokenView]:
    """The team's tokens for admins, one's own for others, newest first; never their secrets."""
    return page(TokenView.of(token) for token in await services.access.tokens(caller))


@router.post("/tokens", status_code=201, responses=responses(404, 422, 503))
async def create_token(body: TokenBody, caller: Reader, services: Services) -> NewTokenView:
    """Make a token. Its text is in this answer and nowhere else; it never permits more than its maker may do."""
    access = services.access
    owner = await _owner(access, caller, body)
    made = await access.create_token(caller, body.name, body.scopes, days=body.days, owner=owner, devices=body.devices)
    return NewTokenView.made(made)


@router.delete("/tokens/{token_id}", status_code=204, responses=responses(404, 422, 503))
async def revoke_token(token_id: Id, caller: Reader, services: Services) -> None:
    """End a token at once; again is harmless."""
    await services.access.revoke(caller, token_id)


@router.get("/quotas", responses=responses(404, 503))
async def list_quotas(caller: Reader, services: Services) -> Page[QuotaView]:
    """What the team may use in a day or month (UTC), and what it has used."""
    return page(QuotaView.of(usage) for usage in await services.quotas.usage(caller.team_id))


@router.put("/teams/{team}/quotas/{resource}/{period}", status_code=204, responses=responses(404, 422, 503))
async def set_quota(
    team: Id, resource: Resource, period: Period, body: QuotaBody, caller: Operator, services: Services
) -> None:
    """Limit what a team may use. Only for admins of the team that runs the installation."""
    quota = Quota(resource=resource, period=period, most=body.most)
    await services.quotas.set(team, quota, caller.actor)


@router.delete("/teams/{team}/quotas/{resource}/{period}", status_code=204, responses=responses(404, 422, 503))
async def drop_quota(team: Id, resource: Resource, period: Period, caller: Operator, services: Services) -> None:
    """Take a limit away; harmless where there is none. Only for admins of the team that runs the installation."""
    await services.quotas.drop(team, resource, period, caller.actor)


@router.get("/audit", responses=responses(404, 422, 503))
async def list_audit(
    caller: Admin,
    services: Services,
    cursor: NumberCursor = None,
    before: Annotated[
        int | None, Query(ge=0, lt=1 << 31, deprecated=True, description="the old name of cursor")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> ActPageView:
    """Who did what in the team, latest first."""
    start = before if cursor is None else number_of(cursor)
    found = await services.access.audit(caller.team_id, before=start, limit=limit + 1)
    shown = tuple(map(ActView.model_validate, found[:limit]))
    return ActPageView(items=shown, next_cursor=str(shown[-1].id) if len(found) > limit else None)


@router.put("/session", status_code=204, responses=responses(404, 422, 503))
async def choose_team(body: SessionBody, _caller: Reader, request: Request, services: Services) -> None:
    """Turn a browser's session to another of the person's teams."""
    secret = session_secret(request)
    if secret is None:
        raise ConfigurationError("a token belongs to one team: take a token of the other one")
    await services.access.look_at(secret, body.team)


async def _owner(access: AccessService, caller: Principal, body: TokenBody) -> User | None:
    """Whose token it will be. Raises `NotFoundError` for somebody who is no member."""
    if body.of_team:
        return None
    if body.login is not None:
        return (await access.member(caller.team_id, body.login)).user
    return caller.user
