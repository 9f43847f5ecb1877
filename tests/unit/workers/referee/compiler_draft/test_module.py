"""TorchInductor's output, recorded on a CPU and on an H100, becomes a candidate that the screen lets through."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from services.domain.codec import from_data
from services.domain.tunables import declared
from workers.referee.compiler_draft.graph import CompiledGraph, DraftedProblem, NoDraftError, StateTensor
from workers.referee.compiler_draft.module import written
from workers.referee.screen.screen import screen

RECORDED = Path(__file__).parent / "recorded"
NO_LIBRARY: frozenset[str] = frozenset()


def graph(name: str) -> CompiledGraph:
    return from_data(CompiledGraph, json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8")))


def problem(*names: str, library: frozenset[str] = NO_LIBRARY, state: tuple[StateTensor, ...] = ()) -> DraftedProblem:
    graphs = tuple(graph(name) for name in names)
    on_gpu = names[0].endswith("triton")
    return DraftedProblem(
        name="recorded",
        compiler="TorchInductor",
        device="cuda" if on_gpu else "cpu",
        parameters=tuple(argument.name for argument in graphs[0].arguments),
        state=state,
        returns_tuple=False,
        graphs=graphs,
        library=library,
        vector_macros=() if on_gpu else ("CPU_CAPABILITY_AVX2",),
    )


def test_recorded_cpp_becomes_one_library_with_a_function_for_each_kernel() -> None:
    source = written(problem("masked_softmax_sizes.cpp", "masked_softmax_any_sizes.cpp"))

    assert source.count("cpp_prefix.h") == 1
    assert source.count('extern "C" void cpp_fused') == 2
    assert "inductor_cpu_integer_div_error" not in source
    assert "#define CPU_CAPABILITY AVX2" in source
    assert "async_compile" not in source
    assert screen(source, NO_LIBRARY) == []


def test_known_sizes_take_the_code_that_was_compiled_for_them_and_the_rest_takes_the_code_for_any() -> None:
    source = written(problem("masked_softmax_sizes.cpp", "masked_softmax_any_sizes.cpp"))

    forward = source[source.index("def forward") : source.index("def sizes_0")]
    assert "return self.sizes_0(scores, mask)" in forward
    assert "return self.any_sizes(scores, mask)" in forward
    assert 'expect(arg4_1, "scores"' in source


def test_without_code_for_any_size_other_sizes_are_refused() -> None:
    source = written(problem("masked_softmax_sizes.cpp"))

    assert 'raise ValueError("drafted for other sizes")' in source
    assert "any_sizes" not in source


def test_of_several_triton_kernels_the_one_that_the_compiler_picked_is_launched_with_its_configuration() -> None:
    source = written(problem("cumsum_sizes.triton"))

    assert "def triton_per_fused_cumsum_1_0(" in source
    assert "triton_red_fused" not in source
    assert declared(source) == {"XBLOCK_0": (1,), "NUM_WARPS_0": (4,), "NUM_STAGES_0": (1,)}
    assert "triton.cdiv(4096, TUNABLES['XBLOCK_0'][0])" in source.replace('"', "'")
    assert screen(source, NO_LIBRARY) == []


def test_what_a_triton_kernel_calls_of_the_compiler_s_run_time_is_written_out() -> None:
    source = written(problem("cross_entropy_sizes.triton"))

    assert "triton_helpers" not in source
    assert "torch._inductor" not in source
    assert "def helper_" in source
    assert screen(source, NO_LIBRARY) == []


def test_a_library_s_product_stays_where_it_is_allowed() -> None:
    weights = (
        StateTensor(path="linear.weight", dtype="bfloat16", shape=(4096, 4096), is_buffer=False),
        StateTensor(path="linear.bias", dtype="bfloat16", shape=(4096,), is_buffer=False),
    )
    allowed = frozenset({"matmul"})

    source = written(problem("gemm_gelu_any_sizes.triton", library=allowed, state=weights))

    assert "torch.addmm(" in source or "torch.mm(" in source
    assert screen(source, allowed) == []


def test_a_library_s_product_that_nobody_allows_is_the_reason_for_no_draft() -> None:
    with pytest.raises(NoDraftError, match=r"to a library, which neither problem nor job allows \(--allow-library"):
        written(problem("gemm_gelu_any_sizes.triton"))


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("buf0 = torch.ops.aten.sort.default(arg4_1)", "leaves sort to a library and writes no kernel"),
        ("buf0 = torch.ops.aten.randint.low_out(0, 5)", "draws random numbers"),
        ("while True:\n            pass", "a statement that a candidate cannot carry: while True"),
        ("buf0 = open('/etc/passwd')", "calls open, which a candidate cannot"),
        ("os.system('true')", "calls os.system, which is not the compiler's own kernel"),
    ],
)
def test_a_statement_that_is_not_understood_is_a_reason_and_never_a_guess(statement: str, reason: str) -> None:
    known = graph("masked_softmax_sizes.cpp")
    strange = dataclasses.replace(known, code=known.code.replace("args.clear()", f"args.clear()\n        {statement}"))

    with pytest.raises(NoDraftError, match=reason.replace("(", r"\(")):
        written(dataclasses.replace(problem("masked_softmax_sizes.cpp"), graphs=(strange,)))


def test_a_grid_that_a_plain_launch_cannot_have_is_a_reason() -> None:
    known = graph("cumsum_sizes.triton")
    strange = dataclasses.replace(known, code=known.code.replace("'Grid1D'", "'CooperativeReductionGrid'"))

    with pytest.raises(NoDraftError, match="launches a kernel by CooperativeReductionGrid"):
        written(dataclasses.replace(problem("cumsum_sizes.triton"), graphs=(strange,)))
