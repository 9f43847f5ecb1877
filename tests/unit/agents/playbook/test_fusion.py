"""Which values one kernel makes together."""

from __future__ import annotations

from agents.playbook.builder import Builder
from agents.playbook.expressions import NotLocalError
from agents.playbook.fusion import Kernel, group, kernel_for, sinks_of
from agents.playbook.nodes import Node, Reduce, Scan, Source, expand
from agents.playbook.sizes import ONE, Sizes

SIZES = Sizes()
BUILD = Builder(SIZES)
ROWS, COLUMNS = SIZES.new("n0_0", 64), SIZES.new("n0_1", 128)
SHAPE = (ROWS, COLUMNS)
LAST, ALL = frozenset({1}), frozenset({0, 1})


def source() -> Source:
    return Source(shape=SHAPE, dtype="float32", name="x0")


def doubled(node: Node) -> Node:
    return BUILD.call("mul", "float32", node, 2.0)


def total(node: Node, axes: frozenset[int] = LAST) -> Node:
    return BUILD.reduce("sum", node, axes, "float32")


def anything(_kernel: Kernel) -> None:
    """Every grouping can be written."""


def nothing(_kernel: Kernel) -> None:
    raise NotLocalError


def test_fused_only_outputs_reductions_and_scans_end_in_memory() -> None:
    chain = doubled(doubled(source()))
    row = total(chain)
    out = BUILD.call("sub", "float32", chain, expand(row, SHAPE))
    assert sinks_of([out], fuse=True) == [row, out]
    assert len(sinks_of([out], fuse=False)) == 4


def test_unfused_numbers_without_a_shape_are_not_stored() -> None:
    scale = BUILD.call("add", "float32", BUILD.const(1.0, "float32"), 2.0)
    assert scale.shape == ()
    out = BUILD.call("mul", "float32", source(), scale)
    assert sinks_of([out], fuse=False) == [out]


def test_a_reduction_and_what_is_computed_from_it_share_a_kernel() -> None:
    row = total(source())
    out = BUILD.call("sub", "float32", source(), expand(row, SHAPE))
    (kernel,) = group([row, out], anything, fuse=True)
    assert (kernel.domain, kernel.axes, kernel.sinks) == (SHAPE, LAST, [row, out])


def test_without_fusion_every_sink_has_a_kernel_of_its_own() -> None:
    row = total(source())
    out = BUILD.call("sub", "float32", source(), expand(row, SHAPE))
    assert [kernel.sinks for kernel in group([row, out], anything, fuse=False)] == [[row], [out]]


def test_what_cannot_be_written_together_is_split() -> None:
    row = total(source())
    out = BUILD.call("sub", "float32", source(), expand(row, SHAPE))
    assert [kernel.sinks for kernel in group([row, out], nothing, fuse=True)] == [[row], [out]]


def test_reductions_over_different_axes_do_not_share_a_kernel() -> None:
    row, whole = total(source()), total(source(), ALL)
    kernels = group([row, whole], anything, fuse=True)
    assert [kernel.axes for kernel in kernels] == [LAST, ALL]


def test_a_kernel_never_runs_before_what_it_reads() -> None:
    whole = total(source(), ALL)
    row = total(BUILD.call("sub", "float32", source(), expand(whole, SHAPE)))
    other = total(doubled(source()), ALL)
    kernels = group([whole, row, other], anything, fuse=True)
    assert [kernel.sinks for kernel in kernels] == [[whole, other], [row]]


def test_a_pointwise_kernel_takes_over_the_axes_of_a_reduction_that_joins_it() -> None:
    out = doubled(source())
    row = total(out)
    (kernel,) = group([out, row], anything, fuse=True)
    assert (kernel.axes, kernel.sinks) == (LAST, [out, row])


def test_a_scan_and_a_reduction_along_the_same_dimension_can_go_together() -> None:
    running = BUILD.scan("sum", source(), 1, "float32")
    row = total(source())
    assert isinstance(running, Scan)
    assert isinstance(row, Reduce)
    (kernel,) = group([running, row], anything, fuse=True)
    assert kernel.sinks == [running, row]


def test_placements_follow_the_domain_or_are_refused() -> None:
    row = total(source())
    kernel = kernel_for(row)
    assert kernel.placement(row) == "full"
    assert kernel.placement(source()) == "full"
    assert kernel.placement(Source(shape=(ROWS, ONE), dtype="float32", name="k")) == "kept"
    assert kernel.placement(Source(shape=(ROWS,), dtype="float32", name="s")) == "squeezed"
    assert kernel.placement(Source(shape=(COLUMNS,), dtype="float32", name="w")) is None
    assert kernel.placement(total(source(), ALL)) is None
