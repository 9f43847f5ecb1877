"""A job's accepted candidates where their strategy sees them: on islands and in cells of behaviour."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict

from agents.strategies.behaviour import Behaviour, behaviour
from agents.strategies.islands import Islands
from agents.strategies.lineage import pace
from services.domain.candidates import EvaluatedCandidate, Population, PopulationMember


def population(strategy: str, entries: Sequence[EvaluatedCandidate]) -> Population:
    """Where the accepted ones of a job's candidates are; any strategy's have cells, only those of `islands` islands."""
    islands = Islands() if strategy == Islands.name else None
    accepted = sorted((one for one in entries if pace(one) < math.inf), key=lambda one: one.candidate.step)
    cells = {one.candidate.id: behaviour(one.candidate.source) for one in accepted}
    elites = _elites(accepted, cells)
    members = tuple(
        PopulationMember(
            candidate_id=one.candidate.id,
            step=one.candidate.step,
            island=None if islands is None else islands.island(one.candidate.step),
            **asdict(cells[one.candidate.id]),
            elite=one.candidate.id in elites,
        )
        for one in accepted
    )
    return Population(strategy=strategy, islands=0 if islands is None else islands.count, members=members)


def _elites(accepted: Sequence[EvaluatedCandidate], cells: dict[str, Behaviour]) -> set[str]:
    best: dict[Behaviour, EvaluatedCandidate] = {}
    for one in accepted:
        place = cells[one.candidate.id]
        if place not in best or pace(one) < pace(best[place]):
            best[place] = one
    return {one.candidate.id for one in best.values()}
