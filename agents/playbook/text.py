"""C++ text of one kernel, from its nest: sweeps, vector loops, parallel loops."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agents.playbook.accumulate import Accumulator
from agents.playbook.expressions import INNER, LANE, ROW, memory_type, offset
from agents.playbook.loops import Loop, Nest, Pass
from agents.playbook.nodes import Node, Scan
from agents.playbook.sizes import Poly, symbol
from agents.playbook.statements import Sweep, block, head, single, store

PARALLEL_FROM = 32768
"""Elements below which starting threads costs more than it saves."""


class KernelText:
    """Writes one kernel."""

    def __init__(self, nest: Nest, name: str, symbols: frozenset[str]) -> None:
        self.nest = nest
        self.name = name
        self.symbols = symbols
        self.schedule = nest.schedule
        self.scan = any(isinstance(sink, Scan) for sink in nest.kernel.sinks)
        self.lanes = 0 if self.scan and nest.mode != "column" else self.schedule.lanes
        self.tensors: dict[str, str] = {}
        """Memory types of the tensors it takes, by name."""
        self.outputs: set[str] = set()
        self.streamed = False
        """Whether anything is written past the cache."""
        nest.keep_values()

    def lines(self) -> list[str]:
        """The whole function; fills `tensors` and `outputs`."""
        write = {"map": self._map, "row": self._row, "full": self._full, "column": self._column}[self.nest.mode]
        body = write()
        for name, node in self.nest.expressions.used.items():
            self.tensors.setdefault(name, memory_type(node.dtype))
        arguments = [
            f"{'' if name in self.outputs else 'const '}{kind}* __restrict {name}"
            for name, kind in sorted(self.tensors.items())
        ]
        arguments += [f"int64_t {name}" for name in sorted(self.symbols)]
        return block(f'extern "C" void {self.name}({", ".join(arguments)})', body)

    def sweep(self, item: Pass) -> Sweep:
        """Emit one pass's expressions."""
        nest, expressions = self.nest, self.nest.expressions
        result = Sweep(row=[], lane=[], inner=[])
        for scan in item.scans:
            value = expressions.value(scan.arg, nest.root)
            accumulator = Accumulator.make(scan, nest.number(), nest.mode)
            suffix = "[l]" if nest.mode == "column" else ""
            expressions.lines[INNER].append(accumulator.update("c", suffix, value.text, ""))
            nest.accumulators[id(scan)] = accumulator
            result.scans.append((accumulator, scan.reverse))
        for reduction in item.reductions:
            value = expressions.value(reduction.arg, nest.root)
            result.updates.append((Accumulator.make(reduction, nest.number(), nest.mode), value.text))
        for sink in item.stores:
            self._store(sink, result)
        for reduction, (accumulator, _) in zip(item.reductions, result.updates, strict=True):
            nest.accumulators[id(reduction)] = accumulator
        result.row, result.lane, result.inner = (expressions.take(level) for level in (ROW, LANE, INNER))
        expressions.end_pass()
        nest.end_pass(item)
        return result

    def _store(self, sink: Node, result: Sweep) -> None:
        nest = self.nest
        index = nest.index(sink)
        value = nest.expressions.value(sink, index)
        position = offset(sink, index)
        level = max(value.level, nest.expressions.level(position.c()))
        for name in nest.stored[id(sink)]:
            kind = memory_type(sink.dtype)
            self.tensors[name] = kind
            self.outputs.add(name)
            text = store(name, position, value.text, kind)
            if level == INNER:
                result.stores.append((name, position, value.text, kind))
            else:
                (result.lane_stores if level == LANE else result.row_stores).append(text)

    # -- loops over elements -----------------------------------------------------------------------------------

    def element_loops(self, sweep: Sweep, loops: Sequence[Loop], bounds: tuple[str, str] | None = None) -> list[str]:
        """All loops of a sweep; `bounds` replaces the first one's range."""
        first, last = loops[0], loops[-1]
        low, high = bounds or ("0", first.extent.c())
        if first is last:
            return self.vector_loop(sweep, last, low, high)
        lines = self.vector_loop(sweep, last, "0", last.extent.c())
        for loop in reversed(loops[:-1]):
            start, end = (low, high) if loop is first else ("0", loop.extent.c())
            lines = block(f"for (int64_t {loop.name} = {start}; {loop.name} < {end}; ++{loop.name})", lines)
        return lines

    def vector_loop(self, sweep: Sweep, loop: Loop, low: str, high: str) -> list[str]:
        """The innermost loop: scalar, or in blocks of lanes with a scalar tail."""
        name = loop.name
        if self.lanes == 0:
            return self._scalar_loop(sweep, loop, low, high)
        streams = {item[0]: number for number, item in enumerate(sweep.stores) if self._streams(item, loop)}
        self.streamed = self.streamed or bool(streams)
        declared = [f"alignas(64) {item[3]} s{streams[item[0]]}[W];" for item in sweep.stores if item[0] in streams]
        element = [f"const int64_t {name} = {name}b + l;", *sweep.inner]
        tail = [f"const int l = (int)({name} - {name}b); (void)l;", *sweep.inner]
        for item in sweep.stores:
            plain = store(*item)
            element.append(f"s{streams[item[0]]}[l] = {item[2]};" if item[0] in streams else plain)
            tail.append(plain)
        updates = [item.update("a", "[l]", value, name) for item, value in sweep.updates]
        base = {name: symbol(f"{name}b")}
        flush = [
            f"kw_stream<W>(&{item[0]}[{item[1].substitute(base).c()}], s{streams[item[0]]});"
            for item in sweep.stores
            if item[0] in streams
        ]
        ahead = self._prefetches(loop, base)
        vector = ["#pragma omp simd", *block("for (int l = 0; l < W; ++l)", element + updates)]
        blocks = [
            f"int64_t {name}b = {name}c;",
            *block(f"for (; {name}b + W <= {name}e; {name}b += W)", [*declared, *ahead, *vector, *flush]),
        ]
        if not self._divides(loop, low, high):
            blocks += block(f"for (int64_t {name} = {name}b; {name} < {name}e; ++{name})", tail + updates)
        return self._chunks(sweep, name, low, high, blocks)

    def _divides(self, loop: Loop, low: str, high: str) -> bool:
        """Whether lanes are known to leave nothing over: GCC warns about a remainder loop that never runs."""
        size = loop.extent.constant
        return (low, high) == ("0", loop.extent.c()) and size is not None and size % self.lanes == 0

    def _chunks(self, sweep: Sweep, name: str, low: str, high: str, blocks: list[str]) -> list[str]:
        """With reductions, lanes are added into the totals every `chunk` vectors, so that rounding stays small."""
        if not sweep.updates:
            return [f"const int64_t {name}c = {low}, {name}e = {high};", *blocks]
        fresh = [line for item, _ in sweep.updates for line in item.declare("a", "W")]
        step = f"(int64_t)W * {self.schedule.chunk}"
        return block(
            f"for (int64_t {name}c = {low}; {name}c < {high}; {name}c += {step})",
            [
                f"const int64_t {name}e = kw_least({high}, {name}c + {step});",
                *fresh,
                *blocks,
                *(item.gather() for item, _ in sweep.updates),
            ],
        )

    def _scalar_loop(self, sweep: Sweep, loop: Loop, low: str, high: str) -> list[str]:
        name = loop.name
        body = [*sweep.inner, *(store(*item) for item in sweep.stores)]
        body += [item.update("r", "", value, name) for item, value in sweep.updates]
        if any(reverse for _, reverse in sweep.scans):
            head = f"for (int64_t {name} = {high} - 1; {name} >= {low}; --{name})"
        else:
            head = f"for (int64_t {name} = {low}; {name} < {high}; ++{name})"
        return block(head, body)

    def _streams(self, item: tuple[str, Poly, str, str], loop: Loop) -> bool:
        name, position, _, kind = item
        aligned = kind in {"float", "double"} and name.startswith("o")
        return self.schedule.stream and aligned and position.coefficient(loop.name).constant == 1

    def _prefetches(self, loop: Loop, base: dict[str, Poly]) -> list[str]:
        ahead = self.schedule.prefetch
        if not ahead:
            return []
        positions = sorted(
            {
                (name, access)
                for name, access in self.nest.expressions.reads
                if access.coefficient(loop.name).constant == 1 and not re.search(r"\bt\d", access.c())
            },
            key=lambda item: (item[0], item[1].c()),
        )
        return [
            f"for (int k = 0; k < W; k += 16) __builtin_prefetch(&{name}[{access.substitute(base).c()} + k + {ahead}]);"
            for name, access in positions
        ]

    # -- modes -------------------------------------------------------------------------------------------------

    def _map(self) -> list[str]:
        """No reductions: pieces of the last dimension in parallel."""
        nest = self.nest
        sweeps = [self.sweep(item) for item in nest.passes]
        row = [line for sweep in sweeps for line in sweep.row]
        rows = [line for sweep in sweeps for line in sweep.row_stores]
        loop = nest.vector
        if loop is None:
            body = [line for sweep in sweeps for line in (*sweep.inner, *(store(*item) for item in sweep.stores))]
            updates = [line for sweep in sweeps for item, value in sweep.updates for line in single(item, value)]
            return self._constants() + row + body + updates + rows
        sweep = sweeps[0]
        name, tile = loop.name, self.schedule.tile
        bounds = [f"const int64_t {name}h = kw_least({loop.extent.c()}, {name}t + {tile});"]
        body = [*bounds, *row, *self.vector_loop(sweep, loop, f"{name}t", f"{name}h")]
        heads = [head(item) for item in nest.outer]
        heads.append(f"for (int64_t {name}t = 0; {name}t < {loop.extent.c()}; {name}t += {tile})")
        return self._constants() + self.parallel(heads, body)

    def _row(self) -> list[str]:
        """Rows in parallel, each swept as often as its reductions ask."""
        nest = self.nest
        body: list[str] = []
        for item in nest.passes:
            sweep = self.sweep(item)
            body += sweep.row
            if sweep.loops:
                body += [line for update, _ in sweep.updates for line in update.declare("r")]
                body += [line for scan, _ in sweep.scans for line in scan.declare("c")]
                body += block("", self.element_loops(sweep, nest.inner))
            body += sweep.row_stores
        keep = [
            f"const kw_row {name}_({nest.inner[0].extent.c()}); float* const __restrict {name} = {name}_.values;"
            for name in nest.kept.values()
        ]
        return self._constants() + self.parallel([head(loop) for loop in nest.outer], body, keep)

    def _full(self) -> list[str]:
        """Everything reduced: parts in parallel, their totals combined in order."""
        nest = self.nest
        first = nest.inner[0]
        lines = self._constants()
        for item in nest.passes:
            sweep = self.sweep(item)
            lines += sweep.row
            if sweep.loops:
                lines += self._parts(sweep, first)
            lines += sweep.row_stores
        return lines

    def _parts(self, sweep: Sweep, first: Loop) -> list[str]:
        extent = first.extent.c()
        updates = [item for item, _ in sweep.updates]
        count = f"kw_pieces({self.nest.work.c()} / {self.schedule.tile}, {extent})"
        parts = "1" if self.schedule.threads == 1 else count
        lines = [line for item in updates for line in item.declare("r")]
        share = [f"{item.total} q{item.number}[256];" for item in updates]
        share += [f"int64_t qx{item.number}[256];" for item in updates if item.is_arg]
        save = [f"q{item.number}[part] = r{item.number};" for item in updates]
        save += [f"qx{item.number}[part] = rx{item.number};" for item in updates if item.is_arg]
        loops = self.element_loops(sweep, self.nest.inner, ("low", "high"))
        body = [
            f"const int64_t low = {extent} * part / parts, high = {extent} * (part + 1) / parts;",
            *lines,
            *block("", loops),
            *save,
        ]
        merge = [item.merge("", "part", "q") for item in updates]
        inner = [
            f"const int64_t parts = {parts};",
            *share,
            *self.parallel(["for (int64_t part = 0; part < parts; ++part)"], body),
            *block("for (int64_t part = 0; part < parts; ++part)", merge),
        ]
        return [*lines, *block("", inner)]

    def _column(self) -> list[str]:
        """Neighbouring columns together: every lane has its own accumulators."""
        nest = self.nest
        loop = nest.vector
        assert loop is not None
        body: list[str] = []
        for item in nest.passes:
            sweep = self.sweep(item)
            body += sweep.row
            if sweep.lane:
                body += self._lane_loop(loop, sweep.lane)
            if sweep.loops:
                body += self._column_sweep(sweep, loop)
            if sweep.lane_stores:
                body += self._lane_loop(loop, sweep.lane_stores)
            body += sweep.row_stores
        width = self.schedule.interleave if self._jams(loop) else self.schedule.columns
        name, extent = loop.name, loop.extent.c()
        piece = [
            f"constexpr int W = {width};",
            *block(
                "auto columns = [&](auto lanes) __attribute__((always_inline))",
                [*nest.expressions.arrays, *body],
            )[:-1],
            "};",
            f"if ({extent} - {name}b >= W) columns(kw_constant<W>{{}});",
            f"else columns((int)({extent} - {name}b));",
        ]
        heads = [head(item) for item in nest.outer]
        heads.append(f"for (int64_t {name}b = 0; {name}b < {extent}; {name}b += {width})")
        return self.parallel(heads, piece)

    def _jams(self, loop: Loop) -> bool:
        """Whether lanes are rows of a scan rather than neighbouring columns."""
        return self.scan and loop.dim < self.nest.inner[-1].dim

    def _lane_loop(self, loop: Loop, lines: Sequence[str]) -> list[str]:
        hint = "#pragma GCC unroll 16" if self._jams(loop) else "#pragma omp simd"
        if self.schedule.lanes == 0:
            hint = ""
        own = [f"const int64_t {loop.name} = {loop.name}b + l;", *lines]
        return [*([hint] if hint else []), *block("for (int l = 0; l < lanes; ++l)", own)]

    def _column_sweep(self, sweep: Sweep, loop: Loop) -> list[str]:
        nest = self.nest
        inner = [*sweep.inner, *(store(*item) for item in sweep.stores)]
        inner += [item.update("a", "[l]", value, nest.inner[-1].name) for item, value in sweep.updates]
        lines = self._lane_loop(loop, inner)
        last = nest.inner[-1]
        name, extent = last.name, last.extent.c()
        if sweep.updates:
            step = str(self.schedule.chunk)
            fresh = [line for item, _ in sweep.updates for line in item.declare("a", "W")]
            merges = " ".join(item.merge("[l]") for item, _ in sweep.updates)
            end = f"kw_least({extent}, {name}c + {step})"
            chunk = [
                *fresh,
                *block(f"for (int64_t {name} = {name}c; {name} < {end}; ++{name})", lines),
                f"for (int l = 0; l < lanes; ++l) {{ {merges} }}",
            ]
            lines = block(f"for (int64_t {name}c = 0; {name}c < {extent}; {name}c += {step})", chunk)
        elif any(reverse for _, reverse in sweep.scans):
            lines = block(f"for (int64_t {name} = {extent} - 1; {name} >= 0; --{name})", lines)
        else:
            lines = block(head(last), lines)
        for other in reversed(nest.inner[:-1]):
            lines = block(head(other), lines)
        totals = [line for item, _ in sweep.updates for line in item.declare("r", "W")]
        totals += [line for item, _ in sweep.scans for line in item.declare("c", "W")]
        return [*totals, *lines]

    def _constants(self) -> list[str]:
        return [f"constexpr int W = {self.lanes};"] if self.lanes else []

    def parallel(self, heads: Sequence[str], body: Sequence[str], before: Sequence[str] = ()) -> list[str]:
        """Loops over independent work, spread over threads when the schedule says so and the work is worth it."""
        fence = ["kw_fence();"] if self.streamed else []
        lines = list(body)
        for text in reversed(heads):
            lines = block(text, lines)
        if self.schedule.threads == 1 or not heads:
            return [*before, *lines, *fence]
        collapse = f" collapse({len(heads)})" if len(heads) > 1 else ""
        count = f" num_threads({self.schedule.threads})" if self.schedule.threads else ""
        large = f" if ({self.nest.work.c()} >= {PARALLEL_FROM})"
        loop = [f"#pragma omp for{collapse} schedule(static)", *lines]
        return [f"#pragma omp parallel{count}{large}", *block("", [*before, *loop, *fence])]
