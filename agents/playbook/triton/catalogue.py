"""The templates, in the order in which they are tried."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from agents.playbook.triton.attention import ATTENTION
from agents.playbook.triton.products import MATMUL
from agents.playbook.triton.scan import SCAN
from agents.playbook.triton.sequences import CONVOLUTION, LOSS, NORM, POOLING
from agents.playbook.triton.template import Template, Variant
from services.domain.problems import ProblemAnalysis

TEMPLATES: tuple[Template, ...] = (
    MATMUL,
    CONVOLUTION,
    POOLING,
    NORM,
    LOSS,
    SCAN,
    ATTENTION,
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class TritonKernel:
    """A kernel that the playbook can write for a problem."""

    template: str
    variant: Variant

    @property
    def name(self) -> str:
        """As a plan names the move: `matmul.split_k`."""
        return f"{self.template}.{self.variant.name}"


@functools.lru_cache(maxsize=64)
def kernels(analysis: ProblemAnalysis) -> tuple[TritonKernel, ...]:
    """What can be written for a problem, in the order in which it is tried: every template's first variant, then the
    others."""
    if analysis.trace_error is not None:
        return ()
    found = [(template.name, template.variants(analysis)) for template in TEMPLATES]
    most = max((len(variants) for _, variants in found), default=0)
    return tuple(
        TritonKernel(template=name, variant=variants[rank])
        for rank in range(most)
        for name, variants in found
        if rank < len(variants)
    )
