"""What a simulated fleet is asked for, and what is kept of its run."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from services.domain.jobs import JobStatus


@dataclass(frozen=True, kw_only=True)
class TeamPlan:
    """What a team asks for."""

    name: str
    weight: float
    jobs: int
    order_s: float
    """Median device seconds of an evaluation."""
    begins_s: float = 0.0
    """When its first job is submitted."""
    over_s: float = 0.0
    """Its jobs come evenly over so many seconds; 0: all at once."""


@dataclass(frozen=True, kw_only=True)
class FleetPlan:
    """A fleet and what is asked of it."""

    teams: tuple[TeamPlan, ...]
    workers: int = 100
    orchestrators: int = 3
    concurrency: int = 200
    """Jobs that an orchestrator runs at once."""
    rounds: int = 2
    think_s: float = 20.0
    """Mean seconds between a job's orders."""
    seed: int = 0
    limit_s: float = math.inf
    """Simulated seconds after which the fleet is stopped, whatever is open."""

    @property
    def jobs(self) -> int:
        """Of all teams."""
        return sum(team.jobs for team in self.teams)


@dataclass(frozen=True, kw_only=True)
class DeviceUse:
    """One order on one device."""

    team: str
    job: str
    began_s: float
    ended_s: float
    is_check: bool = False
    """Whether it was a validation."""


@dataclass(kw_only=True)
class Record:
    """What happened."""

    uses: list[DeviceUse] = field(default_factory=list)
    waiting: list[tuple[float, frozenset[str]]] = field(default_factory=list)
    """Moments, and the teams that had an order or a job waiting then."""
    started_s: dict[str, float] = field(default_factory=dict)
    """When jobs were claimed."""
    submitted: dict[str, tuple[str, int, float]] = field(default_factory=dict)
    """Jobs' teams, priorities and moments of submission."""
    ended: dict[str, JobStatus] = field(default_factory=dict)
    take_s: list[float] = field(default_factory=list)
    """Real seconds of claims of orders."""
    claim_s: list[float] = field(default_factory=list)
    """Real seconds of claims of jobs."""
    most_connections: int = 0
    most_open_orders: int = 0
    refused: int = 0
    """Answers whose claim was not the current one any more."""
