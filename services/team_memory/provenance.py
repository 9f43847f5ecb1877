"""Builds the graph of an experience's provenance: a bounded look in both directions. Takes ports."""

from __future__ import annotations

from services.domain.evaluations import Verdict
from services.domain.experiences import (
    EdgeKind,
    Experience,
    NodeKind,
    Provenance,
    ProvenanceEdge,
    ProvenanceNode,
    StepUse,
)
from services.ports.memory import Memory, MemoryRecords

GENERATIONS = 2
"""How far back it looks: what it was derived from, and what that was derived from."""
EARLIER = 16
"""Earlier experiences, at most."""
USES = 16
"""Candidates that had it in their context, the latest first, at most; and as many that started from it."""
LATER = 32
"""Experiences that those candidates gave, at most."""


async def trace_provenance(memory: Memory, records: MemoryRecords, team_id: str, experience_id: str) -> Provenance:
    """What an experience came from and led to, as far as the team owns it. Raises `NotFoundError`."""
    focus = await memory.get(team_id, experience_id)
    graph = _Graph(team_id, frozenset(await records.retracted(team_id)))
    graph.experience(focus, 0)
    await _look_back(graph, records, focus)
    await _look_ahead(graph, records, focus)
    return graph.drawn()


async def _look_back(graph: _Graph, records: MemoryRecords, focus: Experience) -> None:
    generation, seen = [focus], {focus.id}
    for depth in range(GENERATIONS + 1):
        wanted: dict[str, None] = {}
        for one in generation:
            candidate = graph.origin(one, -2 * depth - 1)
            new = [name for name in one.used if name not in seen]
            wanted.update(dict.fromkeys(new))
            # An imported experience has no candidate here: what it used leads to itself.
            graph.later_edges += [(name, candidate or one.id, EdgeKind.USED) for name in one.used]
        room = EARLIER - (len(seen) - 1) if depth < GENERATIONS else 0
        names = list(wanted)[:room]
        graph.cut |= len(names) < len(wanted)
        seen.update(names)
        generation = list(await records.outlines(graph.team_id, names))
        for one in generation:
            graph.experience(one, -2 * depth - 2)


async def _look_ahead(graph: _Graph, records: MemoryRecords, focus: Experience) -> None:
    candidates = []
    for kind, uses in (
        (EdgeKind.STARTED, await records.refined(graph.team_id, focus, USES + 1)),
        (EdgeKind.USED, await records.uses(graph.team_id, focus.id, USES + 1)),
    ):
        graph.cut |= len(uses) > USES
        candidates += [name for use in uses[:USES] if (name := graph.use(use, focus.id, kind)) is not None]
    taught = await records.taught(graph.team_id, list(dict.fromkeys(candidates)), LATER + 1)
    graph.cut |= len(taught) > LATER
    for one in taught[:LATER]:
        graph.experience(one, 2)
        graph.origin(one, 1)


class _Graph:
    """Nodes and edges so far; a thing that is met twice stays where it was met first."""

    def __init__(self, team_id: str, retracted: frozenset[str]) -> None:
        self.team_id = team_id
        self.cut = False
        self.later_edges: list[tuple[str, str, EdgeKind]] = []
        """Arrows of which one end may never come in sight."""
        self._retracted = retracted
        self._nodes: dict[str, ProvenanceNode] = {}

    def experience(self, one: Experience, layer: int) -> None:
        """Add an experience."""
        self._add(
            one.id, NodeKind.EXPERIENCE, layer, title=one.title, verdict=one.verdict, speedup=one.speedup,
            retracted=one.id in self._retracted,
        )  # fmt: skip

    def origin(self, one: Experience, layer: int) -> str | None:
        """Add the candidate and job that gave an experience; the candidate's id. Another team's stay out of sight."""
        if one.candidate_id is None or one.team_id != self.team_id:
            return None
        self._candidate(
            one.candidate_id, layer, job_id=one.job_id, step=None, verdict=one.verdict, speedup=one.speedup
        )  # fmt: skip
        self.later_edges.append((one.candidate_id, one.id, EdgeKind.TAUGHT))
        return one.candidate_id

    def use(self, use: StepUse, experience_id: str, kind: EdgeKind) -> str | None:
        """Add a candidate that was made with the experience; None where the step gave none."""
        if use.candidate_id is None:
            return None
        self._candidate(use.candidate_id, 1, job_id=use.job_id, step=use.step, verdict=use.verdict, speedup=None)
        self.later_edges.append((experience_id, use.candidate_id, kind))
        return use.candidate_id

    def _candidate(
        self,
        name: str,
        layer: int,
        *,
        job_id: str | None,
        step: int | None,
        verdict: Verdict | None,
        speedup: float | None,
    ) -> None:
        self._add(name, NodeKind.CANDIDATE, layer, job_id=job_id, step=step, verdict=verdict, speedup=speedup)
        if job_id is not None:
            self._add(job_id, NodeKind.JOB, layer - 1)
            self.later_edges.append((job_id, name, EdgeKind.MADE))

    def _add(
        self,
        name: str,
        kind: NodeKind,
        layer: int,
        *,
        title: str = "",
        job_id: str | None = None,
        step: int | None = None,
        verdict: Verdict | None = None,
        speedup: float | None = None,
        retracted: bool = False,
    ) -> None:
        """What was met with less known of it learns the rest."""
        known = self._nodes.get(name)
        self._nodes[name] = ProvenanceNode(
            id=name,
            kind=kind,
            layer=layer if known is None else known.layer,
            title=title,
            job_id=job_id,
            step=step if step is not None or known is None else known.step,
            verdict=verdict if verdict is not None or known is None else known.verdict,
            speedup=speedup if speedup is not None or known is None else known.speedup,
            retracted=retracted,
        )

    def drawn(self) -> Provenance:
        """The graph, with the arrows between what is in sight."""
        edges = dict.fromkeys(
            ProvenanceEdge(source=source, target=target, kind=kind)
            for source, target, kind in self.later_edges
            if source in self._nodes and target in self._nodes
        )
        return Provenance(
            nodes=tuple(sorted(self._nodes.values(), key=lambda node: node.layer)), edges=tuple(edges), cut=self.cut
        )
