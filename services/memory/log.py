"""The value log: an append-only list of what happened, from which every learned value is computed.

A team has one log. Entries hold facts (who was in the context, was the candidate accepted, how fast), never values or
rewards: stage, best latency and reward are derived while reading. So a value can always be recomputed, and taking an
entry out of the reading gives exactly what the values would have been without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from services.domain.jobs import Stage


@dataclass(frozen=True, kw_only=True)
class ContextItem:
    """An experience that was in the context of a step."""

    experience_id: str
    similarity: float
    """Cosine similarity to the step's query, -1 to 1."""


@dataclass(frozen=True, kw_only=True)
class OutcomeEntry:
    """One evaluation that counts (`accepted` or `rejected`; `suspicious` and `infrastructure_error` are not logged)."""

    seq: int
    """Position in the team's log, from 1, without gaps."""
    evaluation_id: str
    """Unique in the log: an outcome is applied once, whatever is redelivered."""
    job_id: str
    step: int
    """Index of the step in its job; a job's outcomes are logged in this order."""
    family: str
    site: str
    """Device and toolchain, for example `cpu/g++ 12.2`: a value learned elsewhere is a prior here."""
    accepted: bool
    median_us: float | None = None
    """Latency of an accepted candidate."""
    speedup: float | None = None
    """Against the best baseline, for accepted candidates."""
    context: tuple[ContextItem, ...] = ()
    """The experiences in the context; empty in a holdout step."""
    start_point: str | None = None
    """Trace experience of the candidate it was derived from."""
    made: tuple[str, ...] = ()
    """Experiences written about this candidate: their provenance is this entry's context and start point."""
    holdout: bool = False
    """Whether memory was left out on purpose, to measure its effect."""
    searched: bool = True
    """Whether agents made the candidate; a kernel that came with the job says nothing about memory."""
    backend: str | None = None
    """Language of the candidate; None where it was not recorded."""


@dataclass(frozen=True, kw_only=True)
class RetractionEntry:
    """A candidate was found to cheat: its outcome and its experiences count for nothing, then, now and later."""

    seq: int
    evaluation_id: str
    reason: str
    actor: str
    """Who retracted it, for the audit."""


@dataclass(frozen=True, kw_only=True)
class MergeEntry:
    """Two near-duplicates are one experience from now on, with the history of both."""

    seq: int
    kept: str
    absorbed: str


@dataclass(frozen=True, kw_only=True)
class PriorEntry:
    """A value that came with an imported experience: where learning starts, outweighed by what is seen here."""

    seq: int
    experience_id: str
    stage: Stage
    value: float
    """On the reward's own scale, -1 to 1."""
    visits: float
    """How many rewards it stood for where it was learned."""
    source: str
    """Where it came from, for the audit."""


LogEntry = OutcomeEntry | RetractionEntry | MergeEntry | PriorEntry


@dataclass(frozen=True, kw_only=True)
class Amendments:
    """What later entries say about earlier ones; applied while the log is read from its start."""

    evaluations: frozenset[str]
    """Retracted evaluations."""
    experiences: frozenset[str]
    """Retracted experiences: those that the retracted evaluations made."""
    survivors: Mapping[str, str]
    """Absorbed experience → the experience that stands for it."""

    def current(self, experience_id: str) -> str | None:
        """The experience that an id stands for today; None when it is retracted."""
        if experience_id in self.experiences:
            return None
        return self.survivors.get(experience_id, experience_id)

    def amend(self, entry: OutcomeEntry) -> Sequence[ContextItem]:
        """The entry's context as it counts today, each experience once."""
        seen: dict[str, ContextItem] = {}
        for item in entry.context:
            name = self.current(item.experience_id)
            if name is not None:
                seen.setdefault(name, ContextItem(experience_id=name, similarity=item.similarity))
        return tuple(seen.values())


NO_AMENDMENTS = Amendments(evaluations=frozenset(), experiences=frozenset(), survivors={})


def amendments(entries: Iterable[LogEntry]) -> Amendments:
    """What the retractions and merges of a complete log say. A merge with a retracted side is void."""
    made: dict[str, tuple[str, ...]] = {}
    retracted: set[str] = set()
    merges: list[MergeEntry] = []
    for entry in entries:
        if isinstance(entry, OutcomeEntry):
            made.setdefault(entry.evaluation_id, entry.made)
        elif isinstance(entry, RetractionEntry):
            retracted.add(entry.evaluation_id)
        elif isinstance(entry, MergeEntry):
            merges.append(entry)
    gone = frozenset(name for evaluation in retracted for name in made.get(evaluation, ()))
    return Amendments(evaluations=frozenset(retracted), experiences=gone, survivors=_survivors(merges, gone))


def _survivors(merges: Sequence[MergeEntry], gone: frozenset[str]) -> dict[str, str]:
    direct: dict[str, str] = {}
    for merge in merges:
        if merge.kept in gone or merge.absorbed in gone:
            continue
        if _end(direct, merge.kept) != merge.absorbed:  # a circle would have no survivor
            direct[merge.absorbed] = merge.kept
    return {name: _end(direct, name) for name in direct}


def _end(direct: Mapping[str, str], name: str) -> str:
    while name in direct:
        name = direct[name]
    return name
