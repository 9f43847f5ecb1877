"""What follows a product row by row."""

from __future__ import annotations

from agents.playbook.triton.catalogue import kernels
from agents.playbook.triton.patterns.product_graph import product
from services.domain.problems import ProblemAnalysis
from tests.unit.agents.triton_problems import a_chain, operator, ref, spec


def test_a_figure_per_row_is_used_only_where_its_dimension_is_kept() -> None:
    def centred(*size: int, keep: bool) -> ProblemAnalysis:
        return a_chain(
            operator("mean.dim", ref("mm"), (1,), keep, output=spec("mean", *size)),
            operator("sub.Tensor", ref("mm"), ref("mean"), output=spec("out", 64, 48)),
        )

    kept, dropped = product(centred(64, 1, keep=True)), product(centred(64, keep=False))
    assert kept is not None
    assert kept.tail is not None
    assert kept.tail.full
    assert dropped is None


def test_what_follows_row_by_row_is_a_kernel_of_its_own() -> None:
    analysis = a_chain(operator("logsumexp.default", ref("mm"), (1,), True, output=spec("out", 64, 1)))
    found, source = product(analysis), kernels(analysis)[0].variant.source
    assert found is not None
    assert found.tail is not None
    assert not found.tail.full
    assert "z = torch.empty((*y.shape[:-1], 1), dtype=torch.float32, device=y.device)" in source
    assert "rows(y3, z)" in source
