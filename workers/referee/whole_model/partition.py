"""Which operators of a traced model belong together: groups that one kernel could compute.

Matrix products, convolutions and the like stand alone; everything else joins the group of what it reads, as long as
the groups can still be run one after another, and with at most one row operation (softmax, norm, loss, scan) a group.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any

from workers.referee.costs.operator_costs import FAMILIES, FREE, LOSSES, NORMS, SCANS, SOFTMAX, VIEWS, base_name

ALONE = frozenset().union(
    *(members for family, members in FAMILIES if family in ("convolution", "attention", "matmul", "pooling"))
) | {"embedding"}
ROWWISE = SOFTMAX | NORMS | LOSSES | SCANS

Node = Any


def calls(graph: Any) -> list[Node]:
    """The nodes that compute, in order."""
    return [node for node in graph.nodes if node.op == "call_function"]


def name_of(node: Node) -> str:
    """`layer_norm`; `getitem` for an item of a multi-output operator."""
    return "getitem" if node.target is operator.getitem else base_name(str(node.target))


def is_view(node: Node) -> bool:
    """Whether a node only looks at a tensor in another way."""
    return name_of(node) in VIEWS


def groups(nodes: Sequence[Node]) -> list[list[Node]]:
    """The nodes as groups in an order in which they can run, each group's nodes in theirs. Every node is in one."""
    found = _Groups(nodes)
    for node in nodes:
        for source in _sources(node):
            if found.may_join(source, node):
                found.join(source, node)
    found.trim()
    return found.ordered()


def is_part(group: Sequence[Node]) -> bool:
    """Whether a group does work that a kernel could do better."""
    return any(name_of(node) not in FREE | {"getitem", "_unsafe_view"} for node in group)


class _Groups:
    """A partition that grows coarser."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = list(nodes)
        self._place = {node: number for number, node in enumerate(nodes)}
        self._group = dict(self._place)
        self._members = {number: [node] for number, node in enumerate(nodes)}

    def may_join(self, source: Node, node: Node) -> bool:
        """Whether the two nodes' groups may become one."""
        if source not in self._place or self._group[source] == self._group[node]:
            return False
        if name_of(node) == "getitem":
            return True
        both = self._members[self._group[source]] + self._members[self._group[node]]
        names = [name_of(member) for member in both]
        if any(name in ALONE for name in names) or sum(name in ROWWISE for name in names) > 1:
            return False
        return self._runs_in_order({self._group[source], self._group[node]})

    def join(self, source: Node, node: Node) -> None:
        """Make one group of two."""
        kept, gone = self._group[source], self._group[node]
        for member in self._members.pop(gone):
            self._group[member] = kept
            self._members[kept].append(member)

    def trim(self) -> None:
        """Views at a group's rim go their own way, unless what they give is not laid out row by row."""
        for number in list(self._members):
            while True:
                members = self._members[number]
                rim = [node for node in members if len(members) > 1 and self._is_rim(node, number)]
                if not rim:
                    break
                for node in rim[:1]:
                    members.remove(node)
                    self._group[node] = max(self._members) + 1
                    self._members[self._group[node]] = [node]

    def _is_rim(self, node: Node, number: int) -> bool:
        if not is_view(node):
            return False
        if not any(self._group.get(user) == number for user in node.users):
            return True
        leads = not any(self._group.get(source) == number for source in _sources(node))
        value = node.meta.get("val")
        return leads and (not hasattr(value, "is_contiguous") or bool(value.is_contiguous()))

    def ordered(self) -> list[list[Node]]:
        """The groups, each after all it reads from; among those that could run, the one that begins first."""
        waiting = {number: self._reads(number) for number in self._members}
        found: list[list[Node]] = []
        while waiting:
            ready = [number for number, needs in waiting.items() if not needs & waiting.keys()]
            following = min(ready, key=lambda number: min(self._place[node] for node in self._members[number]))
            found.append(sorted(self._members[following], key=self._place.__getitem__))
            del waiting[following]
        return found

    def _reads(self, number: int) -> set[int]:
        sources = {source for node in self._members[number] for source in _sources(node) if source in self._group}
        return {self._group[source] for source in sources} - {number}

    def _runs_in_order(self, together: set[int]) -> bool:
        """Whether no way leads from the groups out and back into them."""
        outside = {
            self._group[user]
            for number in together
            for node in self._members[number]
            for user in node.users
            if user in self._group
        } - together
        seen: set[int] = set()
        stack = list(outside)
        while stack:
            number = stack.pop()
            if number in together:
                return False
            if number in seen:
                continue
            seen.add(number)
            for node in self._members[number]:
                stack += [self._group[user] for user in node.users if user in self._group]
        return True


def _sources(node: Node) -> Iterable[Node]:
    return [source for source in node.all_input_nodes if source.op == "call_function"]
