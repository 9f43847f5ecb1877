"""The services of one installation that the routes use, passed in when the app is built."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, cast

from fastapi import Depends, Request

from services.domain.access import Principal, TokenScope
from services.domain.candidates import EvaluatedCandidate, Population
from services.domain.devices import DeviceSheet
from services.domain.errors import AuthenticationError, ForbiddenError
from services.domain.jobs import LOCAL_TEAM
from services.domain.nodes import ServiceNode
from services.domain.problems import Problem
from services.exports import Exporter
from services.exports.report_links import ShareService
from services.jobs.node_work import NodeWork
from services.jobs.playground import PlaygroundService
from services.jobs.requests import RequestService
from services.jobs.service import JobService
from services.jobs.trajectories import TrajectoryService
from services.ports.jobs import ArtefactStore, EventLog
from services.ports.teams import IdentityProvider
from services.team_memory.service import ExperienceService
from services.teams.access import AccessService
from services.teams.quotas import QuotaService
from services.teams.rate_limits import RateLimiter
from services.teams.webhooks import WebhookService
from web.callers import Bearer, identified
from web.rate_headers import note_allowances, note_policies


@dataclass(frozen=True, kw_only=True)
class WorkerInfo:
    """One worker that takes evaluations."""

    name: str
    device: str
    backends: tuple[str, ...]
    isolation: str | None
    """Level its sandbox reached; None where it has not said."""
    sheet: DeviceSheet | None = None
    """What it measured about its device; None until it has."""
    node: ServiceNode | None = None
    """Its process as it registered itself; None where it has not."""


@dataclass(frozen=True, kw_only=True)
class WebServices:
    """Everything the app needs."""

    jobs: JobService
    events: EventLog
    exporter: Exporter
    experiences: ExperienceService
    requests: RequestService
    """Requests of manual models."""
    playground: PlaygroundService
    """Recorded prompts sent again."""
    trajectories: TrajectoryService
    """Training data."""
    shares: ShareService
    """Links to reports."""
    webhooks: WebhookService
    artefacts: ArtefactStore
    """Machine code of candidates."""
    populations: Callable[[str, Sequence[EvaluatedCandidate]], Population]
    """Where a strategy, by its name, sees a job's accepted candidates."""
    compiler_draft: bool
    """Whether jobs that do not say begin with the compiler's own code."""
    ui: Path | None
    """Folder of the web UI's build; None where it was never built."""
    examples: Callable[[], Sequence[Problem]]
    workers: Callable[[], Awaitable[Sequence[WorkerInfo]]]
    nodes: Callable[[], Awaitable[Sequence[ServiceNode]]]
    """Every process of the installation that was seen lately."""
    ready: Callable[[], Awaitable[None]]
    """Raises an `InfrastructureError` when requests cannot be served."""
    version: str
    """The program's version."""
    access: AccessService
    """Users, tokens and the audit log."""
    quotas: QuotaService
    """What teams may use."""
    node_work: NodeWork | None
    """Orders for nodes that come for them; None where the server evaluates in its own process."""
    rates: RateLimiter
    """How many requests callers may send."""
    identity: IdentityProvider | None
    """Where people sign in; None where only tokens work."""
    public_url: str | None
    """This server's address as browsers see it, without a slash at the end; None where it is the one they ask."""
    token: str | None
    """The server's own token, whose holder may do everything in the team that runs the installation."""
    open_here: bool
    """Whether a caller without token or session is the one user of this machine; never with `token`."""
    hosts: tuple[str, ...] | None
    """Names the server answers to, against DNS rebinding; None answers to any."""
    metrics: Callable[[], Awaitable[bytes]]
    """Metrics in Prometheus's text format."""
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the server shuts down: endless responses end."""


def services_of(request: Request) -> WebServices:
    """The app's services."""
    return cast("WebServices", request.app.state.services)


Services = Annotated[WebServices, Depends(services_of)]


async def caller_of(request: Request, services: Services, bearer: Bearer) -> Principal:
    """Who makes this request. Raises `AuthenticationError` (`LimitError` after many bad tokens from one address), and
    `ForbiddenError` where it comes from another site."""
    is_open = services.open_here and services.token is None
    try:
        caller = await identified(request, bearer, services.access, services.token, is_open=is_open)
    except AuthenticationError:
        if bearer is not None:
            await services.rates.refused(request.client.host if request.client is not None else "")
        raise
    note_policies(request, services.rates.policies)
    note_allowances(request, await services.rates.check(caller))
    request.state.caller = caller
    return caller


Caller = Annotated[Principal, Depends(caller_of)]


def reader(caller: Caller) -> Principal:
    """A caller that may see what the team has."""
    return _permitted(caller, TokenScope.READ)


def writer(caller: Caller) -> Principal:
    """A caller that may submit and steer."""
    return _permitted(caller, TokenScope.WRITE)


def admin(caller: Caller) -> Principal:
    """A caller that may retract and manage."""
    return _permitted(caller, TokenScope.ADMIN)


def node(caller: Caller) -> Principal:
    """A device node: its token opens this and nothing else."""
    if not caller.is_node:
        raise ForbiddenError(
            f"this needs a node's token: kernelwright token create NAME --node DEVICE ({caller.actor})"
        )
    return caller


def operator(caller: Caller) -> Principal:
    """An admin of the team that runs the installation."""
    if not caller.runs_installation:
        raise ForbiddenError(f"only admins of the team {LOCAL_TEAM}, which runs this installation, may do this")
    return _permitted(caller, TokenScope.ADMIN)


def observer(caller: Caller) -> Principal:
    """A caller that may see figures of the whole installation."""
    if not caller.runs_installation:
        raise ForbiddenError(f"only the team {LOCAL_TEAM}, which runs this installation, may see this")
    return _permitted(caller, TokenScope.READ)


Reader = Annotated[Principal, Depends(reader)]
Writer = Annotated[Principal, Depends(writer)]
Admin = Annotated[Principal, Depends(admin)]
Node = Annotated[Principal, Depends(node)]
Operator = Annotated[Principal, Depends(operator)]
Observer = Annotated[Principal, Depends(observer)]


def _team_of_reader(caller: Reader) -> str:
    return caller.team_id


def _team_of_writer(caller: Writer) -> str:
    return caller.team_id


def _team_of_admin(caller: Admin) -> str:
    return caller.team_id


Team = Annotated[str, Depends(_team_of_reader)]
"""The team of a caller that may read."""
WritingTeam = Annotated[str, Depends(_team_of_writer)]
"""The team of a caller that may submit and steer."""
AdminTeam = Annotated[str, Depends(_team_of_admin)]
"""The team of a caller that may retract and manage."""


def _permitted(caller: Principal, scope: TokenScope) -> Principal:
    if caller.may(scope):
        return caller
    if scope in caller.role.scopes:
        raise ForbiddenError(f"this needs a token with the scope {scope}")
    raise ForbiddenError(f"your role in team {caller.team_id} is {caller.role}, which does not permit this ({scope})")
