"""Which rule for turns gives teams their shares over any five minutes? A model of busy workers, without a database.

    python -m benchmarks.turn_rules [--workers 100] [--seeds 2] [--minutes 60]

Seven teams of different weights always have work waiting, but for one that comes after fifteen minutes; orders are of
log-normal length. `entitled` is the product's rule (`storage/jobs/work_turns.py`, evaluations only): teams go first
that hold fewer workers than their weights entitle them to, and the accounts decide among equals. `charged` goes by the
accounts alone; `known` does so and charges an order what it takes on average, as if that were known.
"""

from __future__ import annotations

import argparse
import heapq
import itertools
import math
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from benchmarks.fleet_plan import DeviceUse
from benchmarks.fleet_shares import used_between
from services.domain.work import CREDIT_S, FIRST_S, LEARNED

SPREAD = 0.6
WINDOW_S, EVERY_S = 300.0, 10.0
GOAL = 0.5


@dataclass(frozen=True, kw_only=True)
class Team:
    """What a team asks for, all the time."""

    weight: float
    order_s: float
    begins_s: float = 0.0

    @property
    def mean_s(self) -> float:
        """Of its orders."""
        return self.order_s * math.exp(SPREAD**2 / 2)


TEAMS = {
    "foundation": Team(weight=4, order_s=20),
    "vision": Team(weight=2, order_s=12),
    "speech": Team(weight=2, order_s=30),
    "search": Team(weight=1, order_s=8),
    "ads": Team(weight=1, order_s=10),
    "research": Team(weight=1, order_s=60),
    "robotics": Team(weight=1, order_s=120, begins_s=900),
}


@dataclass(kw_only=True)
class Pool:
    """Workers and what teams have used of them, by the product's accounts."""

    used_s: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    began_s: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    mean_s: dict[str, float] = field(default_factory=dict)
    running: dict[int, tuple[str, float, float]] = field(default_factory=dict)
    """Orders by number: team, beginning, and what was charged."""

    def turn(self, team: str, now: float) -> float:
        """The lower, the sooner."""
        late = sum(max(0.0, now - began - charged) for name, began, charged in self.running.values() if name == team)
        floor = max(self.began_s.values(), default=0.0) - CREDIT_S
        return max(self.used_s[team] + late / TEAMS[team].weight, floor)

    def expected_s(self, team: str) -> float:
        """As the team's orders took lately, else as others' did, else a guess."""
        known = self.mean_s.values()
        return self.mean_s.get(team) or (sum(known) / len(known) if known else FIRST_S)

    def take(self, number: int, team: str, now: float, charged_s: float) -> None:
        """Charge a team in advance."""
        floor = max(self.began_s.values(), default=0.0) - CREDIT_S
        began = max(self.used_s[team], floor)
        self.began_s[team], self.used_s[team] = began, began + charged_s / TEAMS[team].weight
        self.running[number] = (team, now, charged_s)

    def end(self, number: int, now: float) -> DeviceUse:
        """Settle what an order really took."""
        team, began, charged = self.running.pop(number)
        took = now - began
        self.used_s[team] += (took - charged) / TEAMS[team].weight
        known = self.mean_s.get(team)
        self.mean_s[team] = took if known is None else (1 - LEARNED) * known + LEARNED * took
        return DeviceUse(team=team, job="", began_s=began, ended_s=now)


Rule = Callable[[Pool, str, float, Sequence[str]], tuple[float, ...]]


def charged(pool: Pool, team: str, now: float, _there: Sequence[str]) -> tuple[float, ...]:
    """By the team's account."""
    return (pool.turn(team, now),)


def entitled(pool: Pool, team: str, now: float, there: Sequence[str]) -> tuple[float, ...]:
    """Those first who hold fewer workers than they are entitled to."""
    held = sum(name == team for name, _, _ in pool.running.values())
    share = TEAMS[team].weight / sum(TEAMS[name].weight for name in there)
    return (float(held + 1 > (len(pool.running) + 1) * share), pool.turn(team, now))


def play(rule: Rule, workers: int, seed: int, end_s: float, *, known: bool) -> list[DeviceUse]:
    """What every team used."""
    chance, pool, uses, numbers = random.Random(seed), Pool(), list[DeviceUse](), itertools.count()
    due: list[tuple[float, int]] = [(chance.random(), -1 - worker) for worker in range(workers)]
    heapq.heapify(due)
    while due and due[0][0] < end_s:
        now, ended = heapq.heappop(due)
        if ended >= 0:
            uses.append(pool.end(ended, now))
        there = [name for name, team in TEAMS.items() if team.begins_s <= now]
        team = min(there, key=lambda name: rule(pool, name, now, there))
        number = next(numbers)
        pool.take(number, team, now, TEAMS[team].mean_s if known else pool.expected_s(team))
        heapq.heappush(due, (now + TEAMS[team].order_s * chance.lognormvariate(0, SPREAD), number))
    return uses + [pool.end(number, end_s) for number in list(pool.running)]


def ratios(uses: Sequence[DeviceUse], end_s: float) -> list[tuple[float, str]]:
    """What each team got of its share in each window."""
    found = []
    begin_s = WINDOW_S
    while begin_s + WINDOW_S <= end_s:
        used = used_between(uses, begin_s, begin_s + WINDOW_S)
        there = [name for name, team in TEAMS.items() if team.begins_s <= begin_s]
        whole, weights = sum(used.values()), sum(TEAMS[name].weight for name in there)
        found += [(used.get(name, 0.0) * weights / (whole * TEAMS[name].weight), name) for name in there]
        begin_s += EVERY_S
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=60.0)
    given = parser.parse_args()
    end_s = 60 * given.minutes
    print("| rule | windows | below half of the share | least |\n|---|---|---|---|")
    for name, rule, known in (("charged", charged, False), ("known", charged, True), ("entitled", entitled, False)):
        found: list[tuple[float, str]] = []
        for seed in range(given.seeds):
            found += ratios(play(rule, given.workers, seed, end_s, known=known), end_s)
        short = sum(ratio < GOAL for ratio, _ in found)
        print(f"| {name} | {len(found)} | {short} | {min(found)[0]:.2f} ({min(found)[1]}) |", flush=True)


if __name__ == "__main__":
    main()
