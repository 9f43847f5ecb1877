"""`kernelwright team`, `user`, `token`, `audit`: who may do what, changed in the database itself.

These commands need no token: access to the database makes their user the operator.
"""

from __future__ import annotations

import dataclasses
import getpass
import re
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from kernelwright.cli.local import run_over
from kernelwright.cli.options import listed
from kernelwright.cli.output import AsJson, print_json, print_list, print_table, say
from services.domain.access import ALL_SCOPES, Principal, Role, TokenScope
from services.domain.errors import ConfigurationError, NotFoundError
from services.domain.jobs import LOCAL_TEAM
from services.domain.quotas import Period, Quota, Resource

if TYPE_CHECKING:
    from services.domain.access import ApiToken, AuditEntry, Member
    from services.domain.quotas import QuotaUsage
    from services.teams.access import AccessService, NewToken
    from services.teams.quotas import QuotaService

T = TypeVar("T")
_LIMIT = re.compile(rf"(?P<resource>{'|'.join(Resource)})=(?P<most>none|\d+(?:\.\d+)?)/(?P<period>{'|'.join(Period)})")
team = typer.Typer(help="Teams.", no_args_is_help=True)
user = typer.Typer(help="Members of a team.", no_args_is_help=True)
token = typer.Typer(help="API tokens.", no_args_is_help=True)
OfTeam = Annotated[str, typer.Option("--team", help="Team.")]
Login = Annotated[str, typer.Argument(help="Email address at the identity provider.")]
RoleOption = Annotated[Role, typer.Option("--role", help="The member's role.")]


@team.command("create")
def create_team(name: Annotated[str, typer.Argument(help="Name: 1 to 63 characters from a-z, 0-9 and -.")]) -> None:
    """Create a team."""
    typer.echo(_with_access(lambda access: access.create_team(name, _actor())).id)


@team.command("list")
def list_teams(as_json: AsJson = False) -> None:
    """List all teams."""
    found = _with_access(lambda access: access.teams())
    headings = ("team", "since", "weight")
    print_list(found, headings, lambda item: (item.id, _day(item.created_at), f"{item.weight:g}"), as_json=as_json)


@team.command("weight")
def weight(
    name: Annotated[str, typer.Argument(metavar="TEAM")],
    value: Annotated[float, typer.Argument(metavar="WEIGHT", help="Twice the weight is twice the share (default 1).")],
) -> None:
    """Set a team's share of devices.

    Beside the other teams', of devices and orchestrators, while several have work waiting."""
    changed = _with_access(lambda access: access.set_weight(name, value, _actor()))
    typer.echo(f"{changed.id} has weight {changed.weight:g}")


@team.command("quota")
def quota(
    name: Annotated[str, typer.Argument(metavar="TEAM")],
    limits: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RESOURCE=MOST/PERIOD]...",
            help="For example jobs=200/day; jobs=none/day removes it.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Set a team's quotas and show its usage.

    Quotas are of jobs, tokens, dollars and device_s, per day or month (UTC)."""
    from kernelwright.wiring.access import open_quotas

    wanted = [_limit(text) for text in limits or ()]

    async def work(quotas: QuotaService) -> tuple[QuotaUsage, ...]:
        for resource, period, most in wanted:
            if most is None:
                await quotas.drop(name, resource, period, _actor())
            else:
                await quotas.set(name, Quota(resource=resource, period=period, most=most), _actor())
        return await quotas.usage(name)

    def cells(item: QuotaUsage) -> tuple[str, ...]:
        limit = item.quota
        return limit.resource, limit.period, f"{limit.most:g}", f"{item.used:g}", _day(item.resets_at)

    print_list(run_over(open_quotas, work), ("resource", "period", "most", "used", "resets"), cells, as_json=as_json)


@user.command("add")
def add_user(
    login: Login,
    of_team: OfTeam = LOCAL_TEAM,
    role: RoleOption = Role.MEMBER,
    name: Annotated[str, typer.Option(help="Display name.")] = "",
) -> None:
    """Add a member to a team."""
    member = _with_access(lambda access: access.add_member(of_team, login, role, _actor(), name))
    typer.echo(member.user.id)


@user.command("list")
def list_users(of_team: OfTeam = LOCAL_TEAM, as_json: AsJson = False) -> None:
    """List a team's members."""

    async def work(access: AccessService) -> tuple[Member, ...]:
        await _check_team(access, of_team)
        return await access.members(of_team)

    def cells(item: Member) -> tuple[str, ...]:
        return item.user.login, item.role, _day(item.since), "yes" if item.user.subject else "no"

    print_list(_with_access(work), ("login", "role", "since", "signed in"), cells, as_json=as_json)


@user.command("role")
def set_role(login: Login, role: Annotated[Role, typer.Argument()], of_team: OfTeam = LOCAL_TEAM) -> None:
    """Change a member's role."""

    async def work(access: AccessService) -> Member:
        return await access.set_role(of_team, (await access.member(of_team, login)).user.id, role, _actor())

    typer.echo(f"{login} is {_with_access(work).role} of {of_team}")


@user.command("remove")
def remove_user(login: Login, of_team: OfTeam = LOCAL_TEAM) -> None:
    """Remove a member from a team.

    Their tokens for this team stop working."""

    async def work(access: AccessService) -> None:
        await access.remove_member(of_team, (await access.member(of_team, login)).user.id, _actor())

    _with_access(work)
    typer.echo(f"Removed {login} from {of_team}")


@token.command("create")
def create_token(
    name: Annotated[str, typer.Argument(help="Name of the token.")],
    of_team: OfTeam = LOCAL_TEAM,
    login: Annotated[
        str | None, typer.Option("--user", help="User whose permissions it has (default: the team's).")
    ] = None,
    scopes: Annotated[
        str | None, typer.Option(help="Scopes, comma-separated: read, write, admin.", show_default="read,write")
    ] = None,
    node: Annotated[
        str | None,
        typer.Option(
            metavar="DEVICES",
            help="Create a node's token, for `worker --server`: it takes orders for these devices, and nothing else.",
        ),
    ] = None,
    days: Annotated[int | None, typer.Option(min=1, help="Days until it expires.", show_default="90")] = None,
    for_ever: Annotated[bool, typer.Option("--for-ever", help="Create a token that never expires.")] = False,
    as_json: AsJson = False,
) -> None:
    """Create a token and print it. It is shown only once."""
    if for_ever and days is not None:
        raise ConfigurationError("use either --days or --for-ever")
    if node is not None and scopes is not None:
        raise ConfigurationError("use either --scopes or --node")
    of_devices = listed(node or "")
    wanted = frozenset({TokenScope.NODE}) if node is not None else _scopes(scopes or "read,write")
    lives = None if for_ever else days or 90

    async def work(access: AccessService) -> NewToken:
        await _check_team(access, of_team)
        owner = None if login is None else (await access.member(of_team, login)).user
        return await access.create_token(_operator(of_team), name, wanted, days=lives, owner=owner, devices=of_devices)

    made = _with_access(work)
    if as_json:
        print_json({"token": _plain(made.token), "text": made.text})
        return
    say(f"token {made.token.id} of team {of_team}; copy it now, it is not shown again:")
    typer.echo(made.text)


@token.command("list")
def list_tokens(of_team: OfTeam = LOCAL_TEAM, as_json: AsJson = False) -> None:
    """List a team's tokens, without their secrets."""

    async def work(access: AccessService) -> tuple[ApiToken, ...]:
        await _check_team(access, of_team)
        return await access.tokens(_operator(of_team))

    found = _with_access(work)
    if as_json:
        print_json([_plain(item) for item in found])
        return
    rows = [
        (
            item.id,
            item.name,
            ",".join((*sorted(item.scopes), *item.devices)),
            "revoked" if item.revoked_at else _day(item.expires_at),
            _day(item.used_at),
        )
        for item in found
    ]
    print_table(("token", "name", "scopes", "expires", "last used"), rows)


@token.command("revoke")
def revoke_token(
    token_id: Annotated[str, typer.Argument(metavar="TOKEN", help="Token id, as shown by `token list`.")],
    of_team: OfTeam = LOCAL_TEAM,
) -> None:
    """Revoke a token."""
    _with_access(lambda access: access.revoke(_operator(of_team), token_id))
    typer.echo(f"Revoked token {token_id}")


def audit(
    of_team: OfTeam = LOCAL_TEAM,
    limit: Annotated[int, typer.Option(min=1, max=500, help="Maximum number of entries.")] = 50,
    before: Annotated[int | None, typer.Option(help="Show only entries before this number.")] = None,
    as_json: AsJson = False,
) -> None:
    """Print a team's audit log, newest first."""

    def cells(item: AuditEntry) -> tuple[str, ...]:
        return str(item.id), f"{item.at:%Y-%m-%d %H:%M:%S}", item.actor, item.action, item.subject, item.detail

    found = _with_access(lambda access: access.audit(of_team, before=before, limit=limit))
    print_list(found, ("number", "time (UTC)", "actor", "action", "target", "detail"), cells, as_json=as_json)


def _scopes(text: str) -> frozenset[TokenScope]:
    given = set(listed(text))
    if TokenScope.NODE in given:
        raise ConfigurationError("the scope node is only for the tokens of nodes: use --node DEVICES")
    if unknown := sorted(given - set(TokenScope)):
        raise ConfigurationError(
            f"unknown scope {unknown[0]!r}; known: {', '.join(scope for scope in TokenScope if scope in ALL_SCOPES)}"
        )
    return frozenset(map(TokenScope, given))


def _actor() -> str:
    return f"cli:{getpass.getuser()}"


def _operator(of_team: str) -> Principal:
    return Principal(team_id=of_team, actor=_actor(), role=Role.ADMIN, scopes=ALL_SCOPES)


def _limit(text: str) -> tuple[Resource, Period, float | None]:
    """`jobs=200/day` as resource, period and limit; None for `none`. Raises `ConfigurationError`."""
    found = _LIMIT.fullmatch(text)
    if found is None:
        raise ConfigurationError(
            f"not a quota: {text!r}; write RESOURCE=MOST/PERIOD with {', '.join(Resource)} and {' or '.join(Period)}"
        )
    most = None if found["most"] == "none" else float(found["most"])
    return Resource(found["resource"]), Period(found["period"]), most


async def _check_team(access: AccessService, name: str) -> None:
    if name not in {known.id for known in await access.teams()}:
        raise NotFoundError(f"no team {name}: kernelwright team create {name}")


def _with_access(work: Callable[[AccessService], Awaitable[T]]) -> T:
    from kernelwright.wiring.access import open_access

    return run_over(open_access, work)


def _plain(token: ApiToken) -> dict[str, object]:
    names = [field.name for field in dataclasses.fields(token)]
    return {name: getattr(token, name) for name in names} | {"scopes": sorted(token.scopes)}


def _day(moment: datetime | None) -> str:
    return "" if moment is None else f"{moment:%Y-%m-%d}"
