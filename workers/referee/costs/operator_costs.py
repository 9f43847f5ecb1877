"""Families and FLOP counts of ATen operators, and what is known of them: which choose among equal values, which have
kinks, which hide an exponential.

Counting rules: one operation per element for anything pointwise, transcendental functions included; one per input
element and step for reductions; 2·m·n·k for matrix products and 2·outputs·window for convolutions. Views cost
nothing. Composite operators count what their definition needs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from services.domain.problems import Argument, Operator, ProblemAnalysis, ValueRef


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


EXPONENTIALS = _words(
    """elu celu selu mish log_sigmoid_forward logsigmoid log1p sinh cosh erf
    _softmax softmax _safe_softmax _log_softmax log_softmax logsumexp exp exp2 expm1 sigmoid silu tanh gelu softplus
    scaled_dot_product_attention _scaled_dot_product_flash_attention_for_cpu logcumsumexp"""
)
"""Operators in whose formulas a term as large as the inputs may be added to an exponent, and taken off again: that
rounding is one of every element together, and no nudge of the inputs shows it. `exp(x - (max + log(sum)))` was 4.4e-5
off as a whole in the worst of 40 draws up to 1e4, and the reference 7e-9."""
CHOOSERS = _words(
    """topk sort argsort msort kthvalue median nanmedian mode max min aminmax unique _unique2 searchsorted bucketize
    multinomial cummax cummin"""
)
"""Operators that choose among equal values."""
WIDE_INSIDE = _words("std std_mean")
"""Operators that are finite where their squares are not in float, since PyTorch sums these in double on the CPU."""
STANDS_FOR_INFINITY = 1e4
"""Magnitude from which on a number that a graph names may be meant for more than any other (-1e9 in a mask)."""
NARROW = ("int32", "int16", "int8", "uint8", "float16")
UNSETTLED = _words(
    """adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d argsort cummax cummin kthvalue max_pool1d max_pool2d
    max_pool2d_with_indices max_pool3d median mode multinomial nanmedian sort topk unique _unique2"""
)
"""Operators that promise nothing of which of equal values counts; a sort does where it is stable."""
COMPARING = CHOOSERS | _words(
    """amax amin argmax argmin _softmax softmax _safe_softmax _log_softmax log_softmax logsumexp logcumsumexp"""
)
"""Operators whose result, or the work for it, hangs on which of a row's values are the larger ones."""
PLACES = _words("argmax argmin")
"""Operators that give the place of a NaN, where there is one."""
SUMMING = _words("sum mean var std var_mean std_mean cumsum native_layer_norm layer_norm native_group_norm group_norm")
"""Operators that add rows up."""
PERIODIC = _words("sin cos")
"""Operators that are bounded, of arguments of any size."""
REMAINDERS = _words("remainder fmod frac")
"""Operators whose results are exact, however large the quotient is."""
TAILED = _words("erfc special_erfc special_erfcx special_log_ndtr special_ndtr")
"""Operators that are meant for arguments for which they give next to nothing."""
SATURATING = _words(
    """sigmoid silu log_sigmoid log_sigmoid_forward logsigmoid softplus tanh mish gelu
    _softmax softmax _safe_softmax _log_softmax log_softmax logsumexp logcumsumexp"""
)
"""Operators that are nearly flat, or nearly nothing, some standard deviations from zero."""
RUNNING_PRODUCTS = _words("cumprod prod")
SPREADING = _words(
    """var std var_mean std_mean native_layer_norm layer_norm native_group_norm group_norm native_batch_norm batch_norm
    _native_batch_norm_legit _native_batch_norm_legit_functional instance_norm cov corrcoef mean sqrt rsqrt"""
)
"""Operators of which a variance may be made: next to a large mean, it loses nearly all of its digits."""
SEES_NAN = _words("isnan isinf isfinite isposinf isneginf nan_to_num nansum nanmean nanmedian")
"""Operators that distinguish values that are not finite."""
SOFTMAXES = _words("_softmax softmax _safe_softmax _log_softmax log_softmax logsumexp logcumsumexp")
LARGEST = _words("amax max maximum")
"""With an exponential, these make a softmax that is written out."""
ABOUT_ONE = _words("expm1 log1p sinh tanh asinh atanh erf erfinv elu celu selu")
"""Operators that give minute numbers back, in whose formulas they are added to one."""
CONVERTING = _words("_to_copy to long int type")
WHOLE_NAMES = ("int64", "int32", "int16", "int8", "uint8")
"""What such an operator may convert to: any number becomes of NaN there."""
INDEXING = _words(
    """embedding embedding_bag gather index index_add index_copy index_fill index_put index_select scatter scatter_add
    scatter_reduce take take_along_dim"""
)
"""Operators that take indices."""
WRITES = frozenset({"index_copy", "index_copy_", "index_put", "index_put_", "_index_put_impl_", "scatter", "scatter_"})
"""Operators that leave open which one counts of several values written to one place."""
INDEXING_BY_FLOATS = _words("grid_sampler grid_sampler_2d grid_sampler_3d _grid_sampler_2d_cpu_fallback")
"""Operators whose places are floats: there may be none for NaN."""
KINKED = CHOOSERS | _words(
    """abs amax amin clamp clamp_max clamp_min elu fmax fmin hardshrink hardsigmoid hardswish hardtanh huber_loss
    hinge_embedding_loss l1_loss leaky_relu margin_ranking_loss max_pool1d max_pool2d max_pool3d maximum minimum prelu
    relu relu6 smooth_l1_loss softshrink threshold triplet_margin_loss where"""
)
"""Operators whose gradient jumps, or is one of several at equal values."""
KINKED_BY_ITSELF = _words(
    "abs clamp clamp_max clamp_min elu hardshrink hardsigmoid hardswish hardtanh leaky_relu prelu relu relu6 softshrink"
    " threshold"
)
"""Those of one number, that jump at a number."""
TAKING_AWAY = _words("sub rsub subtract diff cdist dist var std")
"""Operators that make zero of what is alike."""
BOUNDED = _words(
    """clamp clamp_max clamp_min eq ge gt hardshrink hardtanh huber_loss le lt ne relu6 smooth_l1_loss softplus
    softshrink threshold"""
)
"""Operators that do something else beyond a number that they are given, or at it."""
VIEWS = _words(
    "alias broadcast_tensors chunk contiguous detach detach_ diagonal expand expand_as flatten movedim "
    "permute reshape select slice split squeeze t transpose unbind unflatten unsqueeze view view_as"
)
FREE = VIEWS | _words(
    "arange cat clone copy empty empty_like eye flip full full_like lift_fresh_copy ones ones_like "
    "repeat roll scalar_tensor stack zeros zeros_like dropout _to_copy to constant_pad_nd pad"
)
MOVERS = (FREE - _words("empty empty_like dropout")) | _words(
    """abs adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d amax amin aminmax argmax argmin argsort
    bitwise_and bitwise_not bitwise_or bitwise_xor channel_shuffle clamp clamp_max clamp_min clip cummax cummin
    diag diag_embed diagonal_copy embedding eq fill fmax fmin full gather ge gt hardtanh index index_copy
    index_fill index_put index_select isfinite isinf isnan kthvalue le logical_and logical_not logical_or
    logical_xor lt masked_fill masked_select max max_pool1d max_pool2d max_pool2d_with_indices max_pool3d maximum
    median min minimum mode msort narrow ne neg new_full new_ones new_zeros one_hot pixel_shuffle pixel_unshuffle
    reflection_pad1d reflection_pad2d reflection_pad3d relu relu6 repeat_interleave replication_pad1d
    replication_pad2d replication_pad3d rot90 scatter select_scatter slice_scatter sort split_with_sizes take
    frexp sign signbit take_along_dim threshold topk tril triu unfold view_as_complex view_as_real where"""
)
"""Operators that give elements as they are: they move, select or compare them, turn their signs, or take them apart."""
REARRANGING = FREE | _words(
    """channel_shuffle diag diag_embed diagonal_copy embedding gather index index_copy index_put index_select narrow
    pixel_shuffle pixel_unshuffle reflection_pad1d reflection_pad2d reflection_pad3d repeat_interleave
    replication_pad1d replication_pad2d replication_pad3d rot90 scatter select_scatter slice_scatter split_with_sizes
    take take_along_dim unfold view_as_complex view_as_real"""
)
"""Operators that only move elements."""
SOFTMAX = _words("softmax log_softmax _softmax _log_softmax")
NORMS = _words(
    "layer_norm native_layer_norm rms_norm group_norm native_group_norm instance_norm batch_norm"
    " _native_batch_norm_legit_no_training"
)
LOSSES = _words(
    "cross_entropy_loss nll_loss nll_loss_nd nll_loss2d mse_loss l1_loss smooth_l1_loss huber_loss kl_div"
    " binary_cross_entropy binary_cross_entropy_with_logits hinge_embedding_loss cosine_embedding_loss"
    " triplet_margin_loss soft_margin_loss margin_ranking_loss poisson_nll_loss"
)
SCANS = _words("cumsum cumprod cummax cummin logcumsumexp")
MATRIX = _words(
    "mm bmm matmul linear addmm addbmm baddbmm mv addmv dot vdot einsum outer inner"
    " scaled_dot_product_attention bilinear"
)
CONVOLUTIONS = _words("convolution") | {
    f"conv{kind}{dimensions}d" for kind in ("", "_transpose") for dimensions in (1, 2, 3)
}
REDUCTIONS = _words(
    "sum mean amax amin max min prod var std var_mean std_mean logsumexp argmax argmin all any norm"
    " linalg_vector_norm linalg_norm median aminmax count_nonzero nansum"
)
PER_ELEMENT = {
    "layer_norm": 8,
    "group_norm": 8,
    "instance_norm": 8,
    "batch_norm": 4,
    "rms_norm": 4,
    "softmax": 4,
    "log_softmax": 4,
    "_softmax": 4,
    "_log_softmax": 4,
    "cross_entropy_loss": 4,
    "logsumexp": 3,
    "var": 3,
    "std": 3,
    "var_mean": 3,
    "std_mean": 3,
    "norm": 2,
    "linalg_vector_norm": 2,
    "gelu": 4,
    "silu": 2,
    "mish": 4,
}
FAMILIES = (
    ("convolution", _words("conv1d conv2d conv3d convolution conv_transpose1d conv_transpose2d conv_transpose3d")),
    ("attention", frozenset({"scaled_dot_product_attention"})),
    ("matmul", MATRIX),
    ("loss", LOSSES),
    ("scan", SCANS),
    ("softmax", SOFTMAX),
    ("norm", NORMS),
    ("pooling", frozenset({"max_pool1d", "max_pool2d", "max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d"})),
    ("reduction", REDUCTIONS),
)


def is_product(target: str) -> bool:
    """Whether matrix units can do an operator's work."""
    return base_name(target) in MATRIX | CONVOLUTIONS


def base_name(target: str) -> str:
    """`aten.add.Tensor` → `add`."""
    parts = target.split(".")
    return parts[1] if len(parts) > 1 else target


def family_of(operators: Sequence[Operator]) -> str:
    """The family of a graph: the heaviest kind of operator in it; one written out by hand counts too."""
    names = [base_name(item.target) for item in operators]
    for family, members in FAMILIES:
        if family == "reduction":
            break
        if members.intersection(names):
            return family
    reductions = [item for item in operators if is_reduction(item)]
    if not reductions:
        return "pointwise"
    if all(spec.elements == 1 for spec in operators[-1].outputs):
        return "loss" if len({"mean", "sum"}.intersection(names)) and "sub" in names else "reduction"
    return _composed_family(operators, names)


def _composed_family(operators: Sequence[Operator], names: Sequence[str]) -> str:
    """A reduction whose result goes back over a larger tensor is a norm (or a softmax, with an exponential)."""
    reduced = min(spec.elements for item in operators if is_reduction(item) for spec in item.outputs)
    if all(spec.elements <= reduced for spec in operators[-1].outputs):
        return "reduction"
    return "softmax" if "exp" in names else "norm"


def is_reduction(item: Operator) -> bool:
    """Whether the call reduces: `max` and `min` of two tensors do not."""
    name = base_name(item.target)
    return name in REDUCTIONS and not item.target.endswith(("max.other", "min.other"))


def flops_of(item: Operator, shapes: Mapping[str, tuple[int, ...]]) -> int:
    """Floating-point operations of one call; `shapes` maps every value's name to its sizes."""
    name = base_name(item.target)
    if name in FREE or not item.outputs:
        return 0
    operands = [shapes[ref] for ref in _tensor_references(item.arguments) if ref in shapes]
    largest = max([math.prod(shape) for shape in operands] + [spec.elements for spec in item.outputs])
    if name in MATRIX:
        return _matrix_flops(item, operands)
    if "conv" in name and len(operands) > 1:
        window = math.prod(operands[1][1:])
        return 2 * item.outputs[0].elements * window
    return largest * PER_ELEMENT.get(name, 1)


def longest_sum(analysis: ProblemAnalysis) -> float:
    """Terms of the longest sum in a graph, at most: matrix products and convolutions by their flops, norms and the like
    add up what one leading index holds."""
    specs = (*analysis.inputs, *analysis.parameters, *analysis.constants)
    shapes = {spec.name: spec.shape for spec in (*specs, *(one for item in analysis.operators for one in item.outputs))}
    longest = 1.0
    for item in analysis.operators:
        name = base_name(item.target)
        if name in FREE or not item.outputs:
            continue
        terms = flops_of(item, shapes) / max(1, item.outputs[0].elements)
        if is_product(item.target):
            terms /= 2
        if name in NORMS | SOFTMAX | SCANS or name == "scaled_dot_product_attention":
            held = [math.prod(shapes[ref][1:]) for ref in _tensor_references(item.arguments) if ref in shapes]
            terms = max(held, default=1)
        longest = max(longest, terms)
    return longest


def _matrix_flops(item: Operator, operands: Sequence[tuple[int, ...]]) -> int:
    """2·outputs·k, where k is the first factor's last size."""
    name = base_name(item.target)
    factors = operands[1:] if name in {"addmm", "addmv", "baddbmm", "addbmm"} else operands
    if not factors or not factors[0]:
        return 0
    product = 2 * item.outputs[0].elements * factors[0][-1]
    return 2 * product if name == "scaled_dot_product_attention" else product


def _tensor_references(arguments: Sequence[Argument]) -> list[str]:
    found: list[str] = []
    for argument in arguments:
        if isinstance(argument, ValueRef):
            found.append(argument.ref)
        elif isinstance(argument, tuple):
            found += _tensor_references(argument)
    return found


def counts_floats(item: Operator) -> bool:
    """Whether an operator may convert floats to 64-bit integers: what is beyond these becomes any of them."""
    return base_name(item.target) in ("_to_copy", "to", "long") and any(spec.dtype == "int64" for spec in item.outputs)


def converts_or_masks(item: Operator) -> bool:
    """Whether an operator's result has a dtype of little range, or it is given a number that may stand for infinity."""
    numbers = [one for one in (*item.arguments, *(value for _, value in item.keywords)) if type(one) in (int, float)]
    return any(spec.dtype in NARROW for spec in item.outputs) or any(
        isinstance(one, float) and STANDS_FOR_INFINITY <= abs(one) < math.inf for one in numbers
    )
