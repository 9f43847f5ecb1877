"""Which values end up in memory, and which of them one kernel makes together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from agents.playbook.expressions import NotLocalError
from agents.playbook.nodes import Map, Node, Reduce, Scan, topological
from agents.playbook.sizes import ONE, Shape


@dataclass(eq=False)
class Kernel:
    """A loop nest over `domain`; reductions and scans run over `axes`, everything else is independent."""

    domain: Shape
    axes: frozenset[int]
    sinks: list[Node] = field(default_factory=list)
    """What it makes, in order of dependence."""

    def placement(self, sink: Node) -> str | None:
        """How a sink's dimensions follow the domain's: `full`, `kept` (axes of size one), `squeezed`, or not at all."""
        if isinstance(sink, Reduce | Scan):
            shape = sink.arg.shape
            axes = sink.axes if isinstance(sink, Reduce) else frozenset({sink.dim})
            return "full" if shape == self.domain and axes == self.axes else None
        if sink.shape == self.domain:
            return "full"
        if not self.axes:
            return None
        if sink.shape == tuple(ONE if dim in self.axes else size for dim, size in enumerate(self.domain)):
            return "kept"
        if sink.shape == tuple(size for dim, size in enumerate(self.domain) if dim not in self.axes):
            return "squeezed"
        return None


def kernel_for(sink: Node) -> Kernel:
    """A kernel of its own."""
    if isinstance(sink, Reduce):
        return Kernel(domain=sink.arg.shape, axes=sink.axes, sinks=[sink])
    if isinstance(sink, Scan):
        return Kernel(domain=sink.shape, axes=frozenset({sink.dim}), sinks=[sink])
    return Kernel(domain=sink.shape, axes=frozenset(), sinks=[sink])


def sinks_of(outputs: Sequence[Node], *, fuse: bool) -> list[Node]:
    """Every value that a kernel makes: outputs, reductions, scans; without fusion every pointwise operator too."""
    wanted = {id(node) for node in outputs}
    kinds = (Reduce, Scan) if fuse else (Reduce, Scan, Map)
    return [
        node
        for node in topological(outputs)
        if id(node) in wanted or (isinstance(node, kinds) and (fuse or node.shape or not isinstance(node, Map)))
    ]


def group(sinks: Sequence[Node], fits: Callable[[Kernel], None], *, fuse: bool) -> list[Kernel]:
    """Kernels in order. `fits` tries a kernel and raises `NotLocalError` when it cannot be made in one nest."""
    kernels: list[Kernel] = []
    home: dict[int, int] = {}
    for sink in sinks:
        first = max((home[id(node)] for node in _below(sink, home)), default=0)
        chosen = _join(kernels, first, sink, fits) if fuse else None
        if chosen is None:
            chosen = len(kernels)
            kernels.append(kernel_for(sink))
        home[id(sink)] = chosen
    return kernels


def _below(sink: Node, home: dict[int, int]) -> list[Node]:
    return [node for node in topological([sink]) if node is not sink and id(node) in home]


def _join(kernels: list[Kernel], first: int, sink: Node, fits: Callable[[Kernel], None]) -> int | None:
    for number in range(first, len(kernels)):
        kernel = kernels[number]
        wider = _widened(kernel, sink)
        if wider is None:
            continue
        try:
            fits(wider)
        except NotLocalError:
            continue
        kernels[number] = wider
        return number
    return None


def _widened(kernel: Kernel, sink: Node) -> Kernel | None:
    """The kernel with one more sink; a pointwise kernel takes over a reduction's axes."""
    own = kernel_for(sink)
    nest = own if own.axes and not kernel.axes else kernel
    candidate = replace(nest, sinks=[*kernel.sinks, sink])
    return candidate if all(candidate.placement(item) for item in candidate.sinks) else None
