"""Forward and backward as one call: what a problem with a backward pass is judged and timed by.

A `ModelStep` takes the arguments of `forward`, a cotangent for each output that has a gradient, and how those lie in
memory. It returns what `forward` returns, and the gradients. Every call makes the leaves of its graph anew, and nothing
accumulates, so that calls are independent of each other as those of a forward are. On the CPU the cotangents are there
only once the forward has ended, as they are wherever a model is trained: `before_backward` waits for them.

The same class wraps the reference in the referee, the compiled reference in the baselines' process and the candidate in
its own. Standard library and torch only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from workers.ipc.tensors import flatten, mapped, put

FILLED = 3
"""Tensors that are made in place of one that is gone, so that one of them lies where it lay."""
DENSE, TURNED, EXPANDED = 0, 1, 2
"""How cotangents lie in memory: row by row; with gaps or another order of dimensions, as behind a transposition; and
with one slice in place of all the leading ones, as behind a sum."""


class StepError(Exception):
    """A model has no gradient where it needs one; `str` says where and what to do."""


@dataclass(frozen=True, kw_only=True)
class StepPlan:
    """What is differentiated, with respect to what."""

    inputs: tuple[int, ...]
    """Among the tensors of forward's arguments, in the order of `flatten`."""
    parameters: tuple[str, ...]
    """Paths in the model."""
    outputs: tuple[int, ...]
    """Among the tensors that forward returns: those that get a cotangent."""

    def forward_arguments(self, arguments: Sequence[Any]) -> list[Any]:
        """Of a step's arguments, those of `forward`."""
        return list(arguments[: len(arguments) - len(self.outputs) - 1])

    def cotangents(self, arguments: Sequence[Any]) -> list[torch.Tensor]:
        """Of a step's arguments, the cotangents, laid out as the last argument has it."""
        given = arguments[len(arguments) - len(self.outputs) - 1 : -1]
        return [laid_out(cotangent, arguments[-1]) for cotangent in given]


@dataclass(frozen=True, kw_only=True)
class GraphUse:
    """What a caller does otherwise than in a usual step. `forward` gets results of an earlier operation, which nobody
    holds any more when it has ended, and whose memory others have then."""

    gradients: tuple[int, ...] | None = None
    """Those that are asked for, by their places among the step's: no others require any, and zeros stand for them. None
    is all of them; where there are none, the forward runs under no_grad."""
    cotangents: tuple[int, ...] | None = None
    """Places of those of the plan's outputs that are used; None is all of them."""
    overwritten: tuple[int, ...] = ()
    """Tensors among the arguments that are changed in place between forward and backward."""
    overwritten_outputs: tuple[int, ...] = ()
    """The same among what `forward` returns."""
    looked_at: bool = False
    """Whether the results are the caller's still: what is in them after the backward is put in the arguments."""
    same: tuple[int, int] | None = None
    """Two of the plan's inputs, by their places there, that are one tensor: the gradient of each is that of both."""
    added: bool = False
    """Whether two steps by `.backward()` add up in `.grad` of the same leaves. Nothing else may be asked for then."""


class ModelStep(torch.nn.Module):
    """A model's forward and backward pass as the forward of a module."""

    def __init__(self, model: torch.nn.Module, plan: StepPlan, call: Callable[..., Any] | None = None) -> None:
        """`call` runs the model's forward in its place: the compiled model. The parameters are those of `model`."""
        super().__init__()
        self.model = model
        self.plan = plan
        self._call = call
        self.before_backward: Callable[[Any], None] | None = None
        """Called with what the forward returned, when it has ended."""

    def forward(self, *arguments: Any) -> tuple[Any, tuple[torch.Tensor, ...]]:
        """What the model returns, and the gradients of inputs, then of parameters. Raises `StepError`."""
        return self.finish(*self.begin(arguments), arguments)

    def begin(self, arguments: Sequence[Any]) -> tuple[Any, list[torch.Tensor]]:
        """What the model returns, with its graph, and what gradients are asked of."""
        with torch.enable_grad():
            return self._first_pass(arguments)

    def finish(
        self, result: Any, leaves: list[torch.Tensor], arguments: Sequence[Any], *, retain: bool = False
    ) -> tuple[Any, tuple[torch.Tensor, ...]]:
        """What `forward` returns, from what `begin` returned for the same arguments; with `retain`, another backward of
        the same graph may follow. Raises `StepError`."""
        with torch.enable_grad():
            cotangents = self.plan.cotangents(arguments)
            outputs = self._differentiable(result, cotangents)
            gradients = torch.autograd.grad(
                outputs, leaves, cotangents, retain_graph=retain or None, allow_unused=True, materialize_grads=True
            )
        return mapped(result, torch.Tensor.detach), tuple(gradients)

    def first_pass(self, *arguments: Any) -> tuple[Any, tuple[torch.Tensor, ...]]:
        """The forward pass alone, with its graph recorded and dropped. In place of each gradient stands what it would
        be the gradient of, so that handing over the outputs costs what it costs after both passes."""
        with torch.enable_grad():
            result, leaves = self._first_pass(arguments)
        return mapped(result, torch.Tensor.detach), tuple(leaf.detach() for leaf in leaves)

    def used(self, use: GraphUse, *arguments: Any) -> tuple[Any, tuple[torch.Tensor, ...]]:
        """What `forward` returns, with the graph used otherwise."""
        if use.added:
            return self._added(arguments)
        given, plan = self.plan.forward_arguments(arguments), self.plan
        tensors = flatten(given)
        parameters = [self.model.get_parameter(name) for name in plan.parameters]
        count = len(plan.inputs) + len(parameters)
        asked = range(count) if use.gradients is None else use.gradients
        sources = [tensors[index].detach().requires_grad_(place in asked) for place, index in enumerate(plan.inputs)]
        if use.same is not None:
            sources[use.same[1]] = sources[use.same[0]]
        idle = [one for place, one in enumerate(parameters, len(plan.inputs)) if place not in asked] if asked else []
        for parameter in idle:
            parameter.requires_grad_(False)
        try:
            with torch.set_grad_enabled(bool(asked)):
                held = list[torch.Tensor]() if use.looked_at else None
                result, outputs = self._used_once(use, given, dict(zip(plan.inputs, sources, strict=True)), held)
                filling = [torch.full_like(one, _other(one)) for one in tensors for _ in range(FILLED)]
                found = self._gradients_of(use, outputs, [*sources, *parameters], asked, arguments)
            del filling
            for tensor, one in zip(tensors, held or (), strict=False):
                put(tensor, one.detach())
        finally:
            for parameter in idle:
                parameter.requires_grad_(True)
        return result, found

    def _added(self, arguments: Sequence[Any]) -> tuple[Any, tuple[torch.Tensor, ...]]:
        """What `forward` returns, and copies of what is in `.grad` of the leaves after two steps: where two of them lie
        in one memory, both are added to it."""
        tensors = flatten(self.plan.forward_arguments(arguments))
        inputs = [tensors[index].detach().requires_grad_() for index in self.plan.inputs]
        parameters = [self.model.get_parameter(name) for name in self.plan.parameters]
        earlier = [one.grad for one in parameters]
        for one in parameters:
            one.grad = None
        try:
            for _ in range(2):
                with torch.enable_grad():
                    result, leaves = self._first_pass(arguments, inputs)
                    cotangents = [one.clone() for one in self.plan.cotangents(arguments)]
                    torch.autograd.backward(self._differentiable(result, cotangents), cotangents, inputs=leaves)
            found = [torch.zeros_like(one) if one.grad is None else one.grad.clone() for one in leaves]
        finally:
            for one, gradient in zip(parameters, earlier, strict=True):
                one.grad = gradient
        return mapped(result, torch.Tensor.detach), tuple(found)

    def with_ones(self, *given: Any) -> None:
        """A step of forward's arguments alone, by cotangents of ones, of which nothing is kept."""
        with torch.enable_grad():
            result, leaves = self._first_pass([*given, *[None] * (len(self.plan.outputs) + 1)])
            outputs = _chosen(flatten(result), self.plan.outputs)
            torch.autograd.grad(outputs, leaves, [torch.ones_like(one) for one in outputs], allow_unused=True)

    def _used_once(
        self, use: GraphUse, given: list[Any], sources: Mapping[int, torch.Tensor], held: list[torch.Tensor] | None
    ) -> tuple[Any, list[torch.Tensor]]:
        """What the forward returned, and the outputs as they are for the backward. Nothing else is held, but in `held`
        what the forward was given."""
        tensors = flatten(given)
        origins = [sources.get(index, one) for index, one in enumerate(tensors)]
        made = {id(one): _result_of(one) for one in origins}
        handed = [made[id(one)] for one in origins]
        if held is not None:
            held += handed
        following = iter(handed)
        call = self.model if self._call is None else self._call
        result = call(*mapped(given, lambda _: next(following)))
        outputs = flatten(result)
        shown = mapped(result, torch.Tensor.detach)
        if use.overwritten_outputs:
            shown = mapped(shown, torch.Tensor.clone)
        if self.before_backward is not None:
            self.before_backward(shown)
        with torch.no_grad():
            for one in (*(handed[index] for index in use.overwritten), *_chosen(outputs, use.overwritten_outputs)):
                one.fill_(_other(one))
        return shown, _chosen(outputs, self.plan.outputs)

    def _gradients_of(
        self,
        use: GraphUse,
        outputs: list[torch.Tensor],
        sources: list[torch.Tensor],
        asked: Sequence[int],
        arguments: Sequence[Any],
    ) -> tuple[torch.Tensor, ...]:
        """The gradients of sources, zeros where they were not asked for."""
        found = [torch.zeros_like(one) for one in sources]
        pairs = list(zip(outputs, self.plan.cotangents(arguments), strict=False))
        pairs = pairs if use.cotangents is None else [pairs[place] for place in use.cotangents if place < len(pairs)]
        pairs = [(output, cotangent) for output, cotangent in pairs if output.requires_grad]
        if pairs and asked:
            ends, cotangents = zip(*pairs, strict=True)
            wanted = [sources[place] for place in asked]
            gradients = torch.autograd.grad(ends, wanted, cotangents, allow_unused=True, materialize_grads=True)
            for place, gradient in zip(asked, gradients, strict=True):
                found[place] = gradient
        if use.same is not None:
            found[use.same[1]] = found[use.same[0]].clone()
        return tuple(found)

    def through(self, call: Callable[..., Any]) -> ModelStep:
        """The same with another way to run the forward."""
        other = ModelStep(self.model, self.plan, call)
        other.before_backward = self.before_backward
        return other

    def _first_pass(
        self, arguments: Sequence[Any], inputs: Sequence[torch.Tensor] | None = None
    ) -> tuple[Any, list[torch.Tensor]]:
        """What the model returns, and the leaves, of which those of the plan's inputs may be given."""
        given = self.plan.forward_arguments(arguments)
        tensors = flatten(given)
        made = [tensors[index].detach().requires_grad_() for index in self.plan.inputs] if inputs is None else inputs
        leaves = dict(zip(self.plan.inputs, made, strict=True))
        following = iter([leaves.get(index, tensor) for index, tensor in enumerate(tensors)])
        call = self.model if self._call is None else self._call
        result = call(*mapped(given, lambda _: next(following)))
        if self.before_backward is not None:
            self.before_backward(mapped(result, torch.Tensor.detach))
        return result, [*leaves.values(), *(self.model.get_parameter(name) for name in self.plan.parameters)]

    def _differentiable(self, result: Any, cotangents: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """The outputs that get cotangents."""
        tensors = flatten(result)
        if self.plan.outputs and self.plan.outputs[-1] >= len(tensors):
            raise StepError(f"forward returned {len(tensors)} tensors; output {self.plan.outputs[-1]} is missing")
        found = [tensors[index] for index in self.plan.outputs]
        for index, output, cotangent in zip(self.plan.outputs, found, cotangents, strict=True):
            if output.shape != cotangent.shape or output.dtype != cotangent.dtype:
                raise StepError(
                    f"output {index} is {_shown(output)}, expected {_shown(cotangent)}, which its cotangent is"
                )
            if not output.requires_grad:
                raise StepError(
                    f"output {index} is cut off from the graph: no gradient leads from it to an input or parameter. "
                    "Return what a torch.autograd.Function returns as it is, neither detached nor from under no_grad"
                )
        return found


def matched(model: torch.nn.Module, plan: StepPlan, theirs: Mapping[str, str]) -> StepPlan:
    """The plan for a model whose parameters may be called otherwise: `theirs` maps the reference's names to its own.

    Raises `StepError` where a parameter is missing or has no gradient."""
    own = dict(model.named_parameters())
    for name in plan.parameters:
        if theirs.get(name) not in own:
            raise StepError(
                f"ModelNew has no parameter for the reference's `{name}`, whose gradient is judged: register it as a "
                f"torch.nn.Parameter of the same name and shape"
            )
        if not own[theirs[name]].requires_grad:
            raise StepError(f"the parameter `{theirs[name]}` has requires_grad=False, and its gradient is judged")
    return StepPlan(
        inputs=plan.inputs, parameters=tuple(theirs[name] for name in plan.parameters), outputs=plan.outputs
    )


def _result_of(leaf: torch.Tensor) -> torch.Tensor:
    """A tensor like one, that an operation made of it; the same one where that would lie otherwise in memory."""
    made = leaf.clone()
    return made if made.stride() == leaf.stride() else leaf


def _chosen(tensors: Sequence[torch.Tensor], places: Sequence[int]) -> list[torch.Tensor]:
    return [tensors[place] for place in places if place < len(tensors)]


def _other(tensor: torch.Tensor) -> float:
    """What is put in the place of values that must not be read any more."""
    return math.nan if tensor.is_floating_point() and tensor.itemsize > 1 else 0


def laid_out(cotangent: torch.Tensor, layout: int) -> torch.Tensor:
    """A dense cotangent of at least one dimension in another layout; `EXPANDED` repeats its first slice."""
    if layout == DENSE or cotangent.dim() == 0:
        return cotangent
    if layout == EXPANDED:
        return cotangent[:1].expand_as(cotangent)
    if cotangent.dim() > 1:
        return cotangent.movedim(-1, 0).contiguous().movedim(0, -1)
    return torch.stack((cotangent, cotangent), dim=-1)[..., 0]


def shortened(arguments: Any, axes: Sequence[tuple[int, int]], size: int) -> Any:
    """Copies of arguments whose dimensions (a tensor's place and its axis) end after `size` places."""
    tensors = flatten(arguments)
    for place, axis in axes:
        tensors[place] = tensors[place].narrow(axis, 0, size)
    following = iter([tensor.clone(memory_format=torch.contiguous_format) for tensor in tensors])
    return mapped(arguments, lambda _: next(following))


def _shown(tensor: torch.Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}"
