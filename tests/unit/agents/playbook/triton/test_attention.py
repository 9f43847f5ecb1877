"""Which graphs are attention."""

from __future__ import annotations

from agents.playbook.triton.attention import find
from services.domain.problems import ProblemAnalysis
from tests.unit.agents.triton_problems import a_graph, operator, ref, spec


def attention(**keywords: object) -> ProblemAnalysis:
    given = [spec(name, 2, 4, 64, 32) for name in "qkv"]
    made = operator(
        "scaled_dot_product_attention.default", *(ref(name) for name in "qkv"), output=spec("out", 2, 4, 64, 32),
        **keywords,  # type: ignore[arg-type]
    )  # fmt: skip
    return a_graph(made, inputs=tuple(given), family="attention")


def test_attention_with_a_mask_or_dropout_has_no_template() -> None:
    plain = find(attention(is_causal=True, scale=0.5))
    assert plain is not None
    assert (plain.causal, plain.scale) == (True, 0.5)
    assert find(attention(dropout_p=0.5)) is None
    assert find(attention(attn_mask=ref("mask"))) is None
