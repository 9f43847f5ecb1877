"""Reading the value log (`services.domain.value_log`), from which every learned value is computed.

Stage, best latency and reward are derived while reading. So a value can always be recomputed, and taking an entry out
of the reading gives exactly what the values would have been without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from services.domain.value_log import ContextItem, LogEntry, MergeEntry, OutcomeEntry, RetractionEntry


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
