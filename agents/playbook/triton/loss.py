"""Cross-entropy of logits and class indices."""

from __future__ import annotations

from agents.playbook.triton.steps import FLOATS, KernelStep, NamedGraph, Writer, argument, base, single
from agents.playbook.triton.template import Variant
from services.domain.problems import Argument, Operator, ValueRef

REDUCTIONS = {0: "none", 1: "mean", 2: "sum"}
"""As ATen counts them."""
_ONLINE = (
    "an online softmax reads the logits once, then losses are added up in a fixed order; loses where there are few rows"
)


def with_wider_logits(graph: NamedGraph) -> tuple[Variant, ...]:
    """A loss of logits that are converted to float32 first: the kernel reads them as they are and sums in float32."""
    operators = graph.analysis.operators
    if [base(item) for item in operators] != ["_to_copy", "cross_entropy_loss"]:
        return ()
    converted, loss = operators
    given = graph.spec(converted.arguments[0])
    if loss.arguments[0] != ValueRef(ref=converted.outputs[0].name) or given is None or given.dtype not in FLOATS:
        return ()
    if converted.outputs[0].dtype != "float32" or graph.analysis.outputs != (loss.outputs[0].name,):
        return ()
    return tuple(single(graph, step, "Loss") for step in cross_entropy_steps(graph, loss, converted.arguments[0]))


def cross_entropy_steps(graph: NamedGraph, operator: Operator, converted: Argument = None) -> list[KernelStep]:
    """`cross_entropy_loss` with class indices: weights, an ignored index, label smoothing and every reduction.

    `converted`: what the operator's logits were converted from, where the kernel shall read that."""
    x, target = (graph.spec(operator.arguments[place]) for place in (0, 1))
    weight = argument(operator, 2, "weight", None)
    reduction = REDUCTIONS.get(_whole(argument(operator, 3, "reduction", 1)))
    if x is None or target is None or reduction is None or target.dtype != "int64":
        return []
    if (
        not graph.is_floating(operator.arguments[0], weight)
        or target.shape != (*x.shape[:1], *x.shape[2:])[: len(x.shape) - 1]
    ):
        return []
    ignored = argument(operator, 4, "ignore_index", -100)
    smoothing = argument(operator, 5, "label_smoothing", 0.0)
    if smoothing and x.dtype == "float16":
        return []  # the reference's own sum over classes overflows in this type, at magnitudes that matter
    tensors = ", ".join(map(graph.text, (converted or operator.arguments[0], operator.arguments[1], weight)))
    dtype = f"torch.{operator.outputs[0].dtype}"
    return [
        KernelStep(
            name="one_pass",
            reason=_ONLINE,
            kernels=("cross_entropy",),
            call=f"cross_entropy_of({tensors}, {reduction!r}, {ignored!r}, {float(_number(smoothing))!r}, {dtype})",
            tunables={"CLASS_BLOCK": (2048, 4096, 8192), "CLASS_WARPS": (4, 8), "CLASS_STAGES": (1, 3)},
        )
    ]


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 1


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


WRITERS: dict[str, Writer] = {"cross_entropy_loss": cross_entropy_steps}
