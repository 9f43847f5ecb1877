"""A candidate module from a lowered program and a schedule: C++ kernels, and Python around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agents.playbook.fusion import Kernel, group, sinks_of
from agents.playbook.loops import Nest
from agents.playbook.lowering import Program
from agents.playbook.mathlib import prelude
from agents.playbook.nodes import IndexView, Node, SizeValue, topological
from agents.playbook.schedule import Schedule
from agents.playbook.text import KernelText


@dataclass(frozen=True, kw_only=True)
class Launch:
    """One kernel call: its name and arguments in order."""

    name: str
    arguments: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Code:
    """How to call the kernels of a program."""

    launches: tuple[Launch, ...]
    buffers: tuple[tuple[str, Node], ...]
    """Tensors the caller allocates, by name: outputs `o…`, temporaries `b…`."""
    results: tuple[str, ...]
    """For every output of the program, the buffer that holds it."""


class _Memory:
    """Which nodes live in memory, and under which names."""

    def __init__(self, program: Program, sinks: Sequence[Node]) -> None:
        outputs = {id(node): f"o{number}" for number, node in enumerate(program.outputs)}
        self.names: dict[int, str] = {}
        for number, sink in enumerate(sinks):
            self.names[id(sink)] = outputs.get(id(sink), f"b{number}")
        self.nodes = {self.names[id(sink)]: sink for sink in sinks}
        self.results = tuple(outputs[id(node)] for node in program.outputs)

    def needed(self, kernels: Sequence[Kernel]) -> set[int]:
        """Sinks that must be written: outputs, and what another kernel reads."""
        outside = {key for key, name in self.names.items() if name.startswith("o")}
        for kernel in kernels:
            own = {id(sink) for sink in kernel.sinks}
            outside |= {key for sink in kernel.sinks for key in self._read_by(sink, own)}
        return outside

    def _read_by(self, sink: Node, own: set[int]) -> set[int]:
        """Materialised nodes that a sink's expression reaches, without looking behind them."""
        found: set[int] = set()
        stack = list(sink.arguments)
        while stack:
            node = stack.pop()
            if id(node) in self.names and id(node) not in own:
                found.add(id(node))
            else:
                stack += node.arguments
        return found


def generate(programs: Sequence[Program], schedule: Schedule) -> tuple[str, tuple[Code, ...]]:
    """The C++ of programs as one source. Raises `NoTemplateError` when some value cannot be made."""
    texts: list[str] = []
    codes = tuple([_kernels(program, schedule, texts) for program in programs])
    body = "\n".join(texts) + "\n"
    return prelude(body, fast=schedule.lanes > 0, wide=schedule.wide) + body, codes


def _kernels(program: Program, schedule: Schedule, texts: list[str]) -> Code:
    """Adds a program's kernels to the texts."""
    first = sum(line.startswith('extern "C"') for line in texts)
    sinks = sinks_of(program.outputs, fuse=schedule.fuse)
    memory = _Memory(program, sinks)
    everything: dict[int, tuple[str, ...]] = {id(sink): (memory.names[id(sink)],) for sink in sinks}
    kernels = group(sinks, lambda kernel: _try(kernel, schedule, memory, everything), fuse=schedule.fuse)
    needed = memory.needed(kernels)
    stored = {key: names for key, names in everything.items() if key in needed}
    launches: list[Launch] = []
    for number, kernel in enumerate(kernels, start=first):
        symbols = _symbols(kernel)
        text = KernelText(Nest(kernel, schedule, memory.names, stored), f"kernel_{number}", symbols)
        texts += ["", *text.lines()]
        launches.append(Launch(name=text.name, arguments=(*sorted(text.tensors), *sorted(symbols))))
    used = {name for key in needed for name in everything[key]}
    buffers = tuple((name, node) for name, node in memory.nodes.items() if name in used)
    return Code(launches=tuple(launches), buffers=buffers, results=memory.results)


def _try(kernel: Kernel, schedule: Schedule, memory: _Memory, stored: dict[int, tuple[str, ...]]) -> None:
    """Whether a kernel can be written. Raises `NotLocalError`."""
    KernelText(Nest(kernel, schedule, memory.names, stored), "trial", frozenset()).lines()


def _symbols(kernel: Kernel) -> frozenset[str]:
    """Every size that the kernel's text can mention."""
    found: set[str] = set()
    for node in topological(kernel.sinks):
        for size in node.shape:
            found |= size.atoms
        if isinstance(node, SizeValue):
            found |= node.size.atoms
        if isinstance(node, IndexView):
            found |= {atom for formula in node.formulas for atom in formula.atoms if "@" not in atom}
    return frozenset(found)
