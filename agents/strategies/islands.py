"""Islands as in Kernel-Smith and OpenEvolve: populations that evolve apart and now and then send each other their best.

Which island a step belongs to follows from its index, so that nothing needs to be stored.
"""

from __future__ import annotations

from dataclasses import replace

from agents.strategies.behaviour import behaviour
from agents.strategies.greedy import draft_start
from agents.strategies.lineage import dice, is_accepted, median_us, ranked
from agents.strategies.stop_rule import RuledStrategy, StopRule
from services.domain.chat import AttemptFact, SearchBrief
from services.ports.search import SearchState


class Islands(RuledStrategy):
    """Each step breeds on one island, from one of its best; the others come into the prompt as top and diverse."""

    name = "islands"

    def __init__(
        self,
        *,
        count: int = 3,
        migration: int = 4,
        population: int = 6,
        exploit: float = 0.7,
        repairs: int = 3,
    ) -> None:
        """`count`: islands. `migration`: generations (a step on every island) between two migrations along the ring.
        `population`: members of an island that may parent. `exploit`: share of steps from an island's best."""
        self.count = count
        """How many islands there are."""
        self._migration = migration
        self._population = population
        self._exploit = exploit
        self._repairs = repairs
        self._rule = StopRule(patience=4 * count)

    def island(self, step: int) -> int:
        """The island that a step belongs to."""
        return step % self.count

    def members(self, island: int, attempts: tuple[AttemptFact, ...]) -> list[AttemptFact]:
        """The island's population, fastest first: its own accepted candidates and what migrated there."""
        own = {item.step: item for item in attempts if self.island(item.step) == island and is_accepted(item)}
        neighbour = (island - 1) % self.count
        epoch = self.count * self._migration
        for end in range(epoch, len(attempts) + 1, epoch):
            guests = ranked(item for item in attempts[:end] if self.island(item.step) == neighbour)
            own |= {item.step: item for item in guests[:1]}
        return ranked(own.values())[: self._population]

    def start_point(self, state: SearchState) -> AttemptFact | None:
        """A member of the step's island; an island without members repairs its own failures or drafts afresh."""
        island = self.island(state.step)
        members = self.members(island, state.attempts)
        if not members:
            return self._colonist(state, island)
        chance = dice(state, self.name)
        return members[0] if chance.random() < self._exploit else chance.choice(members)

    def brief(self, state: SearchState, start: AttemptFact | None) -> SearchBrief:
        """The island's ranking, the best of all islands, and the member that behaves least like the start point."""
        island = self.island(state.step)
        members = self.members(island, state.attempts)
        if not members:
            return SearchBrief(text=f"Island {island + 1} of {self.count} is empty: found it with an idea of its own.")
        lines = [f"Island {island + 1} of {self.count}, its population, fastest first:"]
        lines += [f"- {median_us(item):.1f} µs ({item.candidate_id})" for item in members]
        shown = (*ranked(state.attempts)[:1], *_unlike(start, members))
        chosen = {item.step: item for item in shown if start is None or item.step != start.step}
        return SearchBrief(text="\n".join(lines), inspirations=tuple(chosen.values()))

    def _colonist(self, state: SearchState, island: int) -> AttemptFact | None:
        """The island's latest failure while it is worth repairing."""
        own = tuple(item for item in state.attempts if self.island(item.step) == island)
        return draft_start(replace(state, attempts=own, branch=0, width=1), self._repairs)


def _unlike(start: AttemptFact | None, members: list[AttemptFact]) -> list[AttemptFact]:
    """The member whose behaviour differs most from the start point's."""
    if start is None or start.source is None:
        return members[:1]
    own = behaviour(start.source)
    return sorted(members, key=lambda item: -own.distance(behaviour(item.source or "")))[:1]
