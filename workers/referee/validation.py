"""Is a problem usable? It is run: same answer twice, finite, not constant, dependent on its inputs, and more than
rounding noise."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from services.domain.devices import DeviceSheet
from services.domain.problems import ProblemAnalysis
from workers.ipc.sparse import is_sparse
from workers.ipc.tensors import flatten
from workers.referee.comparison.error_log import pieces
from workers.referee.comparison.error_scales import is_counted, same_bytes
from workers.referee.comparison.tolerance import all_finite
from workers.referee.costs.analysis import analyse
from workers.referee.costs.backward_costs import with_backward
from workers.referee.costs.roofline import MICROSECONDS, floor_s
from workers.referee.costs.time_limit import CpuTime
from workers.referee.errors import Refused
from workers.referee.inputs.float8 import widened
from workers.referee.inputs.large_inputs import EXACT_BYTES, telling_part
from workers.referee.problem.model_state import changed_names
from workers.referee.problem.process_state import changed
from workers.referee.problem.reference_problem import ReferenceProblem, cloned, output_tensors, seed_everything

REPEAT_RTOL = 1e-5
CONSTANT_RTOL = 1e-7
NOISE_MULTIPLE = 2.0
"""Error of a result over its exact value from which on it is rounding noise. Beyond 2 the result itself is larger than
the exact value. Unrelated results of one magnitude (a sine of huge numbers) are 1.4 apart; one that underflows or is
rounded to zero is 1 apart. What cancels exactly is off by millions."""
NOISE_BYTES = 64 << 20
"""Inputs and outputs of a call up to which it is run in float64 as a whole to look for rounding noise."""
SHOWN = 4
"""Of the names of buffers that a call changes."""
Progress = Callable[[str, int | None], None]
"""Called with what is about to run and the line it is defined at, so that a hang or a kill can be explained."""


def examine(problem: ReferenceProblem, progress: Progress) -> None:
    """Run the reference on every open input set and judge it. Raises `Refused`."""
    _check_state(problem)
    for number in range(len(problem.input_sets) + 1):
        name = "get_inputs" if number == 0 else "INPUT_SETS"
        progress(name, problem.line_of(name))
        first, second = problem.make_inputs(number, 1), problem.make_inputs(number, 2)
        progress("Model.forward", problem.line_of("Model.forward"))
        outputs = _outputs(problem, first)
        _check_untouched(problem)
        _check_repeatable(problem, first, outputs)
        _check_finite(problem, outputs)
        _check_dependent(problem, name, (first, second), outputs)
        _check_not_constant(problem, _of_forward(problem, outputs))
        progress("Model.forward", problem.line_of("Model.forward"))
        _check_above_rounding(problem, (first, second), outputs)
        _check_gradients(problem, outputs)
    for number in range(len(problem.init_sets)):
        progress("INIT_SETS", problem.line_of("INIT_SETS"))
        with problem.other_settings(number):
            first, second = problem.make_inputs(0, 1), problem.make_inputs(0, 2)
            outputs = _outputs(problem, first)
            _check_finite(problem, outputs)
            _check_above_rounding(problem, (first, second), outputs)


def analysed(
    problem: ReferenceProblem,
    device: DeviceSheet,
    progress: Progress,
    *,
    size_numbers: bool = True,
    limit: CpuTime | None = None,
) -> ProblemAnalysis:
    """The traced operator graph, and those of open input sets of other forms, as far as they are traced within the
    limit. Raises `Refused` where the reference cannot be analysed at all."""

    def traced(arguments: list[Any]) -> ProblemAnalysis:
        progress("Model.forward", problem.line_of("Model.forward"))
        found = analyse(
            problem.model,
            problem.forward_arguments(arguments),
            problem.init_inputs if isinstance(problem.init_inputs, list) else list(problem.init_inputs.values()),
            copy_bandwidth_gb_s=device.copy_bandwidth_gb_s,
            peak_gflop_s=device.peak_gflop_s,
            cache_bandwidth_gb_s=device.cache_bandwidth_gb_s,
            cache_bytes=device.cache_bytes,
            size_numbers=size_numbers,
            limit=limit,
        )
        return replace(found, floor_us=MICROSECONDS * max(floor_s(found, device)))

    first = problem.make_inputs(0, 1)
    found = traced(first)
    others: dict[str, ProblemAnalysis] = {}
    if found.trace_error is None and problem.step is None:
        own = _form(first, found)
        for number in range(1, len(problem.input_sets) + 1):
            arguments = problem.make_inputs(number, 1)
            form = _form(arguments, found)
            if form != own and form not in others:
                others[form] = traced(arguments)
    found = replace(found, calls=problem.calls(), other_forms=tuple(others.values()))
    return with_backward(found, problem, device)


def _form(arguments: list[Any], analysis: ProblemAnalysis) -> str:
    """What a graph holds for: dtypes, ranks, plain values, dimensions of size one, and sizes that are fixed in it."""
    parts = [
        (value.dtype, [size == 1 for size in value.shape]) if isinstance(value, torch.Tensor) else value
        for value in arguments
    ]
    tensors = flatten(arguments)
    fixed = [tensors[number].shape[dim : dim + 1] for number, dim in analysis.fixed_sizes if number < len(tensors)]
    return repr((parts, fixed))


def keep_state(problem: ReferenceProblem, progress: Progress) -> str | None:
    """Have each call find the model as it was built. What is said where calls change its parameters or buffers, as
    batch normalisation does in training: a candidate's are compared with them. Raises `Refused`."""
    progress("Model.forward", problem.line_of("Model.forward"))
    names = changed_names(problem)
    problem.keep(names)
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"a call changes the model's {', '.join(names[:SHOWN])}{more}: a kernel's are compared" if names else None


def _outputs(problem: ReferenceProblem, arguments: list[Any]) -> list[torch.Tensor]:
    outputs = output_tensors(problem.run(cloned(arguments)))
    if not outputs:
        remedy = "Return a tensor, or a tuple of tensors."
        raise problem.refusal("Model.forward returns no tensor", remedy, "Model.forward")
    return outputs


def _check_state(problem: ReferenceProblem) -> None:
    for name, tensor in problem.state():
        what = f"the model's parameter or buffer {name}"
        if is_sparse(tensor):
            remedy = "Keep it dense, or give it to forward as an argument."
            raise problem.refusal(f"{what} is sparse, which only arguments and outputs may be", remedy, "Model")
        problem.check_supported(what, tensor, "Model")


def _check_untouched(problem: ReferenceProblem) -> None:
    name = changed(problem.torch_found)
    if name is not None:
        remedy = "Leave PyTorch and Kernelwright as they are: the change would also affect the baseline."
        raise problem.refusal(f"the problem changes {name}", remedy)


def _check_repeatable(problem: ReferenceProblem, arguments: list[Any], outputs: list[torch.Tensor]) -> None:
    seed_everything(977)
    again = _outputs(problem, arguments)
    if not all(map(_agree, outputs, again)):
        remedy = "Remove randomness and state from forward (dropout, noise, counters)."
        reason = "Model.forward is not deterministic: the same inputs gave different outputs"
        raise problem.refusal(reason, remedy, "Model.forward")


def _agree(one: torch.Tensor, other: torch.Tensor) -> bool:
    atol = REPEAT_RTOL * _largest(one)
    return all(
        torch.allclose(_widened(a), _widened(b), rtol=REPEAT_RTOL, atol=atol, equal_nan=True)
        for a, b in pieces(one, other)
    )


def _widened(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.double() if tensor.is_floating_point() else tensor


def _largest(tensor: torch.Tensor) -> float:
    if not tensor.is_floating_point() or tensor.numel() == 0:
        return 0.0
    return max(
        float(torch.nan_to_num(piece.double(), nan=0.0, posinf=0.0, neginf=0.0).abs().max())
        for (piece,) in pieces(tensor)
    )


def _check_finite(problem: ReferenceProblem, outputs: list[torch.Tensor]) -> None:
    if not all_finite(outputs):
        remedy = "Choose inputs (or a formula) whose outputs are finite."
        raise problem.refusal("the outputs are not finite: NaN or Inf on its own inputs", remedy, "Model.forward")


def _check_dependent(
    problem: ReferenceProblem, name: str, draws: tuple[list[Any], list[Any]], outputs: list[torch.Tensor]
) -> None:
    own = [flatten(problem.forward_arguments(one)) for one in draws]
    if own[0] and not any(tensor.numel() for tensor in own[0]):
        remedy = "Nothing can be timed on them: move them to HELD_OUT, where kernels are judged on them and not timed."
        raise problem.refusal(f"{name} gives tensors without elements only", remedy, name)
    if _same(*own):
        remedy = "Draw the inputs at random, so that a remembered answer can be distinguished from a computed one."
        raise problem.refusal(f"{name} gives the same values under every seed", remedy, name)
    if _same(*(_of_forward(problem, one) for one in (outputs, _outputs(problem, draws[1])))):
        remedy = "Let the output depend on the arguments of forward."
        raise problem.refusal("the output does not depend on the inputs", remedy, "Model.forward")


def _of_forward(problem: ReferenceProblem, outputs: list[torch.Tensor]) -> list[torch.Tensor]:
    """What `forward` returned, without gradients."""
    return outputs[: len(outputs) - len(problem.gradient_names)]


def _check_gradients(problem: ReferenceProblem, outputs: list[torch.Tensor]) -> None:
    gradients = outputs[len(_of_forward(problem, outputs)) :]
    if gradients and not any(bool(gradient.any()) for gradient in gradients):
        remedy = (
            "Compute the output with operators that have a gradient (floor, round, sign and comparisons have none)."
        )
        raise problem.refusal("every gradient is zero", remedy, "Model.forward")


def _check_not_constant(problem: ReferenceProblem, outputs: list[torch.Tensor]) -> None:
    for tensor in outputs:
        if tensor.numel() < 2 or not tensor.is_floating_point():
            return
        low, high = (float(end) for end in widened(tensor).aminmax())
        if high - low > CONSTANT_RTOL * max(abs(low), abs(high)):
            return
    remedy = "Compute something that varies over the output."
    raise problem.refusal("the output is constant: every element has the same value", remedy, "Model.forward")


def _check_above_rounding(
    problem: ReferenceProblem, draws: tuple[list[Any], list[Any]], outputs: list[torch.Tensor]
) -> None:
    """`outputs` are those of the first draw. A number may be zero up to rounding by chance, and a stretch of few rows
    for want of others: it has to be so in both draws as a whole."""
    noise = _noise(problem, draws[0], outputs, NOISE_BYTES)
    if noise:
        noise = _noise(problem, draws[0], outputs, EXACT_BYTES)
        again = _noise(problem, draws[1], _outputs(problem, draws[1]), EXACT_BYTES)
        noise = {what: figures for what, figures in noise.items() if what in again}
    for what, (exact, error) in noise.items():
        reason = (
            f"{what} is nothing but rounding noise: it is {exact:.2g} in float64 (root mean square), and the reference "
            f"is off by {error:.2g}, so that a kernel that rounds otherwise cannot agree with it"
        )
        remedy = (
            "Return values that do not cancel: the mean of normalised values, for one, is 0 (take it before the "
            "normalisation), and so is the gradient of a bias before a normalisation (leave the bias out)."
        )
        raise problem.refusal(reason, remedy, "Model.forward")


def _noise(
    problem: ReferenceProblem, arguments: list[Any], outputs: list[torch.Tensor], most: int
) -> dict[str, tuple[float, float]]:
    """Outputs and gradients that are rounding noise, with the root mean squares of their exact values and of their
    errors; of a call with more than `most` bytes a stretch is run. Nothing is known of references that do not run in
    float64."""
    if all(map(is_counted, outputs)):
        return {}
    part = None if problem.step is not None else telling_part(arguments, outputs, most)
    if part is not None:
        with contextlib.suppress(Refused):  # it may not take such a stretch
            arguments, outputs = part, _outputs(problem, part)
    exact = output_tensors(problem.run_double(arguments))
    if len(exact) != len(outputs):
        return {}
    numbered = [f"output {number}" for number in range(len(_of_forward(problem, outputs)))]
    names = [*numbered, *(f"the gradient of {name}" for name in problem.gradient_names)]
    found = {name: _noise_of(*pair) for name, *pair in zip(names, outputs, exact, strict=True)}
    return {name: figures for name, figures in found.items() if figures is not None}


def _noise_of(output: torch.Tensor, exact: torch.Tensor) -> tuple[float, float] | None:
    """The root mean squares of an output's exact values and of its errors, where it is rounding noise: as a whole, and
    in most of the elements that are not zero in both. None where it is not."""
    if is_counted(output) or output.shape != exact.shape or output.numel() == 0:
        return None
    counted, noisy, norm, error = 0, 0, 0.0, 0.0
    for own, other in pieces(output, exact):
        wide = other.to(torch.complex128 if own.is_complex() else torch.float64)
        usable = torch.isfinite(own) & torch.isfinite(wide)
        size = torch.where(usable, wide.abs(), 0.0)
        apart = torch.where(usable, (own.to(wide.dtype) - wide).abs(), 0.0)
        counted += int(((size > 0) | (apart > 0)).sum())
        noisy += int((apart > NOISE_MULTIPLE * size).sum())
        norm = math.hypot(norm, float(torch.linalg.vector_norm(size)))
        error = math.hypot(error, float(torch.linalg.vector_norm(apart)))
    if 2 * noisy <= counted or error <= NOISE_MULTIPLE * norm:
        return None
    root = output.numel() ** 0.5
    return norm / root, error / root


def _same(left: list[torch.Tensor], right: list[torch.Tensor]) -> bool:
    return len(left) == len(right) and all(same_bytes(a, b) for a, b in zip(left, right, strict=True))
