"""MAP-Elites as in KernelFoundry: an archive keeps the fastest kernel of every behaviour, and any of them may parent.

A kernel that is slow today but unlike all others survives in its cell, which is what leads out of a local optimum.
"""

from __future__ import annotations

from dataclasses import dataclass

from agents.strategies.behaviour import Behaviour, behaviour
from agents.strategies.greedy import draft_start
from agents.strategies.lineage import by_candidate, dice, is_accepted, median_us, pace
from agents.strategies.stop_rule import RuledStrategy, StopRule
from services.domain.chat import AttemptFact, SearchBrief
from services.ports.search import SearchState


@dataclass(kw_only=True)
class Cell:
    """One behaviour of the archive."""

    elite: AttemptFact
    """The fastest kernel that behaves so."""
    visits: int = 0
    """How often an elite of this cell was a parent."""
    finds: int = 0
    """How many of those children founded a cell or became an elite."""

    @property
    def curiosity(self) -> float:
        """How fruitful its elites are as parents, above 0; cells not visited yet are the most interesting."""
        return (self.finds + 1.0) / (self.visits + 1.0)


Archive = dict[Behaviour, Cell]


def archive(attempts: tuple[AttemptFact, ...]) -> Archive:
    """The archive after these attempts, read in order."""
    cells: Archive = {}
    known = by_candidate(attempts)
    for item in attempts:
        parent = known.get(item.parent_id or "")
        home = cells.get(behaviour(parent.source)) if parent is not None and parent.source else None
        if home is not None:
            home.visits += 1
        if _enter(cells, item) and home is not None:
            home.finds += 1
    return cells


def _enter(cells: Archive, item: AttemptFact) -> bool:
    """Give an accepted attempt its place; whether it got one."""
    if not is_accepted(item) or item.source is None:
        return False
    place = behaviour(item.source)
    cell = cells.get(place)
    if cell is None:
        cells[place] = Cell(elite=item)
        return True
    if pace(item) < pace(cell.elite):
        cell.elite = item
        return True
    return False


class MapElites(RuledStrategy):
    """Parents come from the archive: the best elite for one step in `exploit`, else any by curiosity and speed."""

    name = "map_elites"

    def __init__(self, *, exploit: float = 0.5, inspirations: int = 2, repairs: int = 3) -> None:
        """`exploit`: share of steps (0 to 1) that start from the fastest elite. `inspirations`: elites of other cells
        in the prompt. `repairs`: as in the greedy strategy, until something is accepted."""
        self._exploit = exploit
        self._inspirations = inspirations
        self._repairs = repairs
        self._rule = StopRule(patience=10)

    def start_point(self, state: SearchState) -> AttemptFact | None:
        """An elite; before there is one, a failure worth repairing or a fresh draft."""
        cells = archive(state.attempts)
        if not cells:
            return draft_start(state, self._repairs)
        chance = dice(state, self.name)
        elites = sorted(cells.values(), key=lambda cell: pace(cell.elite))
        if chance.random() < self._exploit:
            return elites[0].elite
        weights = [cell.curiosity / (1 + rank) for rank, cell in enumerate(elites)]
        return chance.choices(elites, weights)[0].elite

    def brief(self, state: SearchState, start: AttemptFact | None) -> SearchBrief:
        """The archive as a table, and the elites that behave least like the start point."""
        cells = archive(state.attempts)
        if not cells:
            return SearchBrief()
        lines = ["Archive of the fastest kernel of each behaviour (traffic, parallelism, staging, size):"]
        elites = sorted(cells.items(), key=lambda entry: pace(entry[1].elite))
        lines += [f"- {place}: {median_us(cell.elite):.1f} µs ({cell.elite.candidate_id})" for place, cell in elites]
        lines.append("A kernel that behaves unlike all of these is welcome even if it is slower at first.")
        return SearchBrief(text="\n".join(lines), inspirations=self._others(cells, start))

    def _others(self, cells: Archive, start: AttemptFact | None) -> tuple[AttemptFact, ...]:
        own = behaviour(start.source) if start is not None and start.source else None
        others = [(place, cell.elite) for place, cell in cells.items() if place != own]
        others.sort(key=lambda entry: (-(own.distance(entry[0]) if own else 0), pace(entry[1])))
        return tuple(elite for _, elite in others[: self._inspirations])
