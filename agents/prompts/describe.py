"""Domain values in words, for prompts and for the query that memory is asked."""

from __future__ import annotations

from agents.prompts import counters
from agents.prompts.gate_evidence import failures
from services.domain.chat import AttemptFact, PlanFact
from services.domain.evaluations import EvaluationReport, Tuned
from services.domain.measurements import Baselines
from services.domain.problems import Argument, BackwardPass, Operator, ProblemAnalysis, ValueRef
from services.domain.texts import percent
from services.domain.tunables import described
from services.team_memory.reward import beside_parent, describe_moves, describe_outcome

_OPERATORS = 80
"""How many operators of a graph a prompt shows."""


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
    if found.backward is not None:
        lines += backward(found.backward)
    if found.trace_error:
        lines.append(f"not traced: {found.trace_error}")
    return "\n".join(lines)


def backward(found: BackwardPass) -> list[str]:
    """What is differentiated, and what both passes have to move at least."""
    return [
        f"gradients: of {', '.join(found.gradients)}; handed in: {', '.join(map(str, found.cotangents))}",
        f"of the bytes and FLOPs above, the backward pass has {found.bytes_moved} and about {found.flops}",
    ]


def operator(item: Operator) -> str:
    """`y: float32[4] = aten.relu.default(x)`."""
    arguments = [_argument(value) for value in item.arguments]
    arguments += [f"{name}={_argument(value)}" for name, value in item.keywords]
    return f"{'; '.join(map(str, item.outputs))} = {item.target}({', '.join(arguments)})"


def baselines(known: Baselines) -> str:
    """The reference's latencies."""
    named = (("eager", known.eager), ("torch.compile", known.compile), ("max-autotune", known.compile_max))
    said = [
        f"{name} {latency.median_us:.1f} µs ({latency.ci95_us[0]:.1f} to {latency.ci95_us[1]:.1f})"
        for name, latency in named
        if latency
    ]
    return ", ".join(said) or "not measured yet"


def attempt(item: AttemptFact, parent: AttemptFact | None = None) -> str:
    """One line of the trajectory; `parent` is what it was made from."""
    start = f" from {item.parent_id}" if item.parent_id else ""
    moves = describe_moves(item.plan.moves) if item.plan else "no plan"
    result = describe_outcome(item.report) if item.report else item.failure or "no evaluation"
    beside = beside_parent(item.report, parent.report if parent is not None else None)
    critique = f" Judge: {item.critique}" if item.critique else ""
    made = item.candidate_id or "no candidate"
    against = f"; {beside}" if beside else ""
    return f"step {item.step} ({item.stage.value}) {made}{start}: {moves}: {result}{against}.{critique}"


def report(found: EvaluationReport, metrics: tuple[str, ...] = ()) -> str:
    """An evaluation: verdict, evidence whole, roofline, diagnosis, tuner's table; of the counters those named and what
    always matters, or all by importance."""
    lines = [describe_outcome(found)]
    if failed := failures(found):
        lines.append(failed)
    if found.roofline is not None:
        roof = found.roofline
        lines.append(
            f"roofline: {percent(roof.fraction)} of the floor of {roof.floor_us:.1f} µs, bound by {roof.bound}"
        )
    if found.profile is not None:
        lines.append(f"bottleneck {found.profile.bottleneck}: {found.profile.reason}")
        lines += [f"  {line}" for line in counters.describe(found.profile, metrics)]
    if found.tuned is not None:
        lines.append(tuned(found.tuned))
    return "\n".join(lines)


def tuned(found: Tuned) -> str:
    """The tuner's outcome: the winner, and every setting with its time, fastest first."""
    winner = f"tuned: {described(found.parameters)} (best of {found.tried})"
    timed = sorted(
        (item for item in found.settings if item.median_us is not None), key=lambda item: item.median_us or 0.0
    )
    rows = [f"  {described(item.parameters)}: {item.median_us:.1f} µs" for item in timed]
    rows += [f"  {described(item.parameters)}: failed" for item in found.settings if item.median_us is None]
    note = ["  (from short looks: comparable with each other only)"] if rows else []
    return "\n".join([winner, *rows, *note])


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
