"""What the backward pass of a problem costs at least, in addition to its forward.

Bytes: every cotangent is read and every gradient written once; inputs and parameters are counted by the forward, which
may leave them in a cache. So the floor of both passes holds for a kernel that computes both at one go. FLOPs: one
product (or convolution) for each factor that has a gradient, and for everything else on the way to an output as many as
in the forward.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import torch

from services.domain.devices import DeviceSheet
from services.domain.problems import Argument, BackwardPass, Operator, ProblemAnalysis, TensorSpec, ValueRef
from workers.ipc.tensors import flatten
from workers.referee.costs.operator_costs import MATRIX, base_name, flops_of
from workers.referee.costs.roofline import MICROSECONDS, floor_s
from workers.referee.problem.reference_problem import ReferenceProblem


def with_backward(analysis: ProblemAnalysis, problem: ReferenceProblem, device: DeviceSheet) -> ProblemAnalysis:
    """The analysis of a forward pass with bytes, FLOPs and floor of both passes; as it is where none is asked for."""
    if problem.step is None:
        return analysis
    plan, arguments = problem.step.plan, problem.make_inputs(0, 1)
    tensors = flatten(problem.forward_arguments(arguments))
    cotangents = plan.cotangents(arguments)
    written = [tensors[index] for index in plan.inputs]
    written += [problem.model.get_parameter(name) for name in plan.parameters]
    backward = BackwardPass(
        gradients=problem.gradient_names,
        cotangents=tuple(
            _spec(f"cotangent of output {index}", tensor)
            for index, tensor in zip(plan.outputs, cotangents, strict=True)
        ),
        bytes_moved=sum(tensor.nbytes for tensor in (*cotangents, *written)),
        flops=_flops(analysis, _sources(analysis, plan.inputs, len(tensors), plan.parameters)),
    )
    both = replace(
        analysis,
        backward=backward,
        bytes_moved=analysis.bytes_moved + backward.bytes_moved,
        flops=analysis.flops + backward.flops,
    )
    return replace(both, floor_us=MICROSECONDS * max(floor_s(both, device)))


def _sources(analysis: ProblemAnalysis, inputs: Sequence[int], count: int, parameters: Sequence[str]) -> set[str]:
    """Names in the graph of what is differentiated; of nested arguments, whose names the graph does not record, all."""
    flat = len(analysis.inputs) == count
    found = {spec.name for index, spec in enumerate(analysis.inputs) if not flat or index in inputs}
    return found | {spec.name for spec in analysis.parameters if spec.origin in parameters}


def _flops(analysis: ProblemAnalysis, differentiated: set[str]) -> int:
    shapes = {spec.name: spec.shape for spec in (*analysis.inputs, *analysis.parameters)}
    shapes |= {spec.name: spec.shape for item in analysis.operators for spec in item.outputs}
    reached, total = set(differentiated), 0
    for item in analysis.operators:
        factors = reached.intersection(_references(item.arguments))
        if factors:
            reached |= {spec.name for spec in item.outputs}
            total += flops_of(item, shapes) * (len(factors) if _is_product(item) else 1)
    return total


def _is_product(item: Operator) -> bool:
    name = base_name(item.target)
    return name in MATRIX or "conv" in name


def _references(arguments: Iterable[Argument]) -> Iterable[str]:
    for item in arguments:
        if isinstance(item, ValueRef):
            yield item.ref
        elif isinstance(item, tuple):
            yield from _references(item)


def _spec(name: str, tensor: torch.Tensor) -> TensorSpec:
    return TensorSpec(name=name, shape=tuple(tensor.shape), dtype=str(tensor.dtype).removeprefix("torch."))
