"""Chains of pointwise operators after a product."""

from __future__ import annotations

import pytest

from agents.playbook.triton.patterns.pointwise import follow
from agents.playbook.triton.patterns.product_graph import product
from services.domain.problems import Operator
from tests.unit.agents.triton_problems import a_chain, a_graph, operator, ref, spec


def test_a_chain_is_rounded_where_the_graph_rounds() -> None:
    graph = a_graph(
        operator("mm.default", ref("a"), ref("b"), output=spec("mm", 64, 48, dtype="float16")),
        operator("mul.Tensor", ref("mm"), 2, output=spec("mul", 64, 48, dtype="float16")),
        inputs=(spec("a", 64, 32, dtype="float16"), spec("b", 32, 48, dtype="float16")),
    )
    found = follow(graph, "mm")
    assert found is not None
    assert found.statements == (
        "v0 = (acc).to(tl.float16).to(tl.float32)",
        "v1 = (v0 * 2.0).to(tl.float16).to(tl.float32)",
    )


def test_an_operand_from_outside_is_read_and_a_function_is_defined_once() -> None:
    graph = a_chain(
        operator("tanh.default", ref("mm"), output=spec("t", 64, 48)),
        operator("permute.default", ref("c"), (1, 0), output=spec("ct", 64, 48)),
        operator("add.Tensor", ref("t"), ref("ct"), output=spec("sum", 64, 48), alpha=2),
        operator("tanh.default", ref("sum"), output=spec("out", 64, 48)),
        extra=(spec("c", 48, 64),),
    )
    found = follow(graph, "mm")
    assert found is not None
    assert [item.source.text for item in found.operands] == ["x2.permute(1, 0)"]
    assert found.statements == ("v0 = tanh(acc)", "v1 = v0 + e0 * 2.0", "v2 = tanh(v1)")
    assert found.functions.count("def tanh") == 1


@pytest.mark.parametrize(
    "following",
    [
        operator("cumsum.default", ref("mm"), 1, output=spec("out", 64, 48)),
        operator("sum.dim_IntList", ref("mm"), (0,), output=spec("out", 48)),
        operator("softmax.int", ref("mm"), 0, output=spec("out", 64, 48)),
        operator("view.default", ref("mm"), (48, 64), output=spec("out", 48, 64)),
        operator("div.Tensor", ref("mm"), 3, output=spec("out", 64, 48), rounding_mode="floor"),
        operator("pow.Tensor_Scalar", ref("mm"), 1.7, output=spec("out", 64, 48)),
        operator("add.Tensor", ref("mm"), ref("c"), output=spec("out", 64, 48)),
    ],
)
def test_what_is_not_pointwise_here_has_no_chain(following: Operator) -> None:
    whole_numbers = spec("c", 64, 48, dtype="int64")
    assert product(a_chain(following, extra=(whole_numbers,))) is None
