"""Traced graphs as the Triton playbook sees them."""

from __future__ import annotations

from services.domain.problems import Argument, Operator, ProblemAnalysis, TensorSpec, ValueRef


def spec(name: str, *shape: int, dtype: str = "float32", origin: str | None = None) -> TensorSpec:
    return TensorSpec(name=name, shape=shape, dtype=dtype, origin=origin)


def operator(target: str, *arguments: Argument, output: TensorSpec, **keywords: Argument) -> Operator:
    return Operator(target=f"aten.{target}", arguments=arguments, keywords=tuple(keywords.items()), outputs=(output,))


def ref(name: str) -> ValueRef:
    return ValueRef(ref=name)


def a_graph(*operators: Operator, inputs: tuple[TensorSpec, ...], family: str = "matmul") -> ProblemAnalysis:
    return ProblemAnalysis(
        family=family,
        inputs=inputs,
        parameters=(),
        operators=operators,
        outputs=(operators[-1].outputs[0].name,),
        bytes_moved=1 << 20,
        flops=1 << 20,
        floor_us=10.0,
    )


def a_product(rows: int = 512, inner: int = 2048, columns: int = 256, *, dtype: str = "float32") -> ProblemAnalysis:
    """`relu(a @ b)`: it has three kernels in float32 (`tiled`, `split_k`, `two_parts`)."""
    return a_graph(
        operator("matmul.default", ref("a"), ref("b"), output=spec("matmul", rows, columns, dtype=dtype)),
        operator("relu.default", ref("matmul"), output=spec("relu", rows, columns, dtype=dtype)),
        inputs=(spec("a", rows, inner, dtype=dtype), spec("b", inner, columns, dtype=dtype)),
    )


def a_chain(*operators: Operator, extra: tuple[TensorSpec, ...] = ()) -> ProblemAnalysis:
    made = operator("mm.default", ref("a"), ref("b"), output=spec("mm", 64, 48))
    return a_graph(made, *operators, inputs=(spec("a", 64, 32), spec("b", 32, 48), *extra))
