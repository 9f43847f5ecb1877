"""What a forward saves for its backward, told apart from the graph that autograd records."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import GradientEdge, get_gradient_edge, saved_tensors_hooks

from .subject import Stateless, flat


class Graph:
    """The autograd graph of one forward without the tensors in it, used for every backward like it."""

    def __init__(self) -> None:
        self.ends: dict[int, GradientEdge] = {}
        self.starts: dict[int, GradientEdge] = {}
        self._given: Sequence[Tensor] = ()
        self._lock = threading.Lock()

    def give(self, index: int) -> Tensor:
        """A saved tensor of the backward under way."""
        return self._given[index]

    def backward(self, cotangents: Sequence[Tensor], saved: Sequence[Tensor], wanted: Sequence[int]) -> Any:
        """Gradients of the wanted arguments; None where nothing depends on one."""
        with self._lock:
            self._given = saved
            try:
                return torch.autograd.grad(
                    list(self.ends.values()),
                    [self.starts[index] for index in wanted],
                    [cotangents[index] for index in self.ends],
                    retain_graph=True,
                    allow_unused=True,
                )
            finally:
                self._given = ()


@dataclass(frozen=True)
class Place:
    """Where a saved tensor lies: in an argument, an output or an extra."""

    kind: str
    index: int
    size: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int

    def found_in(self, base: Tensor) -> Tensor:
        """The saved tensor."""
        return base.as_strided(self.size, self.stride, base.storage_offset() + self.offset)


@dataclass(frozen=True)
class Recorded:
    """A forward that was run."""

    outputs: list[Tensor]
    places: tuple[Place, ...]
    extras: list[Tensor]
    attributes: tuple[Any, ...]
    graph: Graph


@dataclass
class Plan:
    """What is the same in every forward with the same layouts."""

    places: tuple[Place, ...]
    extras: tuple[tuple[int, torch.dtype], ...]
    """Elements and dtype of what is saved beside arguments and outputs."""
    attributes: tuple[Any, ...]
    graphs: dict[int, Graph] = field(default_factory=dict)
    """By stream: autograd runs a node where its forward ran."""


def recorded(model: Stateless, arguments: Sequence[Any], inputs: int, differentiable: Sequence[int]) -> Recorded:
    """Run a forward, with what it saves kept apart from its graph."""
    leaves = [
        value.detach().requires_grad_() if index in differentiable else value for index, value in enumerate(arguments)
    ]
    saved: list[Tensor] = []
    graph = Graph()

    def keep(tensor: Tensor) -> int:
        saved.append(tensor.detach())
        return len(saved) - 1

    with torch.enable_grad(), _above_autograd(), saved_tensors_hooks(keep, graph.give):
        outputs = flat(model(leaves, inputs))
        graph.ends = {index: get_gradient_edge(one) for index, one in enumerate(outputs) if one.requires_grad}
        graph.starts = {index: get_gradient_edge(leaves[index]) for index in differentiable}
    raw = [output.detach() for output in outputs]
    places, extras = _placed(saved, leaves, raw)
    attributes = _attributes(outputs)
    for index in differentiable:  # the graph keeps its leaves, which need not keep the memory of the arguments
        leaves[index].data = leaves[index].new_empty(0)
    return Recorded(outputs=raw, places=places, extras=extras, attributes=attributes, graph=graph)


def memory(value: Tensor) -> int:
    """What tensors that share memory have in common."""
    return int(value.untyped_storage()._cdata)


def _placed(
    saved: list[Tensor], arguments: Sequence[Any], outputs: list[Tensor]
) -> tuple[tuple[Place, ...], list[Tensor]]:
    """Where each saved tensor lies, and flat tensors of the memory that is neither an argument's nor an output's."""
    known: dict[tuple[int, torch.dtype], tuple[str, int, int]] = {}
    for index, value in enumerate(outputs):
        if value.is_contiguous() and value.untyped_storage().nbytes() == value.nbytes:
            known[memory(value), value.dtype] = ("output", index, 0)
    for index, value in enumerate(arguments):
        if isinstance(value, Tensor):
            known[memory(value), value.dtype] = ("argument", index, int(value.storage_offset()))
    places: list[Place] = []
    extras: list[Tensor] = []
    for tensor in saved:
        key = (memory(tensor), tensor.dtype)
        if key not in known:
            storage = tensor.untyped_storage()
            extra = tensor.as_strided((storage.nbytes() // tensor.element_size(),), (1,), 0)
            if any(memory == key[0] for memory, _ in known):
                extra = extra.clone()
            known[key] = ("extra", len(extras), 0)
            extras.append(extra)
        kind, index, start = known[key]
        offset = int(tensor.storage_offset()) - start
        places.append(Place(kind, index, tuple(tensor.shape), tuple(tensor.stride()), offset))
    return tuple(places), extras


def _attributes(outputs: list[Tensor]) -> tuple[Any, ...]:
    """What the kernel's own functions keep beside saved tensors, in the order of the graph."""
    waiting: list[Any] = [output.grad_fn for output in outputs if output.grad_fn is not None]
    seen: set[Any] = set()
    found: list[Any] = []
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        if isinstance(node, torch.autograd.function.BackwardCFunction):
            found += [value for _, value in sorted(vars(node).items())]
        waiting += [following for following, _ in node.next_functions if following is not None]
    return tuple(found)


def is_plain(value: Any) -> bool:
    """Whether a value cannot hold a tensor."""
    if isinstance(value, (tuple, list)):
        return all(is_plain(item) for item in value)
    return value is None or isinstance(value, (bool, int, float, str, torch.dtype, torch.device))


@contextmanager
def _above_autograd() -> Iterator[None]:
    """Inside of an operator autograd is switched off; a kernel's own autograd functions, and views around them, need
    it."""
    key = torch._C.DispatchKey
    excluded = torch._C._dispatch_tls_local_exclude_set()
    for one in (key.AutogradFunctionality, key.AutogradCPU, key.AutogradCUDA, key.AutogradOther, key.ADInplaceOrView):
        excluded = excluded.remove(one)
    with torch._C._ForceDispatchKeyGuard(torch._C._dispatch_tls_local_include_set(), excluded):
        yield
