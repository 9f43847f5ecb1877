"""Polynomials over sizes, families of operator graphs, and the C++ prelude: pure text and numbers."""

from __future__ import annotations

import pytest

from agents.playbook.errors import NoTemplateError
from agents.playbook.mathlib import prelude
from agents.playbook.sizes import ONE, ZERO, Sizes, poly, product, strides, symbol
from services.domain.problems import Operator, TensorSpec, ValueRef
from workers.referee.costs.operator_costs import family_of


def operator(target: str, *shape: int) -> Operator:
    spec = TensorSpec(name="y", shape=shape, dtype="float32")
    return Operator(target=target, arguments=(ValueRef(ref="x"),), outputs=(spec,))


def test_equal_polynomials_are_equal_whatever_order_they_were_made_in() -> None:
    n, m = symbol("n"), symbol("m")
    assert (n + 1) * (m - 1) == n * m - n + m - 1
    assert n - n == ZERO
    assert product(()) == ONE


def test_division_is_exact_or_none() -> None:
    n, m = symbol("n"), symbol("m")
    assert (n * m * 6).divide(n * 3) == m * 2
    assert (n * m).divide(poly(2)) is None
    assert (n + m).divide(n) is None


def test_strides_are_row_major() -> None:
    n, m = symbol("n"), symbol("m")
    assert strides((n, m, poly(4))) == (m * 4, poly(4), ONE)


def test_united_sizes_become_one_symbol_and_different_ones_are_refused() -> None:
    sizes = Sizes()
    left, right, other = sizes.new("a", 8), sizes.new("b", 8), sizes.new("c", 9)
    sizes.unite(left, right)
    assert sizes.resolve(left) == sizes.resolve(right)
    with pytest.raises(NoTemplateError, match="8 and 9"):
        sizes.unite(left, other)


def test_a_size_of_one_stays_a_number_since_broadcasting_depends_on_it() -> None:
    assert Sizes().new("a", 1) == ONE


@pytest.mark.parametrize(
    ("operators", "family"),
    [
        ((operator("aten.var.dim", 64),), "reduction"),
        ((operator("aten.mean.dim", 64, 1), operator("aten.sub.Tensor", 64, 128)), "norm"),
        ((operator("aten.amax.default", 64, 1), operator("aten.exp.default", 64, 128)), "softmax"),
        ((operator("aten.relu.default", 64, 128),), "pointwise"),
        ((operator("aten.sum.dim", 64), operator("aten.sqrt.default", 64)), "reduction"),
        ((operator("aten.cumsum.default", 64, 128),), "scan"),
        ((operator("aten.conv_transpose1d.default", 64, 128),), "convolution"),
    ],
)
def test_a_graph_belongs_to_the_family_of_its_heaviest_kind(operators: tuple[Operator, ...], family: str) -> None:
    assert family_of(operators) == family


def test_a_kernel_brings_only_the_definitions_it_uses() -> None:
    text = prelude("o[i] = kw_silu(kw_load(x[i]));", fast=True, wide=False)
    assert "kw_exp(float x)" in text
    assert "kw_pow2" in text
    assert "kw_erf" not in text
    assert "kw_stream" not in text
    assert text.count("#include") == 1
