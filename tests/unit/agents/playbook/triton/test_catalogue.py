"""Which kernels the Triton playbook can write for a graph. No torch, no Triton."""

from __future__ import annotations

import ast

import pytest

from agents.playbook.triton.catalogue import kernels
from services.domain.problems import ProblemAnalysis
from services.domain.tunables import combinations, declared
from tests.unit.agents.triton_problems import a_product


def names(analysis: ProblemAnalysis) -> list[str]:
    return [item.name for item in kernels(analysis)]


def test_a_long_inner_dimension_is_divided_and_a_large_output_is_not() -> None:
    assert names(a_product(512, 2048, 256)) == ["matmul.tiled", "matmul.split_k", "matmul.two_parts"]
    assert names(a_product(256, 65536, 256))[0] == "matmul.split_k"
    assert names(a_product(4096, 4096, 4096)) == ["matmul.tiled", "matmul.two_parts"]
    assert names(a_product(4096, 4096, 4096, dtype="bfloat16")) == ["matmul.tiled", "matmul.persistent"]
    assert names(a_product(4096, 4096, 1))[0] == "matmul.vector"


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("sizes", [(512, 2048, 256), (4096, 4096, 4096), (2048, 65536, 1), (16, 8, 24), (33, 5, 7)])
def test_every_candidate_is_a_module_whose_settings_can_all_be_tried(sizes: tuple[int, int, int], dtype: str) -> None:
    for item in kernels(a_product(*sizes, dtype=dtype)):
        ast.parse(item.variant.source)
        assert 1 <= combinations(declared(item.variant.source) or {}) <= 12
        assert "<<" not in item.variant.source
