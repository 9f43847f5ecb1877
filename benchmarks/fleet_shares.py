"""What each team of a simulated fleet got of its weighted max–min share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.fleet_plan import DeviceUse, FleetPlan, Record, TeamPlan


@dataclass(frozen=True, kw_only=True)
class Window:
    """A stretch of time in which a team had work waiting."""

    team: str
    begin_s: float
    used_s: float
    """Device seconds that it got."""
    fair_s: float
    """Its weighted max–min share of those that all teams used."""

    @property
    def ratio(self) -> float:
        """What it got of what it should have."""
        return self.used_s / self.fair_s if self.fair_s else math.inf


def windows(plan: FleetPlan, record: Record, length_s: float = 300.0, every_s: float = 10.0) -> list[Window]:
    """All windows of that length, one beginning every so many seconds, in which a team had work waiting from beginning
    to end."""
    last_s = max(use.ended_s for use in record.uses)
    found = []
    for number in range(int((last_s - length_s) // every_s) + 1):
        begin_s = number * every_s
        used = used_between(record.uses, begin_s, begin_s + length_s)
        looks = [teams for moment, teams in record.waiting if begin_s <= moment < begin_s + length_s]
        hungry = frozenset.intersection(*looks) if looks else frozenset()
        fair = max_min_shares(plan.teams, used, hungry)
        found += [
            Window(team=team, begin_s=begin_s, used_s=used.get(team, 0.0), fair_s=fair[team]) for team in sorted(hungry)
        ]
    return found


def used_between(uses: Sequence[DeviceUse], begin_s: float, end_s: float) -> dict[str, float]:
    """Device seconds by team within a window."""
    used: dict[str, float] = {}
    for use in uses:
        seconds = min(use.ended_s, end_s) - max(use.began_s, begin_s)
        if seconds > 0:
            used[use.team] = used.get(use.team, 0.0) + seconds
    return used


def max_min_shares(teams: Sequence[TeamPlan], used: dict[str, float], hungry: frozenset[str]) -> dict[str, float]:
    """The weighted max–min fair shares of what was used: teams without work waiting wanted no more than they got, and
    what they leave is divided among the others by weight."""
    left_s, open_teams = sum(used.values()), {team.name: team.weight for team in teams}
    shares: dict[str, float] = {}
    while open_teams:
        level = left_s / sum(open_teams.values())
        content = [
            name for name, weight in open_teams.items() if name not in hungry and used.get(name, 0.0) <= level * weight
        ]
        for name in content or tuple(open_teams):
            shares[name] = used.get(name, 0.0) if content else level * open_teams[name]
        left_s -= sum(shares[name] for name in content)
        for name in content or tuple(open_teams):
            del open_teams[name]
    return shares
