"""What all strategies read from a job's attempts: who is accepted, how fast, and who descends from whom."""

from __future__ import annotations

import math
from collections.abc import Iterable
from random import Random

from services.domain.candidates import EvaluatedCandidate
from services.domain.chat import AttemptFact
from services.domain.ratios import paced_us, paired_time
from services.ports.search import SearchState


def median_us(attempt: AttemptFact) -> float:
    """The accepted candidate's latency, as texts show it; infinite for everything else."""
    found = paced_us(attempt.report)
    return math.inf if found is None else found


def pace(attempt: AttemptFact | EvaluatedCandidate) -> float:
    """What accepted candidates are ranked by, see `paired_time`; infinite for everything else."""
    found = paired_time(attempt.report)
    return math.inf if found is None else found


def is_accepted(attempt: AttemptFact) -> bool:
    """Whether it is a start point for refinement."""
    return attempt.candidate_id is not None and pace(attempt) < math.inf


def ranked(attempts: Iterable[AttemptFact]) -> list[AttemptFact]:
    """The accepted attempts, fastest first; equals in order of their steps."""
    return sorted(filter(is_accepted, attempts), key=lambda item: (pace(item), item.step))


def by_candidate(attempts: Iterable[AttemptFact]) -> dict[str, AttemptFact]:
    """Attempts by the candidate they made."""
    return {item.candidate_id: item for item in attempts if item.candidate_id is not None}


def failed_line(attempt: AttemptFact, attempts: tuple[AttemptFact, ...]) -> int:
    """How many candidates in a row failed on the line of descent that ends in this attempt."""
    known = by_candidate(attempts)
    length = 0
    current: AttemptFact | None = attempt
    while current is not None and not is_accepted(current) and length <= len(attempts):
        length += 1
        current = known.get(current.parent_id or "")
    return length


def open_failures(attempts: tuple[AttemptFact, ...]) -> list[AttemptFact]:
    """Failed candidates that nobody repaired yet, latest first."""
    parents = {item.parent_id for item in attempts if item.candidate_id is not None}
    found = [item for item in attempts if item.candidate_id is not None and not is_accepted(item)]
    return [item for item in reversed(found) if item.candidate_id not in parents]


def dice(state: SearchState, purpose: str) -> Random:
    """Chance that is the same whenever the same step is decided again."""
    return Random(f"{state.seed}/{state.step}/{purpose}")  # noqa: S311 - a search, not a secret
