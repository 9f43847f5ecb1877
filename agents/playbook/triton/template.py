"""What a template is: a family of kernels that fits some traced graphs and writes whole candidates for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from services.domain.problems import ProblemAnalysis


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One way to write a template's kernels: another algorithm, not another block size (those are `TUNABLES`)."""

    name: str
    """For example `tiled`, `split_k`, `persistent`."""
    reason: str
    """Why it should help, and where it loses, in one sentence."""
    source: str
    """The whole candidate: a module with `ModelNew` and `TUNABLES`."""


@dataclass(frozen=True, kw_only=True)
class Template:
    """A family of kernels."""

    name: str
    """For example `matmul`, `convolution`, `cross_entropy`."""
    variants: Callable[[ProblemAnalysis], tuple[Variant, ...]]
    """Its kernels for a traced graph, most promising first; none where it does not fit."""
