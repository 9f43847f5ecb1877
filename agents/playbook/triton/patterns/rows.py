"""What follows a product where it is not only pointwise: sums, maxima, softmax and the like over each row.

The product is written once more to memory, and one program per row reads it, with the whole row in registers: the
compiler does the same, but its product is the library's. A value of the graph is a full row or one figure per row.
"""

from __future__ import annotations

from dataclasses import dataclass

from agents.playbook.triton.patterns.pointwise import Chain, Walk
from agents.playbook.triton.patterns.sources import FLOATS, base_name
from services.domain.problems import Argument, Operator, ProblemAnalysis, TensorSpec, ValueRef

KERNEL = """
@triton.jit
def rows_kernel(
    y_ptr, z_ptr,<<pointers>>
    M, N, z_sm,<<strides>>
    BLOCK_N: tl.constexpr,
):
    \"\"\"One row per program.\"\"\"
    place = tl.program_id(0).to(tl.int64)
    batch, row = place // M, place % M
    columns = tl.arange(0, BLOCK_N)
    inside = columns < N
    acc = tl.load(y_ptr + place * N + columns, mask=inside, other=0.0).to(tl.float32)
    <<finish>>


def rows(y, z<<arguments>>):
    \"\"\"z from y [batch, rows, columns], row by row.\"\"\"
    batch, count, width = y.shape
    if batch * count > 0 and z.numel() > 0:
        block = triton.next_power_of_2(max(1, width))
        rows_kernel[(batch * count,)](
            y, z,<<arguments_in>>
            count, width, z.numel() // (batch * count),<<strides_in>>
            BLOCK_N=block, num_warps=min(16, max(1, block // 512)),
        )
"""
ANY_NAN = "tl.sum(tl.where(inside & ({0} != {0}), 1, 0), axis=0) > 0"
"""Maxima in Triton leave NaN out."""
REDUCTIONS: dict[str, str] = {
    "sum": "tl.sum(tl.where(inside, {0}, 0.0), axis=0)",
    "mean": "tl.sum(tl.where(inside, {0}, 0.0), axis=0) / N",
    "amax": f'tl.where({ANY_NAN}, float("nan"), tl.max(tl.where(inside, {{0}}, float("-inf")), axis=0))',
    "amin": f'tl.where({ANY_NAN}, float("nan"), tl.min(tl.where(inside, {{0}}, float("inf")), axis=0))',
}
SOFTMAX = frozenset({"softmax", "_softmax", "log_softmax", "_log_softmax"})


@dataclass(frozen=True, kw_only=True)
class RowTail:
    """What follows a product row by row."""

    chain: Chain
    shape: str
    """The output's shape, a Python expression of `y`, the product."""
    full: bool
    """Whether the output is a row; else one figure per row."""


def row_tail(analysis: ProblemAnalysis, start: str) -> RowTail | None:
    """The operators between the value `start` and the only output, where each works on rows; else None."""
    walk = _RowWalk(analysis, start, "acc", {})
    if len(analysis.outputs) != 1 or len(walk.start.shape) < 2 or walk.start.shape[-1] == 1:
        return None
    chain = walk.run()
    if chain is None:
        return None
    shapes = {walk.start.shape: "y.shape", walk.start.shape[:-1]: "y.shape[:-1]"}
    shapes[(*walk.start.shape[:-1], 1)] = "(*y.shape[:-1], 1)"
    return RowTail(chain=chain, shape=shapes[chain.spec.shape], full=chain.spec.shape == walk.start.shape)


class _RowWalk(Walk):
    """A walk along operators on rows."""

    def fits(self, spec: TensorSpec) -> bool:
        """Whether a value is a full row, or one figure per row with or without its dimension."""
        return spec.shape in (self.start.shape, self.start.shape[:-1], (*self.start.shape[:-1], 1))

    def add(self, item: Operator) -> bool:
        """Reductions and softmax over the last dimension, pointwise operators on values that go together."""
        name, spec = base_name(item), item.outputs[0]
        if name in SOFTMAX:
            return self._softmax(item)
        if name == "layer_norm":
            return self._layer_norm(item)
        if name == "group_norm":
            return self._group_norm(item)
        if name in {*REDUCTIONS, "logsumexp", "max", "min"} and not item.target.endswith(".other"):
            return self._reduction(item)
        if not self.fits(spec) or not all(self._goes_with(spec, argument) for argument in item.arguments):
            return False
        return super().add(item)

    def _goes_with(self, spec: TensorSpec, argument: Argument) -> bool:
        """Whether an operand means in registers what it means in the graph: one figure per row without its dimension
        would be spread along columns, and tensors from outside are read as rows."""
        if not isinstance(argument, ValueRef):
            return True
        own = self.specs.get(argument.ref)
        if argument.ref in self.names and own is not None:
            return own.shape == spec.shape or own.shape == (*self.start.shape[:-1], 1)
        return spec.shape == self.start.shape

    def _operand(self, item: Operator) -> tuple[str, TensorSpec] | None:
        first = item.arguments[0]
        if not isinstance(first, ValueRef) or first.ref not in self.names:
            return None
        return self.names[first.ref], self.specs[first.ref]

    def _softmax(self, item: Operator) -> bool:
        found, dimension = self._operand(item), item.arguments[1] if len(item.arguments) > 1 else None
        if found is None or dimension not in (-1, len(found[1].shape) - 1) or found[1].shape != self.start.shape:
            return False
        if item.outputs[0].dtype not in FLOATS or len(item.arguments) > 3 or item.keywords:
            return False
        text, own = found[0], f"t{len(self.statements)}"
        highest = REDUCTIONS["amax"].format(text)
        self.statements.append(f"{own} = {text} - {highest}")
        total = f"tl.sum(tl.where(inside, tl.exp({own}), 0.0), axis=0)"
        result = f"{own} - tl.log({total})" if "log" in base_name(item) else f"tl.exp({own}) / {total}"
        self.round(item.outputs[0].name, result, item.outputs[0].dtype)
        return True

    def _layer_norm(self, item: Operator) -> bool:
        """`layer_norm(x, sizes, weight, bias, eps)` over the last dimension, in two passes over registers."""
        found, sizes = self._operand(item), item.arguments[1]
        if found is None or sizes != self.start.shape[-1:] or found[1].shape != self.start.shape:
            return False
        text, own = found[0], f"t{len(self.statements)}"
        self.statements.append(f"{own} = {text} - {REDUCTIONS['mean'].format(text)}")
        square = REDUCTIONS["mean"].format(f"{own} * {own}")
        return self._affine(item, item.arguments[2:], f"{own} / tl.sqrt_rn({square} + {{0}})")

    def _group_norm(self, item: Operator) -> bool:
        """`group_norm(x, groups, weight, bias, eps)` of a matrix: groups are stretches of a row, and may be a dimension
        of their own where they are powers of two. Weights fix the row's length."""
        found, groups = self._operand(item), item.arguments[1]
        if found is None or not isinstance(groups, int) or len(self.start.shape) != 2 or len(item.arguments) < 4:
            return False
        width = self.start.shape[-1] // max(1, groups)
        weight = self.sources.get(item.arguments[2].ref) if isinstance(item.arguments[2], ValueRef) else None
        if found[1].shape != self.start.shape or width & (width - 1) or weight is None or weight.parameter is None:
            return False
        own = f"t{len(self.statements)}"
        self.statements.append(f"{own} = tl.reshape({found[0]}, (BLOCK_N // {width}, {width}))")
        self.statements.append(f"{own} = {own} - (tl.sum({own}, axis=1) / {width})[:, None]")
        square = f"tl.sum({own} * {own}, axis=1) / {width}"
        return self._affine(
            item, item.arguments[2:], f"tl.reshape({own} / tl.sqrt_rn({square} + {{0}})[:, None], (BLOCK_N,))"
        )

    def _affine(self, item: Operator, rest: tuple[Argument, ...], normal: str) -> bool:
        """Weight, bias and the number that keeps roots from zero, around a normalised row."""
        options = dict(item.keywords)
        weight = rest[0] if rest else options.get("weight")
        bias = rest[1] if len(rest) > 1 else options.get("bias")
        eps = rest[2] if len(rest) > 2 else options.get("eps", 1e-5)
        names = [None if one is None else self.channel(one, 2) for one in (weight, bias)]
        unread = any(name is None and one is not None for name, one in zip(names, (weight, bias), strict=True))
        if unread or not isinstance(eps, float):
            return False
        text = normal.format(repr(eps))
        text += "" if names[0] is None else f" * {names[0]}"
        text += "" if names[1] is None else f" + {names[1]}"
        self.round(item.outputs[0].name, text, item.outputs[0].dtype)
        return True

    def _reduction(self, item: Operator) -> bool:
        found, spec = self._operand(item), item.outputs[0]
        name = {"max": "amax", "min": "amin"}.get(base_name(item), base_name(item))
        if found is None or spec.dtype not in FLOATS or not self.fits(spec) or not _over_last(item, found[1]):
            return False
        text, before = found
        if before.shape != self.start.shape:
            if before.shape[-1] != 1 or spec.dtype != before.dtype:
                return False
            self.round(spec.name, text, spec.dtype)  # over one element: itself
            return True
        if name != "logsumexp":
            self.round(spec.name, REDUCTIONS[name].format(text), spec.dtype)
            return True
        own = f"t{len(self.statements)}"
        self.statements.append(f"{own} = {REDUCTIONS['amax'].format(text)}")
        shift = f'tl.where(tl.abs({own}) == float("inf"), 0.0, {own})'
        total = f"tl.sum(tl.where(inside, tl.exp({text} - {shift}), 0.0), axis=0)"
        self.round(spec.name, f"tl.log({total}) + {shift}", spec.dtype)
        return True


def _over_last(item: Operator, before: TensorSpec) -> bool:
    """Whether a reduction is over the last dimension alone, with no other options than `keepdim`."""
    rest = item.arguments[1:]
    options = dict(item.keywords)
    options.pop("keepdim", None)
    if not rest or options or len(rest) > 2 or (len(rest) == 2 and not isinstance(rest[1], bool)):
        return False
    given = rest[0] if isinstance(rest[0], tuple) else (rest[0],)
    return len(given) == 1 and given[0] in (-1, len(before.shape) - 1)
