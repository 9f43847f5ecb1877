"""Templates for attention: `scaled_dot_product_attention`, and the same written out as products and a softmax."""

from __future__ import annotations

from dataclasses import dataclass

from agents.playbook.triton.kernels import attention as kernels
from agents.playbook.triton.kernels import products as product_kernels
from agents.playbook.triton.module import candidate, filled, settled
from agents.playbook.triton.patterns.sources import FLOATS, IDENTITIES, StridedSource, base_name, sources
from agents.playbook.triton.template import Template, Variant
from services.domain.problems import Operator, ProblemAnalysis, ValueRef

WIDEST = 256
"""Head sizes up to which queries, keys and values fit beside each other into registers and shared memory."""


@dataclass(frozen=True, kw_only=True)
class Attention:
    """One attention whose output is the graph's."""

    q: StridedSource
    k: StridedSource
    v: StridedSource
    scale: float | None
    """None for the inverse root of the head's size at run time."""
    causal: bool
    dtype: str

    @property
    def width(self) -> int:
        """The wider of the heads of keys and values."""
        return max(self.q.shape[-1], self.v.shape[-1])


def find(analysis: ProblemAnalysis) -> Attention | None:
    """The attention that a graph is; None for anything else."""
    known = sources(analysis)
    left = [
        item
        for item in analysis.operators
        if item.outputs[0].name not in known
        and not (base_name(item) in IDENTITIES and item.outputs[0].name in analysis.outputs)
    ]
    if not left or len(analysis.outputs) != 1 or left[-1].outputs[0].name != analysis.outputs[0]:
        return None
    found = _called(left[0], known) if len(left) == 1 else _written_out(left, known)
    if found is None or len({found.q.dtype, found.k.dtype, found.v.dtype}) != 1 or found.dtype not in FLOATS:
        return None
    if any(source.stored != source.dtype for source in (found.q, found.k, found.v)):
        return None
    ranks = {len(source.shape) for source in (found.q, found.k, found.v)}
    return found if len(ranks) == 1 and ranks <= {2, 3, 4} and _heads_divide(found) else None


def _heads_divide(found: Attention) -> bool:
    """Leading sizes as traced are equal, but for the heads of keys and values, which may be shared by several."""
    q, k, v = found.q.shape, found.k.shape, found.v.shape
    if k[:-1] != v[:-1] or q[-1] != k[-1] or q[: -3 if len(q) > 3 else -2] != k[: -3 if len(k) > 3 else -2]:
        return False
    return len(q) < 4 or (k[-3] > 0 and q[-3] % k[-3] == 0)


def _called(item: Operator, known: dict[str, StridedSource]) -> Attention | None:
    if base_name(item) != "scaled_dot_product_attention":
        return None
    names = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal")
    given = dict(zip(names, item.arguments, strict=False)) | dict(item.keywords)
    factors = [known.get(one.ref) if isinstance(one := given.get(name), ValueRef) else None for name in names[:3]]
    scale = given.get("scale")
    if given.get("attn_mask") is not None or given.get("dropout_p", 0.0) or None in factors:
        return None
    if scale is not None and not isinstance(scale, int | float):
        return None
    q, k, v = (source for source in factors if source is not None)
    if len(q.shape) == 4 and q.shape[-3] != k.shape[-3] and not given.get("enable_gqa"):
        return None
    return Attention(
        q=q,
        k=k,
        v=v,
        scale=None if scale is None else float(scale),
        causal=bool(given.get("is_causal", False)),
        dtype=item.outputs[0].dtype,
    )


def _written_out(items: list[Operator], known: dict[str, StridedSource]) -> Attention | None:
    """`softmax(q @ k.transpose(-2, -1) * scale, -1) @ v`. In float16 it stays the compiler's: scores that overflow are
    infinite there, and here they are not."""
    names = [base_name(item) for item in items]
    if (
        names[0] not in ("matmul", "bmm")
        or names[-1] not in ("matmul", "bmm")
        or items[0].outputs[0].dtype == "float16"
    ):
        return None
    scale, value = 1.0, items[0].outputs[0].name
    for item, name in zip(items[1:-1], names[1:-1], strict=True):
        first, *rest = item.arguments
        if not isinstance(first, ValueRef) or first.ref != value:
            return None
        value = item.outputs[0].name
        if name in ("mul", "div") and len(rest) == 1 and isinstance(rest[0], int | float) and not item.keywords:
            scale = scale * rest[0] if name == "mul" else scale / rest[0]
        elif name != "softmax" or item is not items[-2] or rest[0] not in (-1, len(item.outputs[0].shape) - 1):
            return None
    refs = [argument.ref if isinstance(argument, ValueRef) else "" for argument in items[0].arguments]
    last = [argument.ref if isinstance(argument, ValueRef) else "" for argument in items[-1].arguments]
    if names[-2] != "softmax" or last[0] != value or any(ref not in known for ref in (*refs, last[1])):
        return None
    q, k, v = known[refs[0]], known[refs[1]].transposed(), known[last[1]]
    if len(q.shape) != len(k.shape) or q.shape[:-2] != k.shape[:-2]:
        return None
    return Attention(q=q, k=k, v=v, scale=scale, causal=False, dtype=items[-1].outputs[0].dtype)


def variants(analysis: ProblemAnalysis) -> tuple[Variant, ...]:
    """The ways to write attention; none for graphs that are something else."""
    found = find(analysis)
    if found is None:
        return ()
    steps = [_three_steps(analysis, found)] if found.width > 64 else []
    if found.width > WIDEST:
        return tuple(steps)
    return (_fused(analysis, found), *steps)


def _fused(analysis: ProblemAnalysis, found: Attention) -> Variant:
    tiles = FUSED_32 if found.dtype == "float32" else FUSED_16
    width = max(16, 1 << (found.width - 1).bit_length())
    exact = "tf32x3" if found.dtype == "float32" else "ieee"
    settings = [tile for tile in tiles if _fits(tile, width, 4 if found.dtype == "float32" else 2)]
    return Variant(
        name="fused",
        reason="keys and values stream past a block of queries and scores are never written; loses with wide heads",
        source=_source(
            analysis,
            found,
            kernels.FUSED,
            tuple(",".join([*map(str, tile), exact]) for tile in settings),
            "BLOCK_M, BLOCK_N, WARPS, STAGES, PRECISION",
        ),
    )


def _fits(tile: tuple[int, ...], width: int, size: int) -> bool:
    """Whether queries and the stages' keys and values are within shared memory."""
    rows, keys, _, stages = tile
    return (rows + 2 * keys * stages) * width * size <= 200 * 1024


FUSED_16 = (
    (128, 32, 8, 4), (128, 64, 8, 3), (128, 64, 8, 2), (64, 32, 4, 3), (64, 32, 4, 2), (128, 128, 8, 2),
    (64, 64, 4, 3), (128, 32, 4, 4),
)  # fmt: skip
FUSED_32 = (
    (128, 32, 8, 2), (64, 32, 4, 2), (128, 64, 8, 2), (64, 32, 4, 3), (128, 32, 8, 3), (32, 32, 4, 2), (64, 32, 8, 1),
    (32, 16, 4, 1),
)  # fmt: skip
"""(queries, keys, warps, stages), the best guess first."""
STEPS_16 = ("128,256,64,8,3,ieee", "128,128,64,8,3,ieee", "128,128,64,4,4,ieee", "64,64,64,4,4,ieee")
STEPS_32 = (
    "128,128,32,8,3,tf32x3", "128,128,32,8,4,tf32x3", "128,64,32,4,4,tf32x3", "64,128,32,4,4,tf32x3",
    "128,128,16,8,4,tf32x3", "64,64,32,4,4,tf32x3",
)  # fmt: skip


def _three_steps(analysis: ProblemAnalysis, found: Attention) -> Variant:
    tiled = filled(
        product_kernels.TILED,
        pointers="",
        strides="",
        arguments="",
        arguments_in="",
        strides_in="",
        skip=[],
        finish=[
            "at = batch * y_sb + rows.to(tl.int64)[:, None] * y_sm + columns.to(tl.int64)[None, :] * y_sn",
            "tl.store(y_ptr + at, acc.to(y_ptr.dtype.element_ty), mask=inside)",
        ],
    )
    return Variant(
        name="three_steps",
        reason="scores are written between two products, so that heads may have any width; loses by their traffic",
        source=_source(
            analysis,
            found,
            f"{product_kernels.POSITION}{product_kernels.TILE_SUM}{tiled}\n{kernels.SOFTMAX}",
            STEPS_32 if found.dtype == "float32" else STEPS_16,
            "BLOCK_M, BLOCK_N, BLOCK_K, WARPS, STAGES, PRECISION",
        ),
    )


def _source(analysis: ProblemAnalysis, found: Attention, text: str, settings: tuple[str, ...], names: str) -> str:
    missing = 4 - len(found.q.shape)
    grown = ".unsqueeze(0)" * missing
    parameters = {source.parameter for source in (found.q, found.k, found.v)}
    scale = "q.shape[-1] ** -0.5 if q.shape[-1] else 1.0" if found.scale is None else repr(found.scale)
    return candidate(
        analysis,
        title="Attention in Triton, written by the playbook.",
        kernels=f"{settled(names)}\nCAUSAL = {found.causal}\n{text}",
        forward=[
            f"q, k, v = {found.q.text}, {found.k.text}, {found.v.text}",
            "if q.shape[-1] != k.shape[-1] or k.shape[:-1] != v.shape[:-1]:",
            '    raise ValueError(f"attention of {tuple(q.shape)}, {tuple(k.shape)}, {tuple(v.shape)} does not exist")',
            "y = torch.empty((*q.shape[:-1], v.shape[-1]), dtype=q.dtype, device=q.device)",
            f"attention(q{grown}, k{grown}, v{grown}, y{grown}, {scale})",
            "return (y,)" if analysis.output_is_tuple else "return y",
        ],
        tunables={"TILE": settings},
        parameters=tuple(sorted(number for number in parameters if number is not None)),
    )


ATTENTION = Template(name="attention", variants=variants)
