"""Templates for graphs that are a sequence of convolutions, pools and norms: one for each leading family."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from agents.playbook.errors import NoTemplateError
from agents.playbook.triton import convolution, loss, norm, pooling
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
