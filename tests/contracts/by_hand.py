"""The values of a log, worked out the plain way from its stored rows: nothing here uses the product's learning."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from typing import Any

from sqlalchemy import Connection, select

from storage.tables import memory_log

ALPHA, PRIOR_COUNT, TRACE_STEP, DEPTH, RATE = 0.15, 4.0, 0.9 * 0.5, 2, 0.01


def outcomes_of(connection: Connection, team_id: str = "local") -> list[dict[str, Any]]:
    """The log's outcomes as JSON, in order."""
    query = select(memory_log.c.entry).where(memory_log.c.team_id == team_id, memory_log.c.kind == "outcome")
    return [json.loads(entry) for entry in connection.execute(query.order_by(memory_log.c.seq)).scalars()]


def without(outcomes: list[dict[str, Any]], evaluation: str) -> list[dict[str, Any]]:
    """The outcomes as they would be had an evaluation never been, nor what it left behind."""
    (cheat,) = [outcome for outcome in outcomes if outcome["evaluation_id"] == evaluation]
    gone = set(cheat["made"])
    return [
        {
            **outcome,
            "context": [item for item in outcome["context"] if item["experience_id"] not in gone],
            "start_point": None if outcome["start_point"] in gone else outcome["start_point"],
        }
        for outcome in outcomes
        if outcome is not cheat
    ]


class ByHand:
    """Q by (stage, experience, scope), with the visits and running means that its reading needs."""

    def __init__(self, outcomes: list[dict[str, Any]]) -> None:
        self.q: dict[tuple[str, str, str], float] = {}
        self.n: dict[tuple[str, str, str], float] = defaultdict(float)
        self.count: dict[tuple[str, str], int] = defaultdict(int)
        self.mean: dict[tuple[str, str], float] = defaultdict(float)
        self.best: dict[str, float] = {}
        self.parents: dict[str, list[str]] = {}
        for outcome in outcomes:
            self._take(outcome)

    def value(self, stage: str, name: str, family: str, site: str) -> float:
        value = self._mean(stage, family) if stage == "refine" else 0.0
        for index, scope in enumerate(("*", family, f"{family}|{site}")):
            key = (stage, name, scope)
            if key in self.q:
                share = 1.0 if index == 0 else self.n[key] / (self.n[key] + PRIOR_COUNT)
                value = (1 - share) * value + share * self.q[key]
        return value

    def _mean(self, stage: str, scope: str) -> float:
        return self.mean[stage, scope] if self.count[stage, scope] else self.mean[stage, "*"]

    def _take(self, outcome: dict[str, Any]) -> None:
        best, job = self.best.get(outcome["job_id"]), outcome["job_id"]
        accepted, median = outcome["accepted"], outcome["median_us"]
        if best is None:
            stage, reward = "draft", 1.0 if accepted else -1.0
        else:
            stage, reward = "refine", math.tanh(math.log(best / median)) if accepted else -1.0
        if accepted:
            self.best[job] = median if best is None else min(best, median)
        scopes = ("*", outcome["family"], f"{outcome['family']}|{outcome['site']}")
        direct = [item["experience_id"] for item in outcome["context"]]
        direct += [outcome["start_point"]] if outcome["start_point"] else []
        for name, weight in self._weights(direct).items():
            for scope in scopes:
                key = (stage, name, scope)
                start = self._mean(stage, scope) if stage == "refine" else 0.0
                before = self.q.get(key, start)
                self.q[key] = before + ALPHA * weight * (reward - before)
                self.n[key] += weight
        for scope in scopes:
            self.count[stage, scope] += 1
            step = max(RATE, 1 / self.count[stage, scope])
            self.mean[stage, scope] += step * (reward - self.mean[stage, scope])
        for made in outcome["made"]:
            known = self.parents.setdefault(made, [])
            known += [name for name in dict.fromkeys(direct) if name not in known and name != made]

    def _weights(self, direct: list[str]) -> dict[str, float]:
        weights = dict.fromkeys(direct, 1.0)
        edge = list(weights)
        for depth in range(1, DEPTH + 1):
            reached = [parent for name in edge for parent in self.parents.get(name, [])]
            edge = [name for name in dict.fromkeys(reached) if name not in weights]
            weights |= dict.fromkeys(edge, TRACE_STEP**depth)
        return weights
