"""What is known of operators: which choose among equal values, which have kinks, which hide an exponential."""

from __future__ import annotations

EXPONENTIALS = frozenset(
    """elu celu selu mish log_sigmoid_forward logsigmoid log1p sinh cosh erf
    _softmax softmax _safe_softmax _log_softmax log_softmax logsumexp exp exp2 expm1 sigmoid silu tanh gelu softplus
    scaled_dot_product_attention _scaled_dot_product_flash_attention_for_cpu logcumsumexp""".split()  # noqa: SIM905
)
"""Operators in whose formulas a term as large as the inputs may be added to an exponent, and taken off again: that
rounding is one of every element together, and no nudge of the inputs shows it. `exp(x - (max + log(sum)))` was 4.4e-5
off as a whole in the worst of 40 draws up to 1e4, and the reference 7e-9."""
CHOOSERS = frozenset(
    """topk sort argsort msort kthvalue median nanmedian mode max min aminmax unique _unique2 searchsorted bucketize
    multinomial cummax cummin""".split()  # noqa: SIM905 - a table reads best so
)
"""Operators that choose among equal values as they like."""
SEES_NAN = frozenset("isnan isinf isfinite isposinf isneginf nan_to_num nansum nanmean nanmedian".split())  # noqa: SIM905
"""Operators that tell what is not finite from what is."""
KINKED = CHOOSERS | frozenset(
    """abs amax amin clamp clamp_max clamp_min elu fmax fmin hardshrink hardsigmoid hardswish hardtanh huber_loss
    hinge_embedding_loss l1_loss leaky_relu margin_ranking_loss max_pool1d max_pool2d max_pool3d maximum minimum prelu
    relu relu6 smooth_l1_loss softshrink threshold triplet_margin_loss where""".split()  # noqa: SIM905
)
"""Operators whose gradient jumps, or is one of several at equal values."""
