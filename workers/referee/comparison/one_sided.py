"""Errors that are nearly all of one sign, as truncation instead of rounding makes them: sums of such outputs drift."""

from __future__ import annotations

import torch

ROUNDED = (torch.float16, torch.bfloat16)
"""Types in which a result's rounding is most of its error."""
LEAST_WRONG = 256
"""Elements that differ, below which their signs may be chance."""
ONE_SIDED = 0.95
"""Share of them that are off to one side."""


def one_sided(actual: torch.Tensor, expected: torch.Tensor) -> str | None:
    """What is to be said of errors of which nearly all go up, down, towards zero or away from it; None elsewhere.

    Both have one shape and dtype."""
    if expected.dtype not in ROUNDED:
        return None
    apart = (actual.float() - expected.float()).nan_to_num(0.0, 0.0, 0.0)
    wrong = int(torch.count_nonzero(apart))
    if wrong < LEAST_WRONG:
        return None
    outwards = apart * expected.float().sign()
    for error, ways in ((outwards, ("away from zero", "towards zero")), (apart, ("upwards", "downwards"))):
        up = int((error > 0).sum())
        for count, way in ((up, ways[0]), (int((error < 0).sum()), ways[1])):
            if count >= ONE_SIDED * wrong:
                return (
                    f"errors are one-sided: {count / wrong:.1%} of the {wrong} elements that differ are off {way}, by "
                    f"{float(error.sum()) / wrong:.3g} on average: round to nearest"
                )
    return None
