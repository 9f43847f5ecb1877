"""Windows that slide over planes: depthwise convolutions, max and average pooling. The text is unrolled for a geometry.

A lane computes a strip of output rows. Each input row of the strip is read once for all the rows that it belongs to,
which is where windows overlap; a pool's row is first combined along its columns (a max over a rectangle is a max of row
maxima: van Herk, 1992, uses the same separability). Sums are in float32. Loses where windows do not overlap and rows
are short: neighbouring lanes then read far apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from agents.playbook.triton import epilogue
from agents.playbook.triton.patterns.pointwise import Chain
from agents.playbook.triton.steps import KernelStep, NamedGraph
from services.domain.problems import Argument, Operator, TensorSpec

MOST_LOADS = 96
"""Loads that are written out; larger windows loop."""
TUNABLES: dict[str, tuple[int | bool | str, ...]] = {"WINDOW_BLOCK": (512, 256, 1024), "WINDOW_WARPS": (4, 8)}
GATHERED_TUNABLES: dict[str, tuple[int | bool | str, ...]] = {"GATHER_BLOCK": (64, 32, 128), "GATHER_WARPS": (4, 8)}


@dataclass(frozen=True, kw_only=True)
class SlidingWindow:
    """A sliding window in three dimensions (depth, height, width)."""

    kind: str
    """`depthwise`, `max` or `average`."""
    size: tuple[int, int, int]
    stride: tuple[int, int, int]
    padding: tuple[int, int, int]
    dilation: tuple[int, int, int]
    ceil: bool = False
    """Whether the last windows may reach beyond the padded input."""
    include_padding: bool = True
    """Whether an average counts padded positions."""
    divisor: int | None = None
    """What an average divides by instead of its count."""

    @property
    def name(self) -> str:
        """The kernel's name, one for each geometry."""
        numbers = (*self.size, *self.stride, *self.padding, *self.dilation, int(self.ceil), int(self.include_padding))
        return f"{self.kind}_{'_'.join(map(str, numbers))}" + (f"_{self.divisor}" if self.divisor else "")

    @property
    def rows(self) -> int:
        """Output rows of a strip: several where their windows overlap and what is written out stays short."""
        overlap = (self.size[1] - 1) * self.dilation[1] + 1 > self.stride[1] and self.stride[1] % self.dilation[1] == 0
        return next((rows for rows in (8, 4, 2) if overlap and self.loads(rows) <= MOST_LOADS), 1)

    @property
    def is_written_out(self) -> bool:
        """Whether the window's rows and columns are written out rather than looped over."""
        return self.loads(1) <= 2 * MOST_LOADS

    def loads(self, rows: int) -> int:
        """Loads of a strip of so many rows, for one depth."""
        return len(set(self.uses(rows))) * self.size[2]

    def uses(self, rows: int) -> dict[int, list[tuple[int, int]]]:
        """By input row of a strip the (output row, row of the window) pairs that need it."""
        found: dict[int, list[tuple[int, int]]] = {}
        for row in range(rows):
            for tap in range(self.size[1]):
                found.setdefault(row * self.stride[1] + tap * self.dilation[1], []).append((row, tap))
        return dict(sorted(found.items()))

    @property
    def is_inside(self) -> bool:
        """Whether no window reaches beyond the input."""
        return not any(self.padding) and not self.ceil

    @property
    def identity(self) -> str:
        """What a place beyond the input counts as."""
        return 'float("-inf")' if self.kind == "max" else "0.0"

    def combined(self, one: str, other: str) -> str:
        """The expression of two partial results."""
        if self.kind == "max":
            return f"tl.maximum({one}, {other}, propagate_nan=tl.PropagateNan.ALL)"
        return f"{one} + {other}"


def depthwise(
    graph: NamedGraph,
    operator: Operator,
    bias: Argument,
    weight: TensorSpec,
    geometry: tuple[tuple[int, ...], ...],
    chain: Chain | None,
) -> KernelStep:
    """A convolution whose groups hold one input channel each: weights are scalars, nothing is a product of matrices.
    With a chain, what follows it too."""
    stride, padding, _, dilation = map(_triple, geometry)
    size = _triple((1,) * (5 - len(weight.shape)) + weight.shape[2:])
    window = SlidingWindow(kind="depthwise", size=size, stride=stride, padding=padding, dilation=dilation)
    tensors = ", ".join(map(graph.text, (*operator.arguments[:2], bias)))
    return KernelStep(
        name="depthwise",
        reason="a direct depthwise convolution: input rows are read once for a strip of rows; loses on short rows",
        kernels=("window", *epilogue.functions(chain), _kernel(window, chain)),
        call=f"slid({window.name}, {tensors}, {size}, {stride}, {padding}, {dilation}, False, {window.rows}, "
        f"{epilogue.out_type(chain, graph.text(operator.arguments[0]))}, {epilogue.extras(chain)})",
        tunables=TUNABLES,
    )


def pool(graph: NamedGraph, operator: Operator, window: SlidingWindow) -> list[KernelStep]:
    """Ways to compute a pooling operator."""
    geometry = f"{window.size}, {window.stride}, {window.padding}, {window.dilation}, {window.ceil}"
    x = graph.text(operator.arguments[0])
    sliding = KernelStep(
        name="sliding",
        reason="input rows are read once for a strip of overlapping windows, columns before rows; loses where windows "
        "do not overlap",
        kernels=("window", _kernel(window)),
        call=f"slid({window.name}, {x}, None, None, {geometry}, {window.rows}, {x}.dtype)",
        tunables=TUNABLES,
    )
    if window.stride[2] == 1:
        return [sliding]
    gathered = KernelStep(
        name="gathered",
        reason="rows before columns, so that neighbouring lanes read neighbours although windows are apart; loses "
        "where rows are shorter than a block",
        kernels=("window", "gathering", _gathering_kernel(window)),
        call=f"gathered(gathered_{window.name}, {x}, {geometry})",
        tunables=GATHERED_TUNABLES,
    )
    return [gathered, sliding] if window.stride[2] > 2 else [sliding, gathered]


def _triple(values: tuple[int, ...]) -> tuple[int, int, int]:
    first, second, third = values
    return first, second, third


def _kernel(window: SlidingWindow, chain: Chain | None = None) -> str:
    """The `@triton.jit` function for a geometry, with the signature that `slid` of the text `window` calls."""
    weighted = window.kind == "depthwise"
    lines = [
        "@triton.jit",
        f"def {window.name}(",
        f"    x_ptr, w_ptr, bias_ptr, out_ptr,{epilogue.pointers(chain)}",
        "    planes, channels, multiple, depth, height, width,",
        "    out_depth, out_height, out_width, HAS_BIAS: tl.constexpr, WIDE: tl.constexpr,",
        "    WIDE_ROWS: tl.constexpr, BLOCK: tl.constexpr,",
        "):  # fmt: skip",
        f'    """Strips of {window.rows} output rows of a plane, a column each lane."""',
        "    block = tl.program_id(0)",
        "    if WIDE:",
        "        block = block.to(tl.int64)",
        f"    strips = tl.cdiv(out_height, {window.rows})",
        "    lane = tl.arange(0, BLOCK)",
        "    if WIDE_ROWS:",
        *_ROW_OF_BLOCK,
        "    else:",
        *(_PLANE_OF_BLOCK if weighted else _PLANES_OF_LANES),
        "    batch = plane // channels",
        "    channel = plane % channels",
        *(("    x_plane = batch * (channels // multiple) + channel // multiple",) if weighted else ()),
        "    at_w = at % out_width",
        f"    first = strip * {window.rows}",
        f"    row0 = first * {window.stride[1]} - {window.padding[1]}",
        f"    column0 = at_w * {window.stride[2]} - {window.padding[2]}",
        f"    depth0 = at_d * {window.stride[0]} - {window.padding[0]}",
    ]
    lines += [f"    sum{row} = tl.full((BLOCK,), {window.identity}, tl.float32)" for row in range(window.rows)]
    lines += ["    " + line for line in _over_depth(window)]
    for row in range(window.rows):
        lines += ["    " + line for line in _stored(window, row, chain)]
    return "\n".join(lines) + "\n"


_ROW_OF_BLOCK = (
    "        blocks = tl.cdiv(out_width, BLOCK)",
    "        at = block % blocks * BLOCK + lane",
    "        live = at < out_width",
    "        strip = block // blocks % strips + lane * 0",
    "        at_d = block // blocks // strips % out_depth + lane * 0",
    "        plane = block // blocks // strips // out_depth",
)
"""A block within a strip: all that is not along columns is the same for every lane."""
_PLANE_OF_BLOCK = (
    "        blocks = tl.cdiv(out_depth * strips * out_width, BLOCK)",
    "        plane = block // blocks",
    "        at = block % blocks * BLOCK + lane",
    "        live = at < out_depth * strips * out_width",
    "        strip = at // out_width % strips",
    "        at_d = at // out_width // strips",
)
"""A block within a plane: weights are the same for every lane."""
_PLANES_OF_LANES = (
    "        at = block * BLOCK + lane",
    "        strip = at // out_width % strips",
    "        at_d = at // out_width // strips % out_depth",
    "        plane = at // out_width // strips // out_depth",
    "        live = plane < planes",
)
"""A block anywhere: no lane is idle."""


def _over_depth(window: SlidingWindow) -> Iterator[str]:
    """The loop over the window's depths; weights of a depth are scalars."""
    depth, height, width = window.size
    yield f"for tap_d in range({depth}):"
    yield f"    z = depth0 + tap_d * {window.dilation[0]}"
    yield "    is_plane = live & (z >= 0) & (z < depth)"
    plane = "x_plane" if window.kind == "depthwise" else "plane"  # the input's plane of an output's
    yield f"    start = x_ptr + ({plane} * depth + z) * height * width + row0 * width + column0"
    if window.kind == "depthwise":
        yield f"    weights = w_ptr + (channel * {depth} + tap_d) * {height * width}"
    body = _written_out(window) if window.is_written_out else _looped(window)
    yield from ("    " + line for line in body)


def _written_out(window: SlidingWindow) -> Iterator[str]:
    _, height, width = window.size
    apart = window.dilation[2]
    if window.kind == "depthwise":
        for tap in range(height * width):
            yield f"w{tap // width}_{tap % width} = tl.load(weights + {tap}).to(tl.float32)"
    for column in range(width):
        yield f"in{column} = live" if window.is_inside else f"in{column} = is_plane & {_is_column(str(column * apart))}"
    for row, uses in window.uses(window.rows).items():
        if window.is_inside:  # rows beyond the last are read again, for output rows that are not stored
            yield f"line = start + tl.minimum({row}, height - 1 - row0) * width"
        else:
            yield f"is_row = (row0 + {row} >= 0) & (row0 + {row} < height)"
            yield f"line = start + {row} * width"
        for column in range(width):
            live = f"in{column}" if window.is_inside else f"is_row & in{column}"
            loaded = f"tl.load(line + {column * apart}, mask={live}, other={window.identity})"
            yield f"x{column} = {loaded}.to(tl.float32)"
        yield from _accumulated(window, uses)


def _accumulated(window: SlidingWindow, uses: list[tuple[int, int]]) -> Iterator[str]:
    """A row's values `x0`, `x1`, … go into the output rows that it belongs to."""
    columns = range(window.size[2])
    if window.kind == "depthwise":
        for out, tap in uses:
            yield from (f"sum{out} += x{column} * w{tap}_{column}" for column in columns)
        return
    for column in columns[1:]:
        yield f"x0 = {window.combined('x0', f'x{column}')}"
    for out, _ in uses:
        yield f"sum{out} = {window.combined(f'sum{out}', 'x0')}"


def _looped(window: SlidingWindow) -> Iterator[str]:
    """For windows that are too large to be written out: a row at a time, a column at a time."""
    _, height, width = window.size
    yield f"for tap in range({height * width}):"
    yield f"    row = tap // {width} * {window.dilation[1]}"
    yield f"    column = tap % {width} * {window.dilation[2]}"
    yield f"    inside = is_plane & (row0 + row >= 0) & (row0 + row < height) & {_is_column('column')}"
    place = "start + row * width + column"
    yield f"    x0 = tl.load({place}, mask=inside, other={window.identity}).to(tl.float32)"
    if window.kind == "depthwise":
        yield "    sum0 += x0 * tl.load(weights + tap).to(tl.float32)"
    else:
        yield f"    sum0 = {window.combined('sum0', 'x0')}"


def _is_column(column: str) -> str:
    return f"(column0 + {column} >= 0) & (column0 + {column} < width)"


def _stored(window: SlidingWindow, row: int, chain: Chain | None) -> Iterator[str]:
    yield f"out_row = first + {row}"
    yield "is_out = live & (out_row < out_height)"
    if window.kind == "depthwise":
        yield "if HAS_BIAS:"
        yield f"    sum{row} += tl.load(bias_ptr + channel).to(tl.float32)"
    elif window.kind == "average":
        yield from _averaged(window, f"sum{row}")
    yield "place = ((plane * out_depth + at_d) * out_height + out_row) * out_width + at_w"
    result = f"sum{row}"
    if chain is not None:
        yield f"sums = sum{row}"
        yield from epilogue.laned(chain)
        result = chain.result
    yield f"tl.store(out_ptr + place, {result}.to(out_ptr.dtype.element_ty), mask=is_out)"


def _averaged(window: SlidingWindow, name: str) -> Iterator[str]:
    """Divide by the count of the window's places, as PyTorch counts them. Needs `out_row`, `at_w` and `at_d`."""
    if window.divisor is not None:
        yield f"{name} = {name} / {float(window.divisor)}"
        return
    if window.is_inside:
        yield f"{name} = {name} / {float(window.size[0] * window.size[1] * window.size[2])}"
        return
    axes = (("at_d", "depth"), ("out_row", "height"), ("at_w", "width"))
    for axis, (place, size) in enumerate(axes):
        length, stride, padding = window.size[axis], window.stride[axis], window.padding[axis]
        yield f"begin = {place} * {stride} - {padding}"
        yield f"end = tl.minimum(begin + {length}, {size} + {padding})"
        if not window.include_padding:
            yield "begin = tl.maximum(begin, 0)"
            yield f"end = tl.minimum(end, {size})"
        yield "count = end - begin" if axis == 0 else "count = count * (end - begin)"
    yield f"{name} = {name} / count.to(tl.float32)"


def _gathering_kernel(window: SlidingWindow) -> str:
    """Rows combined in contiguous lanes, then a lane for each window gathers its columns."""
    depth, height, width = window.size
    lines = [
        "@triton.jit",
        f"def gathered_{window.name}(",
        "    x_ptr, out_ptr, depth, height, width, out_depth, out_height, out_width,",
        "    WIDE: tl.constexpr, SPAN: tl.constexpr, LANES: tl.constexpr, BLOCK: tl.constexpr,",
        "):  # fmt: skip",
        '    """A stretch of an output row: SPAN input columns in LANES lanes, then BLOCK windows."""',
        "    block = tl.program_id(0)",
        "    if WIDE:",
        "        block = block.to(tl.int64)",
        "    blocks = tl.cdiv(out_width, BLOCK)",
        "    line = block // blocks",
        "    first = block % blocks * BLOCK",
        "    out_row = line % out_height",
        "    at_d = line // out_height % out_depth",
        "    plane = line // out_height // out_depth",
        "    lane = tl.arange(0, LANES)",
        f"    column = first * {window.stride[2]} - {window.padding[2]} + lane",
        "    live = (column >= 0) & (column < width)",
        f"    rows = tl.full((LANES,), {window.identity}, tl.float32)",
        f"    for tap in range({depth * height}):",
        f"        z = at_d * {window.stride[0]} - {window.padding[0]} + tap // {height} * {window.dilation[0]}",
        f"        row = out_row * {window.stride[1]} - {window.padding[1]} + tap % {height} * {window.dilation[1]}",
        "        lanes = tl.where((z >= 0) & (z < depth) & (row >= 0) & (row < height), SPAN, 0)",
        "        place = ((plane * depth + z) * height + row) * width + column",
        f"        x = tl.load(x_ptr + place, mask=live & (lane < lanes), other={window.identity}).to(tl.float32)",
        f"        rows = {window.combined('rows', 'x')}",
        "    windows = tl.arange(0, BLOCK)",
        f"    total = tl.gather(rows, windows * {window.stride[2]}, 0)",
    ]
    for tap in range(1, width):
        part = f"tl.gather(rows, windows * {window.stride[2]} + {tap * window.dilation[2]}, 0)"
        lines.append(f"    total = {window.combined('total', part)}")
    lines.append("    at_w = first + windows")
    if window.kind == "average":
        lines += ["    " + line for line in _averaged(window, "total")]
    lines += [
        "    place = line * out_width + at_w",
        "    tl.store(out_ptr + place, total.to(out_ptr.dtype.element_ty), mask=at_w < out_width)",
    ]
    return "\n".join(lines) + "\n"
