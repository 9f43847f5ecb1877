"""Domain values in words, for prompts and for the query that memory is asked."""

from __future__ import annotations

from services.domain.chat import AttemptFact, PlanFact
from services.domain.evaluations import Baselines, DeviceSheet, EvaluationReport
from services.domain.problems import Argument, Operator, ProblemAnalysis, ValueRef
from services.learning import describe_moves, describe_outcome, evidence

_OPERATORS = 80
"""How many operators of a graph a prompt shows."""
_METRICS = 24
"""How many counters a prompt shows: as many as CudaForge's Judge reads."""


def device(sheet: DeviceSheet | None) -> str:
    """What a kernel can expect of its device, one fact a line."""
    if sheet is None:
        return "unknown device"
    return "\n".join(
        (
            f"{sheet.name}: {sheet.model}, {sheet.units} units, {', '.join(sheet.instruction_set)}",
            f"copy bandwidth {sheet.copy_bandwidth_gb_s:.1f} GB/s",
            f"cache of {sheet.cache_bytes >> 20} MiB with {sheet.cache_bandwidth_gb_s:.1f} GB/s",
            f"fp32 peak {sheet.peak_gflop_s:.0f} GFLOP/s, an empty call takes {sheet.launch_us:.2f} µs",
            *_matrix_units(sheet),
            f"balance: {sheet.peak_gflop_s / max(sheet.copy_bandwidth_gb_s, 1e-9):.1f} fp32 FLOPs a byte",
            sheet.toolchain,
        )
    )


def _matrix_units(sheet: DeviceSheet) -> tuple[str, ...]:
    if sheet.peak_half_gflop_s is None:
        return ()
    return (f"fp16 matrix peak {sheet.peak_half_gflop_s:.0f} GFLOP/s",)


def analysis(found: ProblemAnalysis) -> str:
    """The traced graph with shapes and the roofline floor."""
    lines = [
        f"family: {found.family}",
        f"inputs: {', '.join(map(str, found.inputs)) or 'none'}",
        f"parameters: {', '.join(map(str, found.parameters)) or 'none'}",
        f"init inputs: {list(found.init_inputs)}",
        f"fewest bytes moved {found.bytes_moved}, FLOPs {found.flops}, roofline floor {found.floor_us:.1f} µs",
        "operators:",
        *(f"  {operator(item)}" for item in found.operators[:_OPERATORS]),
        f"returns: {', '.join(found.outputs)}",
    ]
    if len(found.operators) > _OPERATORS:
        lines.insert(-1, f"  … {len(found.operators) - _OPERATORS} more")
    if found.trace_error:
        lines.append(f"not traced: {found.trace_error}")
    return "\n".join(lines)


def operator(item: Operator) -> str:
    """`y: float32[4] = aten.relu.default(x)`."""
    arguments = [_argument(value) for value in item.arguments]
    arguments += [f"{name}={_argument(value)}" for name, value in item.keywords]
    return f"{'; '.join(map(str, item.outputs))} = {item.target}({', '.join(arguments)})"


def baselines(known: Baselines) -> str:
    """The reference's latencies."""
    named = (("eager", known.eager), ("torch.compile", known.compile), ("max-autotune", known.compile_max))
    return ", ".join(f"{name} {latency.median_us:.1f} µs" for name, latency in named if latency) or "not measured yet"


def attempt(item: AttemptFact) -> str:
    """One line of the trajectory."""
    start = f" from {item.parent_id}" if item.parent_id else ""
    moves = describe_moves(item.plan.moves) if item.plan else "no plan"
    result = describe_outcome(item.report) if item.report else item.failure or "no evaluation"
    critique = f" Judge: {item.critique}" if item.critique else ""
    made = item.candidate_id or "no candidate"
    return f"step {item.step} ({item.stage.value}) {made}{start}: {moves}: {result}.{critique}"


def report(found: EvaluationReport, metrics: tuple[str, ...] = ()) -> str:
    """An evaluation: verdict, evidence, roofline, diagnosis; of the counters those named, or the first few."""
    lines = [describe_outcome(found)]
    if failed := evidence(found):
        lines.append(failed)
    if found.roofline is not None:
        roof = found.roofline
        lines.append(f"roofline: {roof.fraction:.0%} of the floor of {roof.floor_us:.1f} µs, bound by {roof.bound}")
    if found.profile is not None:
        lines.append(f"bottleneck {found.profile.bottleneck}: {found.profile.reason}")
        named = {name: value for name, value in found.profile.metrics.items() if name in metrics}
        shown = sorted((named or found.profile.metrics).items())[:_METRICS]
        lines += [f"  {name} = {value:g}" for name, value in shown]
    if found.tuned is not None:
        lines.append(f"tuned: {found.tuned.parameters} (best of {found.tuned.tried})")
    return "\n".join(lines)


def plan(made: PlanFact) -> str:
    """A plan's hypothesis and moves."""
    return f"{made.hypothesis}\nmoves: {describe_moves(made.moves)}\nexpected gain: {made.expected_gain:g}×"


def need(found: ProblemAnalysis, stage: str, bottleneck: str | None) -> str:
    """The problem and its state in a few words: what similarity to experiences is measured against."""
    return f"{found.subject} Stage: {stage}. Bottleneck: {bottleneck or 'unknown'}."


def _argument(value: Argument) -> str:
    if isinstance(value, ValueRef):
        return value.ref
    if isinstance(value, tuple):
        return f"[{', '.join(map(_argument, value))}]"
    return str(value)
