"""The loop nest of one kernel: modes, merged dimensions, passes, and their C++ text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agents.playbook.accumulate import Accumulator
from agents.playbook.expressions import (
    EXPENSIVE,
    INNER,
    LANE,
    ROW,
    Expressions,
    NotLocalError,
    Value,
    ctype,
    offset,
)
from agents.playbook.fusion import Kernel
from agents.playbook.nodes import Map, Node, Reduce, Scan, topological
from agents.playbook.schedule import Schedule
from agents.playbook.sizes import ONE, ZERO, Poly, product, symbol


@dataclass(frozen=True, kw_only=True)
class Loop:
    """One loop; several merged dimensions are one loop over their product."""

    dim: int
    extent: Poly
    inner: bool
    """Whether it runs over reduced (or scanned) elements."""

    @property
    def name(self) -> str:
        """Its variable."""
        return f"i{self.dim}"


@dataclass(kw_only=True)
class Pass:
    """One sweep over the reduced elements."""

    reductions: list[Reduce]
    scans: list[Scan]
    stores: list[Node]


class Nest:
    """Everything the text needs to know about one kernel: loops, mode, passes and an expression emitter."""

    def __init__(
        self, kernel: Kernel, schedule: Schedule, buffers: Mapping[int, str], stored: Mapping[int, tuple[str, ...]]
    ) -> None:
        self.kernel = kernel
        self.schedule = schedule
        self.stored = stored
        """Names of the tensors in which a sink's value must end up, by identity."""
        self.own = {id(sink) for sink in kernel.sinks}
        self.buffers = {key: name for key, name in buffers.items() if key not in self.own}
        self.loops = self._merged_loops()
        self.mode = self._mode(self.loops)
        self.passes = self._passes()
        self.kept = self._kept()
        self.reset(self.loops)

    def reset(self, loops: Sequence[Loop]) -> None:
        """A fresh emitter for a set of loops."""
        levels = {loop.name: self._level(loop, loops) for loop in loops}
        self.expressions = Expressions(levels, self.buffers, lane_arrays=self.mode == "column")
        names = {loop.dim: symbol(loop.name) for loop in loops}
        self.root = tuple(names.get(dim, ZERO) for dim in range(len(self.kernel.domain)))
        self.accumulators: dict[int, Accumulator] = {}
        self.written: set[int] = set()
        self.fresh: set[int] = set()
        self._numbers = -1
        for sink in self.kernel.sinks:
            if isinstance(sink, Reduce | Scan):
                self.expressions.local[id(sink)] = self._reader(sink)

    @property
    def outer(self) -> list[Loop]:
        """Independent loops, without the one that lanes or vectors take."""
        last = self.vector if self.mode in {"map", "column"} else None
        return [loop for loop in self.loops if not loop.inner and loop is not last]

    @property
    def inner(self) -> list[Loop]:
        """Loops over reduced elements."""
        return [loop for loop in self.loops if loop.inner]

    @property
    def vector(self) -> Loop | None:
        """The loop that lanes run along."""
        if self.mode in {"map", "column"}:
            free = [loop for loop in self.loops if not loop.inner]
            return free[-1] if free else None
        return self.inner[-1]

    @property
    def work(self) -> Poly:
        """Elements visited."""
        return product(self.kernel.domain)

    def _level(self, loop: Loop, loops: Sequence[Loop]) -> int:
        if loop.inner:
            return INNER
        free = [item for item in loops if not item.inner]
        if self.mode == "map":
            return INNER if loop is free[-1] else ROW
        return LANE if self.mode == "column" and loop is free[-1] else ROW

    def _mode(self, loops: Sequence[Loop]) -> str:
        """`map` without reductions; `row` when reduced elements lie together; `column` when they do not; `full`."""
        if not self.kernel.axes:
            return "map"
        free = [loop for loop in loops if not loop.inner]
        if not any(loop.inner for loop in loops):
            return "map"
        scans = any(isinstance(sink, Scan) for sink in self.kernel.sinks)
        if not free:
            return "row" if scans else "full"
        jam = scans and self.schedule.interleave > 1
        return "column" if jam or not loops[-1].inner else "row"

    def _merged_loops(self) -> list[Loop]:
        """One loop per dimension, then neighbours merged where every access walks through them in one stride."""
        domain, axes = self.kernel.domain, self.kernel.axes
        single = [Loop(dim=dim, extent=size, inner=dim in axes) for dim, size in enumerate(domain) if size != ONE]
        self.mode = self._mode(single)
        self.passes = self._passes()
        self.kept = {}
        self.reset(single)
        self._trial()
        merged: list[Loop] = []
        for loop in single:
            previous = merged[-1] if merged else None
            if previous is not None and self._mergeable(previous, loop):
                extent = previous.extent * loop.extent
                merged[-1] = Loop(dim=loop.dim, extent=extent, inner=loop.inner)
            else:
                merged.append(loop)
        return merged

    def _mergeable(self, left: Loop, right: Loop) -> bool:
        if left.inner != right.inner or any(isinstance(sink, Scan) and right.inner for sink in self.kernel.sinks):
            return False
        return all(_walks(access, left, right) for access in self.expressions.accesses)

    def _trial(self) -> None:
        """Emit everything once to learn the accesses. Raises `NotLocalError` when the sinks do not go together."""
        for sweep in self.passes:
            directions = {scan.reverse for scan in sweep.scans} | ({False} if sweep.reductions else set())
            if len(directions) > 1:
                raise NotLocalError
            looping: list[Scan | Reduce] = [*sweep.scans, *sweep.reductions]
            for item in looping:
                self.expressions.value(item.arg, self.root)
                self.accumulators[id(item)] = Accumulator.make(item, self.number(), self.mode)
            for sink in sweep.stores:
                self.expressions.value(sink, self.index(sink))
                self.expressions.accesses.append(offset(sink, self.index(sink)))
            self.expressions.end_pass()
            self.end_pass(sweep)

    def index(self, sink: Node) -> tuple[Poly, ...]:
        """The loop variables as a sink's index."""
        place = self.kernel.placement(sink)
        if isinstance(sink, Reduce):
            place = "kept"
        if place == "squeezed":
            return tuple(item for dim, item in enumerate(self.root) if dim not in self.kernel.axes)
        if place == "kept":
            return tuple(ZERO if dim in self.kernel.axes else item for dim, item in enumerate(self.root))
        return self.root

    def _passes(self) -> list[Pass]:
        """A reduction that needs another one's result runs in a later pass; so does what is written from it."""
        level: dict[int, int] = {}
        passes: dict[int, Pass] = {}
        for sink in self.kernel.sinks:
            own = 0
            for node in topological([sink]):
                if node is not sink and id(node) in level:
                    own = max(own, level[id(node)] + (1 if isinstance(node, Reduce) else 0))
            level[id(sink)] = own
            sweep = passes.setdefault(own, Pass(reductions=[], scans=[], stores=[]))
            if isinstance(sink, Reduce):
                sweep.reductions.append(sink)
                if id(sink) in self.stored:
                    later = passes.setdefault(own + 1, Pass(reductions=[], scans=[], stores=[]))
                    later.stores.append(sink)
            else:
                if isinstance(sink, Scan):
                    sweep.scans.append(sink)
                if id(sink) in self.stored:
                    sweep.stores.append(sink)
        return [passes[number] for number in sorted(passes)]

    def _kept(self) -> dict[int, str]:
        """Expensive pointwise values that a later pass needs again, with the names of their row buffers."""
        if not (self.schedule.keep and self.mode == "row" and len(self.inner) == 1):
            return {}
        uses: dict[int, set[int]] = {}
        nodes: dict[int, Map] = {}
        for number, sweep in enumerate(self.passes):
            for sink in [*sweep.reductions, *sweep.scans, *sweep.stores]:
                for node in self._reached(sink):
                    if isinstance(node, Map) and node.function in EXPENSIVE and node.shape == self.kernel.domain:
                        uses.setdefault(id(node), set()).add(number)
                        nodes[id(node)] = node
        chosen = [key for key, numbers in uses.items() if len(numbers) > 1 and ctype(nodes[key].dtype) == "float"]
        return {key: f"keep{number}" for number, key in enumerate(chosen)}

    def _reached(self, sink: Node) -> list[Node]:
        """Nodes computed for a sink in its pass: not those behind a local reduction or a buffer."""
        found: list[Node] = []
        seen: set[int] = set()
        stack = list(sink.arguments) if isinstance(sink, Reduce | Scan) else [sink]
        while stack:
            node = stack.pop()
            if id(node) in seen or id(node) in self.buffers or isinstance(node, Reduce):
                continue
            seen.add(id(node))
            found.append(node)
            stack += node.arguments
        return found

    def _reader(self, sink: Reduce | Scan):  # type: ignore[no-untyped-def] # noqa: ANN202 - a closure
        def read(index: tuple[Poly, ...]) -> Value:
            accumulator = self.accumulators.get(id(sink))
            expected = self.index(sink) if isinstance(sink, Reduce) else self.root
            if accumulator is None or index != expected:
                raise NotLocalError
            return accumulator.value()

        return read

    def number(self) -> int:
        """A number that no other accumulator of the kernel has."""
        self._numbers += 1
        return self._numbers

    def end_pass(self, item: Pass) -> None:
        """After a sweep, running sums are gone and kept values are in their buffers."""
        for scan in item.scans:
            self.accumulators.pop(id(scan), None)
        self.written |= self.fresh

    def keep_values(self) -> None:
        """Route kept nodes through their row buffers: computed and stored on first use, loaded afterwards."""
        for key, name in self.kept.items():
            self.expressions.local[key] = self._keeper(key, name)

    def _keeper(self, key: int, name: str):  # type: ignore[no-untyped-def] # noqa: ANN202 - a closure
        nodes = {id(node): node for sink in self.kernel.sinks for node in topological([sink])}
        position = self.inner[0].name

        def read(index: tuple[Poly, ...]) -> Value:
            if index != self.root:
                raise NotLocalError
            if key in self.written:
                return self.expressions.assign("float", f"{name}[{position}]", INNER)
            node = nodes[key]
            assert isinstance(node, Map)
            value = self.expressions._map(node, [self.expressions.value(arg, index) for arg in node.args])
            self.expressions.lines[INNER].append(f"{name}[{position}] = {value.text};")
            self.fresh.add(key)
            return value

        return read


def _walks(access: Poly, left: Loop, right: Loop) -> bool:
    """Whether stepping `left` is the same as stepping `right` through its whole extent."""
    for atom in access.atoms:
        if atom not in {left.name, right.name} and (left.name in atom or right.name in atom) and "(" in atom:
            return False
    return access.coefficient(left.name) == access.coefficient(right.name) * right.extent
