"""Tree search as in KernelEvolve: UCT over the lineage, a universal operator, a fitness and a termination rule.

The universal operator is the Planner and the Coder themselves: one prompt that drafts, repairs or improves, whatever
the selected node calls for. The root is the reference; its children are fresh drafts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from agents.strategies.lineage import is_accepted, median_us, pace, ranked
from agents.strategies.stop_rule import RuledStrategy, StopRule
from services.domain.chat import AttemptFact, SearchBrief
from services.ports.search import SearchState


@dataclass(kw_only=True, eq=False)
class SearchNode:
    """A candidate with what is known of its descendants."""

    attempt: AttemptFact | None
    """None for the root and for a child that another branch of the round is about to make."""
    fitness: float
    """0 to 1."""
    parent: SearchNode | None = None
    children: list[SearchNode] = field(default_factory=list)

    def line(self) -> list[SearchNode]:
        """The node and its descendants."""
        return [self, *(node for child in self.children for node in child.line())]

    @property
    def depth_failed(self) -> int:
        """How many nodes up from here, this one included, are failures in a row."""
        if self.attempt is None or is_accepted(self.attempt):
            return 0
        return 1 + (self.parent.depth_failed if self.parent is not None else 0)


class TreeSearch(RuledStrategy):
    """Descends by UCT until a node that may have another child; that node is the start point, the root a draft."""

    name = "tree"

    def __init__(
        self,
        *,
        exploration: float = 0.1,
        widening: float = 0.4,
        drafts: int = 2,
        repairs: int = 3,
    ) -> None:
        """`exploration`: UCT's constant. `widening`: exponent of progressive widening: a node with v descendants has
        at most v to this power children (at least one; the root at least `drafts`). `repairs`: failures in a row
        below which a branch ends."""
        self._exploration = exploration
        self._widening = widening
        self._drafts = drafts
        self._repairs = repairs
        self._rule = StopRule(patience=10)

    def start_point(self, state: SearchState) -> AttemptFact | None:
        """The node to expand; None for the root. Branches of a round see the children that are under way."""
        root = grow(state)
        node = root
        for _ in range(state.branch + 1):
            node = self._select(root)
            node.children.append(SearchNode(attempt=None, fitness=0.0, parent=node))
        return node.attempt

    def brief(self, state: SearchState, start: AttemptFact | None) -> SearchBrief:
        """The way from the root to the start point, what was tried from it, and the best of other branches."""
        if start is None:
            return SearchBrief()
        known = {item.candidate_id: item for item in state.attempts if item.candidate_id}
        way = _ancestors(start, known)
        lines = ["Way from the first draft to the start point:"]
        lines += [f"- step {item.step}: {_figure(item)}" for item in reversed(way)]
        tried = [item for item in state.attempts if item.parent_id == start.candidate_id]
        lines += [f"Tried from the start point in step {item.step}: {_figure(item)}" for item in tried]
        elsewhere = [item for item in ranked(state.attempts) if item not in way]
        return SearchBrief(text="\n".join(lines), inspirations=tuple(elsewhere[:1]))

    def _select(self, root: SearchNode) -> SearchNode:
        node = root
        while not self._may_widen(node):
            open_children = [child for child in node.children if self._is_open(child)]
            if not open_children:
                return node
            node = max(open_children, key=lambda child: self._score(child, node))
        return node

    def _is_open(self, node: SearchNode) -> bool:
        """A child under way cannot be selected, nor a line that failed too often."""
        if node.attempt is None or node.depth_failed >= self._repairs:
            return False
        return is_accepted(node.attempt) or not node.children or any(map(self._is_open, node.children))

    def _may_widen(self, node: SearchNode) -> bool:
        if node.attempt is not None and not is_accepted(node.attempt):
            return not node.children
        least = self._drafts if node.parent is None else 1
        descendants = len(node.line())
        most: int = max(least, math.floor(math.pow(descendants, self._widening)))
        return len(node.children) < most

    def _score(self, child: SearchNode, parent: SearchNode) -> float:
        """UCT: half the best and half the mean of a subtree's fitness, and a bonus for what is seldom visited."""
        line = child.line()
        values = [node.fitness for node in line]
        exploit = 0.5 * max(values) + 0.5 * sum(values) / len(values)
        return exploit + self._exploration * math.sqrt(math.log(len(parent.line())) / len(line))


def grow(state: SearchState) -> SearchNode:
    """The tree of a job's attempts; the root stands for the reference."""
    root = SearchNode(attempt=None, fitness=0.0)
    nodes: dict[str, SearchNode] = {}
    best, worst = _range(state)
    for item in state.attempts:
        if item.candidate_id is None:
            continue
        parent = nodes.get(item.parent_id or "", root)
        node = SearchNode(attempt=item, fitness=fitness(item, best, worst), parent=parent)
        parent.children.append(node)
        nodes[item.candidate_id] = node
    return root


def fitness(item: AttemptFact, best_us: float, worst_us: float) -> float:
    """0 for a failure, 0.1 for the slowest accepted candidate, 1 for the fastest, by the logarithm of the latency."""
    median = pace(item)
    if math.isinf(median):
        return 0.0
    if worst_us <= best_us:
        return 1.0
    return 0.1 + 0.9 * math.log(worst_us / median) / math.log(worst_us / best_us)


def _range(state: SearchState) -> tuple[float, float]:
    times = [pace(item) for item in ranked(state.attempts)]
    return (times[0], times[-1]) if times else (math.inf, math.inf)


def _ancestors(start: AttemptFact, known: dict[str, AttemptFact]) -> list[AttemptFact]:
    """The start point and its ancestors, nearest first."""
    way = [start]
    while (parent := known.get(way[-1].parent_id or "")) is not None and parent not in way:
        way.append(parent)
    return way


def _figure(item: AttemptFact) -> str:
    moves = ", ".join(move.name for move in item.plan.moves) if item.plan is not None else ""
    outcome = f"{median_us(item):.1f} µs" if is_accepted(item) else item.failure or "not accepted"
    return f"{moves or 'no named move'}: {outcome}"
