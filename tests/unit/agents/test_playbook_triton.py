"""The Triton playbook's decisions and texts: which graphs a template fits, what it writes. No torch, no Triton."""

from __future__ import annotations

import ast
from dataclasses import replace

import pytest

from agents.playbook import critic
from agents.playbook.triton.attention import find
from agents.playbook.triton.catalogue import kernels
from agents.playbook.triton.module import filled
from agents.playbook.triton.patterns.pointwise import follow
from agents.playbook.triton.patterns.product_graph import product
from agents.playbook.triton.planner import EXHAUSTED, code, plan
from services.domain.chat import AttemptFact, Facts
from services.domain.gates import GateName
from services.domain.jobs import Stage
from services.domain.measurements import Baselines
from services.domain.problems import Operator, Problem, ProblemAnalysis, TensorSpec
from services.domain.tunables import combinations, declared
from tests.unit.agents.test_playbook_planner import report
from tests.unit.agents.triton_problems import a_graph, a_product, operator, ref, spec


def facts(analysis: ProblemAnalysis, attempts: tuple[AttemptFact, ...] = (), **changes: object) -> Facts:
    made = Facts(
        job_id="job", step=len(attempts), stage=Stage.DRAFT, seed=1, problem=Problem(name="p", source=""),
        analysis=analysis, backend="triton", device=None, baselines=Baselines(), attempts=attempts, experiences=(),
        start_point=None,
    )  # fmt: skip
    return replace(made, **changes)  # type: ignore[arg-type]


def tried(analysis: ProblemAnalysis, count: int) -> tuple[AttemptFact, ...]:
    return tuple(
        AttemptFact(
            step=step, stage=Stage.DRAFT, candidate_id=f"c{step}", parent_id=None, plan=None,
            source=item.variant.source, report=report(100.0),
        )
        for step, item in enumerate(kernels(analysis)[:count])
    )  # fmt: skip


def names(analysis: ProblemAnalysis) -> list[str]:
    return [item.name for item in kernels(analysis)]


def one(*operators: Operator, inputs: tuple[TensorSpec, ...]) -> ProblemAnalysis:
    return a_graph(*operators, inputs=inputs)


def a_chain(*operators: Operator, extra: tuple[TensorSpec, ...] = ()) -> ProblemAnalysis:
    made = operator("mm.default", ref("a"), ref("b"), output=spec("mm", 64, 48))
    return a_graph(made, *operators, inputs=(spec("a", 64, 32), spec("b", 32, 48), *extra))


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


def test_the_kernels_follow_each_other_and_then_the_playbook_says_so() -> None:
    analysis = a_product()
    asked = [plan(facts(analysis, tried(analysis, count))) for count in range(4)]
    assert [reply.moves[0].name for reply in asked[:3]] == names(analysis)
    assert asked[3].unable == EXHAUSTED
    written = code(facts(analysis, plan=asked[1].fact()))
    assert (written.summary, written.source) == ("matmul.split_k", kernels(analysis)[1].variant.source)


def test_branches_of_a_beam_take_different_kernels() -> None:
    found = [plan(facts(a_product(), branch=branch, width=2)).moves[0].name for branch in range(2)]
    assert found == ["matmul.tiled", "matmul.split_k"]


def test_the_judge_names_the_next_kernel_and_knows_no_schedules() -> None:
    analysis = a_product()
    first = kernels(analysis)[0].variant.source
    advice = critic.refine(facts(analysis, source=first, report=report(100.0)))
    assert advice.method == "matmul.split_k"
    done = critic.refine(facts(analysis, tried(analysis, 3), source=first, report=report(100.0)))
    assert (done.method, done.modification_plan) == ("none", EXHAUSTED)
    refused = critic.draft(facts(analysis, source=first, report=report(100.0, GateName.COMPILE)))
    assert "next kernel" in refused.minimal_fix


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


def test_a_triangle_is_skipped_only_where_it_comes_first() -> None:
    cut = operator("triu.default", ref("mm"), 1, output=spec("cut", 64, 48))
    first = product(a_chain(cut, operator("exp.default", ref("cut"), output=spec("out", 64, 48))))
    later = product(
        a_chain(
            operator("exp.default", ref("mm"), output=spec("exp", 64, 48)),
            operator("triu.default", ref("exp"), 1, output=spec("cut", 64, 48)),
        )
    )
    assert first is not None
    assert later is not None
    assert (first.triangle, first.diagonal, later.triangle) == ("triu", 1, None)


def test_an_addend_that_counts_nothing_is_not_read() -> None:
    def addmm(beta: float) -> ProblemAnalysis:
        given = [ref("c"), ref("a"), ref("b")]
        made = operator("addmm.default", *given, output=spec("out", 64, 48), beta=beta)
        return a_graph(made, inputs=(spec("a", 64, 32), spec("b", 32, 48), spec("c", 48)))

    read, unread = product(addmm(0.5)), product(addmm(0.0))
    assert read is not None
    assert read.addend is not None
    assert unread is not None
    assert unread.addend is None


def test_two_products_and_factors_of_two_types_are_left_to_the_compiler() -> None:
    again = operator("mm.default", ref("mm"), ref("c"), output=spec("out", 64, 7))
    assert names(a_chain(again, extra=(spec("c", 48, 7),))) == []
    mixed = a_graph(
        operator("mm.default", ref("a"), ref("b"), output=spec("mm", 64, 48)),
        inputs=(spec("a", 64, 32), spec("b", 32, 48, dtype="float16")),
    )
    assert names(mixed) == []


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


def test_a_place_that_nobody_fills_is_an_error() -> None:
    assert filled("f(<<a>>)\n    <<b>>\n", a="x, ", b=["one", "two"]) == "f(x, )\n    one\n    two"
    with pytest.raises(KeyError, match="b"):
        filled("<<b>>")
