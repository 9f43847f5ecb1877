"""The pictures of a report as geometry: where candidates stand in a tree, how speedup grew. A template draws them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from services.domain.candidates import Origin
from services.domain.digests import CandidateDigest
from services.domain.evaluations import Verdict

COLUMN, LEVEL = 132, 74
BOX_WIDTH, BOX_HEIGHT = 118, 46
PLOT_WIDTH, PLOT_HEIGHT = 640, 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 16, 16, 40
_TICKS = 5


@dataclass(frozen=True, kw_only=True)
class Box:
    """One candidate of the tree; its upper left corner in pixels."""

    candidate: CandidateDigest
    kind: str
    """`best`, or its verdict in one word: the colour."""
    x: float
    y: float


@dataclass(frozen=True, kw_only=True)
class PlotLine:
    """A straight line in pixels."""

    x1: float
    y1: float
    x2: float
    y2: float


@dataclass(frozen=True, kw_only=True)
class Tree:
    """Candidates by descent."""

    boxes: tuple[Box, ...]
    edges: tuple[PlotLine, ...]
    width: float
    height: float


@dataclass(frozen=True, kw_only=True)
class PlotLabel:
    """A place in pixels with what is written there."""

    x: float
    y: float
    text: str


@dataclass(frozen=True, kw_only=True)
class Plot:
    """Accepted candidates' speedups over the fastest baseline by round, and the best after each."""

    points: tuple[PlotLabel, ...]
    best: str
    """Points of the line of the best, as SVG's `polyline` takes them."""
    one: float
    """Height of the baseline, 1×."""
    across: tuple[PlotLabel, ...]
    """Ticks of the rounds."""
    up: tuple[PlotLabel, ...]
    """Ticks of the speedup."""


def kind_of(candidate: CandidateDigest, best_id: str | None) -> str:
    """What a candidate is shown as."""
    if candidate.id == best_id:
        return "best"
    if candidate.verdict is Verdict.INFRASTRUCTURE_ERROR:
        return "machine"
    return "pending" if candidate.verdict is None else candidate.verdict.value


def descent(candidates: Sequence[CandidateDigest], best_id: str | None) -> Tree:
    """A place for every candidate: parents above the middle of their children, generations in rows."""
    places = _places(candidates)
    boxes = tuple(
        Box(candidate=one, kind=kind_of(one, best_id), x=places[one.id][0] * COLUMN, y=places[one.id][1] * LEVEL)
        for one in candidates
    )
    at = {box.candidate.id: box for box in boxes}
    edges = tuple(_edge(at[parent], box) for box in boxes if (parent := _parent(box.candidate, at)) is not None)
    return Tree(
        boxes=boxes,
        edges=edges,
        width=max((box.x for box in boxes), default=0) + BOX_WIDTH + 2,
        height=max((box.y for box in boxes), default=0) + BOX_HEIGHT + 2,
    )


def _edge(parent: Box, child: Box) -> PlotLine:
    half = BOX_WIDTH / 2
    return PlotLine(x1=parent.x + half, y1=parent.y + BOX_HEIGHT, x2=child.x + half, y2=child.y)


def _parent(candidate: CandidateDigest, known: dict[str, Box] | dict[str, CandidateDigest]) -> str | None:
    parent = candidate.parent_id
    return parent if parent in known and parent != candidate.id else None


def _places(candidates: Sequence[CandidateDigest]) -> dict[str, tuple[float, int]]:
    """Candidate id to column and row. By hand rather than by recursion: a chain of a thousand is an ordinary job."""
    known = {one.id: one for one in candidates}
    children: dict[str | None, list[str]] = {}
    for one in candidates:
        children.setdefault(_parent(one, known), []).append(one.id)
    found: dict[str, tuple[float, int]] = {}
    column = 0
    waiting = [(name, 0, False) for name in reversed(children.get(None, []))]
    while waiting:
        name, row, seen = waiting.pop()
        own = children.get(name, [])
        if own and not seen:
            waiting.append((name, row, True))
            waiting += [(child, row + 1, False) for child in reversed(own)]
        elif own:
            found[name] = ((found[own[0]][0] + found[own[-1]][0]) / 2, row)
        else:
            found[name] = (column, row)
            column += 1
    # Rows that name each other as parents never come from us, but a report is not the place to fall over them.
    return {**{one.id: (column, 0) for one in candidates}, **found}


def speedups(candidates: Sequence[CandidateDigest]) -> Plot | None:
    """The plot of a job's accepted candidates; None where none was timed."""
    timed = [(one.step + 1, value) for one in candidates if (value := _speedup(one)) is not None]
    if not timed:
        return None
    last = max(2, max(one.step for one in candidates) + 1)
    top = max(1.0, max(value for _, value in timed)) * 1.1

    def x(step: float) -> float:
        return round(_LEFT + (step - 1) / (last - 1) * (PLOT_WIDTH - _LEFT - _RIGHT), 1)

    def y(value: float) -> float:
        return round(PLOT_HEIGHT - _BOTTOM - value / top * (PLOT_HEIGHT - _TOP - _BOTTOM), 1)

    line = [f"{x(step)},{y(value)}" for step, value in _staircase(_leads(candidates), last)]
    steps = sorted({round(1 + tick * (last - 1) / _TICKS) for tick in range(_TICKS + 1)})
    return Plot(
        points=tuple(PlotLabel(x=x(step), y=y(value), text=f"round {step}: {value:.2f}×") for step, value in timed),
        best=" ".join(line),
        one=y(1.0),
        across=tuple(PlotLabel(x=x(step), y=PLOT_HEIGHT - _BOTTOM, text=str(step)) for step in steps),
        up=tuple(PlotLabel(x=_LEFT, y=y(top * tick / 4), text=f"{top * tick / 4:.2g}×") for tick in range(5)),
    )


def _speedup(candidate: CandidateDigest) -> float | None:
    if candidate.verdict is not Verdict.ACCEPTED or candidate.speedup is None:
        return None
    return candidate.speedup.best_baseline


def _leads(candidates: Sequence[CandidateDigest]) -> list[tuple[int, float]]:
    """The best from each round on in which it changed: once kernels are measured again, the best of those that held,
    also where it is slower than it first seemed."""
    once: dict[str, float] = {}
    confirmed: dict[str, float] = {}
    leads: list[tuple[int, float]] = []
    for one in sorted(candidates, key=lambda item: item.step):
        again, value = one.origin is Origin.CONFIRMATION, _speedup(one)
        if value is not None:
            (confirmed if again else once)[one.id] = value
        elif again and one.verdict in {Verdict.REJECTED, Verdict.SUSPICIOUS}:
            once.pop(one.parent_id or "", None)
        best = max((confirmed or once).values(), default=None)
        if best is not None and (not leads or best != leads[-1][1]):
            leads.append((one.step + 1, best))
    return leads


def _staircase(leads: Sequence[tuple[int, float]], last: int) -> list[tuple[int, float]]:
    """The corners of a line that holds each value until the next, and the last one to the last round."""
    before = [value for _, value in leads]
    turns = [
        corner
        for (step, value), held in zip(leads[1:], before, strict=False)
        for corner in ((step, held), (step, value))
    ]
    return [*leads[:1], *turns, (last, before[-1] if before else 0.0)]
