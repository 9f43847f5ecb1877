"""The templates, in the order in which they are tried.

Graphs that are a sequence of convolutions, pools, norms and losses have one for each leading family."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

from agents.playbook.errors import NoTemplateError
from agents.playbook.triton import convolution, loss, norm, pooling
from agents.playbook.triton.attention import ATTENTION
from agents.playbook.triton.products import MATMUL
from agents.playbook.triton.scan import SCAN
from agents.playbook.triton.steps import NamedGraph, Writer, base, variants
from agents.playbook.triton.template import Template, Variant
from services.domain.problems import ProblemAnalysis

FAMILIES: Mapping[str, Mapping[str, Writer]] = {
    "convolution": convolution.WRITERS,
    "pooling": pooling.WRITERS,
    "norm": norm.WRITERS,
    "loss": loss.WRITERS,
}
"""Writers by family; a graph belongs to the first family that it holds an operator of."""
WRITERS: Mapping[str, Writer] = {name: writer for family in FAMILIES.values() for name, writer in family.items()}


def _variants(family: str, analysis: ProblemAnalysis) -> tuple[Variant, ...]:
    names = {base(operator) for operator in analysis.operators}
    if family != next((name for name, writers in FAMILIES.items() if names & set(writers)), None):
        return ()
    if family == "loss" and (widened := loss.with_wider_logits(NamedGraph(analysis))):
        return widened
    try:
        fused = convolution.with_chain(NamedGraph(analysis)) if family == "convolution" else ()
    except NoTemplateError:
        fused = ()
    return fused or variants(analysis, WRITERS, frozenset(FAMILIES[family]), family.capitalize())


CONVOLUTION, POOLING, NORM, LOSS = (
    Template(name=name, variants=functools.partial(_variants, name)) for name in FAMILIES
)

TEMPLATES: tuple[Template, ...] = (MATMUL, CONVOLUTION, POOLING, NORM, LOSS, SCAN, ATTENTION)


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
