"""Convolutions and transposed ones in one to three dimensions, by implicit GEMM; depthwise ones directly."""

from __future__ import annotations

from agents.playbook.errors import NoTemplateError
from agents.playbook.triton import epilogue, window
from agents.playbook.triton.module import filled
from agents.playbook.triton.patterns.pointwise import Chain
from agents.playbook.triton.steps import KernelStep, NamedGraph, Writer, argument, base, kernel_text, numbers, single
from agents.playbook.triton.template import Variant
from services.domain.problems import Argument, Operator, TensorSpec, ValueRef

Tile = tuple[int, int, int, int, int]

TILES_32: tuple[Tile, ...] = (
    (128, 128, 32, 8, 3), (64, 64, 32, 4, 3), (64, 128, 32, 4, 3), (128, 64, 32, 4, 2), (64, 128, 16, 4, 4),
    (64, 64, 32, 4, 2), (64, 64, 16, 4, 4), (128, 128, 16, 8, 4), (256, 64, 32, 8, 2), (128, 32, 32, 4, 3),
)  # fmt: skip
NARROW_32: tuple[Tile, ...] = (
    (128, 32, 32, 4, 3), (128, 32, 16, 4, 3), (64, 32, 32, 4, 3), (64, 32, 16, 4, 3), (256, 32, 16, 4, 3),
    (256, 32, 32, 8, 3), (128, 32, 32, 4, 2),
)  # fmt: skip
TILES_16: tuple[Tile, ...] = (
    (128, 128, 64, 8, 3), (128, 256, 64, 8, 3), (128, 128, 64, 4, 3), (64, 128, 64, 4, 3), (128, 64, 64, 4, 4),
    (256, 128, 64, 8, 3), (64, 64, 64, 4, 3), (128, 128, 32, 4, 4),
)  # fmt: skip
"""(positions, output channels, depth, warps, stages), the best guess first; all below 200 KiB of shared memory."""
LEAST_DEPTH = 16
"""Input channels of a group below which taps and channels are one depth: Triton's products are 16 deep at least."""
WORTH_MOVING = 5
"""Taps from which on moving channels last is tried before anything else."""
_TAPS = "an implicit GEMM tap by tap over packed weights; loses where there are few channels"
_SPLIT = "an implicit GEMM tap by tap, with TF32's remainder of the weights prepared beforehand"
_LAST = "after moving channels last, so that loads are wide; loses where the product is small beside that copy"
_FLATTENED = "an implicit GEMM whose depth is channels times taps; loses to tap by tap where there are many channels"


def steps(graph: NamedGraph, operator: Operator, chain: Chain | None = None) -> list[KernelStep]:
    """Ways to compute a convolution: `conv1d`, `conv2d`, `conv3d`, `conv_transpose1d` and so on; with a chain, of what
    follows it too."""
    x, weight = graph.spec(operator.arguments[0]), graph.spec(operator.arguments[1])
    bias = argument(operator, 2, "bias", None)
    if x is None or weight is None or not graph.is_floating(*operator.arguments[:2], bias):
        return []
    if len(x.shape) != len(weight.shape) or 0 in weight.shape:
        return []
    transposed = "transpose" in base(operator)
    if transposed:
        given = [argument(operator, place, name, None) for place, name in _TRANSPOSED]
    else:
        given = [argument(operator, place, name, None) for place, name in _FORWARD]
        given.insert(2, None)
    geometry = _geometry(given, weight.shape[2:])
    groups = given[4] if isinstance(given[4], int) else 1
    ways = _products(weight, groups, transposed, x.dtype)
    found = [_product(graph, operator, bias, geometry, groups, transposed, *way, chain) for way in ways]
    if weight.shape[1] == 1 and groups == x.shape[1] and not transposed:
        few = weight.shape[0] // groups < LEAST_DEPTH
        return [window.depthwise(graph, operator, bias, weight, geometry, chain), *([] if few else found[:1])]
    return found


_FORWARD = ((3, "stride"), (4, "padding"), (5, "dilation"), (6, "groups"))
_TRANSPOSED = ((3, "stride"), (4, "padding"), (5, "output_padding"), (7, "dilation"), (6, "groups"))


def _geometry(given: list[Argument], taps: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Stride, padding, output padding and dilation in three dimensions."""
    stride, padding, more, dilation = given[:4]
    count = len(taps)
    apart = numbers(dilation, count, 1)
    if isinstance(padding, str):
        padding = _named_padding(padding, taps, apart)
    found = (numbers(stride, count, 1), numbers(padding, count, 0), numbers(more, count, 0), apart)
    return tuple((default,) * (3 - count) + values for values, default in zip(found, (1, 0, 0, 1), strict=True))


def _named_padding(name: str, taps: tuple[int, ...], dilation: tuple[int, ...]) -> tuple[int, ...]:
    """`valid` and `same` as numbers. Raises `NoTemplateError` where `same` means more at one end than at the other."""
    if name == "valid":
        return (0,) * len(taps)
    both = [step * (size - 1) for step, size in zip(dilation, taps, strict=True)]
    if name != "same" or any(total % 2 for total in both):
        raise NoTemplateError(f"padding {name!r} is not the same at both ends")
    return tuple(total // 2 for total in both)


def _products(weight: TensorSpec, groups: int, transposed: bool, dtype: str) -> list[tuple[str, str, int, int]]:
    """Ways of the product, most promising first: how, why, a group's output channels and its depth."""
    group_in = weight.shape[0] // groups if transposed else weight.shape[1]
    group_out = weight.shape[1] if transposed else weight.shape[0] // groups
    taps = weight.elements // max(1, weight.shape[0] * weight.shape[1])
    if group_in < LEAST_DEPTH:
        chosen = [("flattened", _FLATTENED), ("taps", _TAPS)]
    elif dtype == "float32":
        chosen = [("last_split", f"{_SPLIT}, {_LAST}"), ("split", _SPLIT), ("taps", _TAPS)]
        if taps < WORTH_MOVING:
            chosen = [chosen[1], chosen[0], chosen[2]]
    else:
        chosen = [("last", _LAST), ("taps", _TAPS)]
    return [(how, why, group_out, group_in * taps if how == "flattened" else group_in) for how, why in chosen]


def _product(
    graph: NamedGraph,
    operator: Operator,
    bias: Argument,
    geometry: tuple[tuple[int, ...], ...],
    groups: int,
    transposed: bool,
    how: str,
    why: str,
    group_out: int,
    depth: int,
    chain: Chain | None,
) -> KernelStep:
    x, weight = operator.arguments[:2]
    spec = graph.spec(x)
    dtype = spec.dtype if spec is not None else "float32"
    stride, padding, more, dilation = geometry
    tensors = ", ".join(map(graph.text, (x, weight, bias)))
    return KernelStep(
        name=how,
        reason=why,
        kernels=(filled(kernel_text("convolution"), **epilogue.places(chain)),),
        call=f"convolved({tensors}, {stride}, {padding}, {dilation}, {more}, {groups}, {transposed}, {how!r}, "
        f"{epilogue.extras(chain)})",
        tunables=_tunables(group_out, depth, dtype),
    )


def _tunables(group_out: int, depth: int, dtype: str) -> dict[str, tuple[str, ...]]:
    """Tiles for a group's channels: none wider than they are, none deeper than a block of them."""
    width = max(16, 1 << (group_out - 1).bit_length())
    depth = max(16, 1 << (depth - 1).bit_length())
    wide = TILES_16 if dtype != "float32" else TILES_32 if width > 32 else NARROW_32
    tiles = dict.fromkeys(
        (positions, min(out, width), min(deep, depth), warps, stages) for positions, out, deep, warps, stages in wide
    )
    return {"CONVOLUTION_TILE": tuple(",".join(map(str, tile)) for tile in tiles)}


def with_chain(graph: NamedGraph) -> tuple[Variant, ...]:
    """A convolution of arguments and parameters with what follows it in the same kernel; nothing for other graphs."""
    found = [item for item in graph.analysis.operators if base(item) in WRITERS]
    if len(found) != 1 or len(graph.analysis.operators) == 1:
        return ()
    outside = {spec.name for spec in (*graph.analysis.inputs, *graph.analysis.parameters)}
    read = [item for item in found[0].arguments if isinstance(item, ValueRef)]
    chain = epilogue.following(graph, found[0])
    if chain is None or any(item.ref not in outside for item in read):
        return ()
    return tuple(single(graph, step, "Convolution") for step in steps(graph, found[0], chain))


NAMES = tuple(f"conv{kind}{count}d" for kind in ("", "_transpose") for count in (1, 2, 3))
WRITERS: dict[str, Writer] = dict.fromkeys(NAMES, steps)
