"""What a problem is made of: its operator graph, bytes, FLOPs and roofline floor.

The graph comes from `torch.export`, functionalised but not decomposed, so that `aten.layer_norm`, `aten.softmax`,
`aten.cross_entropy_loss` stay recognisable. A graph that cannot be traced is reported in `trace_error`, never raised:
the problem can still be judged, and a chat model can still solve it from its source.
"""

from __future__ import annotations

import contextlib
import logging
import operator
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from services.domain.problems import Argument, Operator, ProblemAnalysis, TensorSpec, ValueRef
from workers.ipc.sparse import is_sparse, parts_of
from workers.referee.costs.operator_costs import base_name, family_of, flops_of
from workers.referee.costs.roofline import bandwidth_gb_s
from workers.referee.costs.size_numbers import with_fixed_sizes, with_size_numbers
from workers.referee.costs.time_limit import CpuTime, CpuTimeError

CONSTANT_LIMIT = 4096
TAKING = frozenset({"embedding", "gather", "index", "index_select", "narrow", "select", "slice", "take"})
"""Operators that read of their first argument what they return."""
PICKING = frozenset({"nll_loss", "nll_loss2d", "nll_loss_nd"})
"""Operators that read one element of their first argument for each of the second."""
"""Lifted constants of at most so many elements are reported with their values."""


class UntraceableError(Exception):
    """The graph holds something that an `Operator` cannot express."""


def analyse(
    module: nn.Module,
    inputs: Sequence[object],
    init_inputs: Sequence[object],
    *,
    copy_bandwidth_gb_s: float,
    peak_gflop_s: float,
    cache_bandwidth_gb_s: float | None = None,
    cache_bytes: int = 0,
    size_numbers: bool = True,
    limit: CpuTime | None = None,
) -> ProblemAnalysis:
    """Analyse `module(*inputs)`.

    `inputs` are what `get_inputs` returned, `init_inputs` what the module was built with; the bandwidths (GB/s), fp32
    rate (GFLOP/s) and size of the last-level cache come from the device's sheet; without a cache bandwidth every
    working set is taken to come from memory. `size_numbers` false saves the traces with other sizes that show which
    numbers follow from sizes. What is not traced within the `limit` is not traced: there is no graph then, or it holds
    for these sizes only. The module is not changed. Never raises for what the module does.
    """
    rates = _Rates(copy_bandwidth_gb_s, cache_bandwidth_gb_s, cache_bytes, peak_gflop_s)
    limiting = contextlib.nullcontext if limit is None else limit.limiting
    try:
        with limiting():
            found = _traced(module, inputs, init_inputs, rates)
        if not size_numbers:
            return found
        try:
            with limiting():
                return _numbered(found, module, inputs)
        except CpuTimeError:
            return with_fixed_sizes(found, inputs)
    except Exception as error:  # noqa: BLE001 - torch.export raises anything; the reason is the result
        return _untraced(module, inputs, init_inputs, rates, error)


@dataclass(frozen=True)
class _Rates:
    """What the device's sheet says."""

    copy_gb_s: float
    cache_gb_s: float | None
    cache_bytes: int
    peak_gflop_s: float

    def floor_us(self, moved: int, flops: int) -> float:
        """GB/s are thousands of bytes a microsecond, and GFLOP/s thousands of operations."""
        bandwidth = bandwidth_gb_s(
            moved, copy_gb_s=self.copy_gb_s, cache_gb_s=self.cache_gb_s, cache_bytes=self.cache_bytes
        )
        return max(moved / (bandwidth * 1e3), flops / (self.peak_gflop_s * 1e3))


def _traced(
    module: nn.Module, inputs: Sequence[object], init_inputs: Sequence[object], rates: _Rates
) -> ProblemAnalysis:
    if any(isinstance(value, torch.Tensor) and is_sparse(value) for value in inputs):
        raise UntraceableError("the graph takes a sparse tensor as input")
    program = exported(module, inputs)
    names = _PlaceholderNames(program)
    operators = tuple(_operators(program.graph))
    outputs, is_tuple = _outputs(program)
    tensors = tuple(
        _spec(names.user_inputs[index], value) for index, value in enumerate(inputs) if isinstance(value, torch.Tensor)
    )
    parameters = _parameters(module, names)
    moved = _bytes_moved(tensors + parameters, operators, outputs)
    flops = sum(flops_of(item, _shapes(operators, tensors + parameters)) for item in operators)
    return ProblemAnalysis(
        family=family_of(operators),
        inputs=tensors,
        scalar_inputs=_scalars(inputs),
        parameters=parameters,
        operators=operators,
        outputs=outputs,
        output_is_tuple=is_tuple,
        constants=tuple(_constants(program, names)),
        init_inputs=_plain(init_inputs),
        bytes_moved=moved,
        flops=flops,
        floor_us=rates.floor_us(moved, flops),
    )


def _numbered(analysis: ProblemAnalysis, module: nn.Module, inputs: Sequence[object]) -> ProblemAnalysis:
    return with_size_numbers(analysis, inputs, lambda other: tuple(_operators(exported(module, other).graph)))


def _untraced(
    module: nn.Module, inputs: Sequence[object], init_inputs: Sequence[object], rates: _Rates, error: Exception
) -> ProblemAnalysis:
    tensors = tuple(
        _spec(f"input_{index}{part}", tensor)
        for index, value in enumerate(inputs)
        if isinstance(value, torch.Tensor)
        for part, tensor in _parts(value)
    )
    parameters = _parameters(module, None)
    moved = sum(_bytes(spec) for spec in tensors + parameters)
    reason = str(error).strip().splitlines()
    return ProblemAnalysis(
        family="unknown",
        inputs=tensors,
        scalar_inputs=_scalars(inputs),
        parameters=parameters,
        operators=(),
        outputs=(),
        init_inputs=_plain(init_inputs),
        bytes_moved=moved,
        flops=0,
        floor_us=rates.floor_us(moved, 0),
        trace_error=f"{type(error).__name__}: {reason[0] if reason else 'no message'}"[:500],
    )


def _parts(value: torch.Tensor) -> list[tuple[str, torch.Tensor]]:
    """A dense tensor, or the named parts of a sparse one."""
    if not is_sparse(value):
        return [("", value)]
    parts = parts_of(value)
    names = ("indices", "values") if len(parts) == 2 else ("starts", "indices", "values")
    return [(f"_{name}", part) for name, part in zip(names, parts, strict=True)]


def exported(module: nn.Module, inputs: Sequence[object]) -> Any:
    """The exported program, functional, composite operators kept. Raises whatever torch.export raises."""
    level = logging.getLogger("torch").level
    logging.getLogger("torch").setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            program = torch.export.export(module, tuple(inputs), strict=False)
            return program.run_decompositions({})
    finally:
        logging.getLogger("torch").setLevel(level)


class _PlaceholderNames:
    """What the program's placeholders stand for."""

    def __init__(self, program: Any) -> None:
        self.user_inputs: dict[int, str] = {}
        self.attributes: dict[str, str] = {}
        self.constants: dict[str, str] = {}
        for spec in program.graph_signature.input_specs:
            kind = spec.kind.name
            if kind == "USER_INPUT":
                self.user_inputs[len(self.user_inputs)] = spec.arg.name
            elif kind in {"PARAMETER", "BUFFER"}:
                self.attributes[spec.target] = spec.arg.name
            elif kind == "CONSTANT_TENSOR":
                self.constants[spec.arg.name] = spec.target
            else:
                raise UntraceableError(f"the graph takes a {kind.lower()} as input")


def _operators(graph: Any) -> Iterable[Operator]:
    """Every call that returns tensors, in order; `getitem` on a multi-output operator is resolved by `_argument`."""
    for node in graph.nodes:
        if node.op != "call_function" or node.target is operator.getitem:
            continue
        if not isinstance(node.target, torch._ops.OpOverload):
            raise UntraceableError(f"the graph calls {node.target}")
        if not node.users and node.target._schema.is_mutable:
            raise UntraceableError(f"{node.target} changes its argument in place")
        if str(node.target).startswith("aten._assert"):
            continue
        yield Operator(
            target=str(node.target),
            arguments=tuple(_argument(item) for item in node.args),
            keywords=tuple((key, _argument(item)) for key, item in node.kwargs.items()),
            outputs=tuple(_node_outputs(node)),
        )


def _node_outputs(node: Any) -> Iterable[TensorSpec]:
    value = node.meta.get("val")
    if isinstance(value, torch.Tensor):
        yield _spec(node.name, value)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            if isinstance(item, torch.Tensor):
                yield _spec(f"{node.name}.{index}", item)
    else:
        raise UntraceableError(f"{node.target} returns {type(value).__name__}, not a tensor")


def _argument(value: Any) -> Argument:
    if isinstance(value, torch.fx.Node):
        return ValueRef(ref=_value_name(value))
    if isinstance(value, list | tuple):
        return tuple(_argument(item) for item in value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, torch.dtype | torch.device | torch.layout | torch.memory_format):
        return str(value)
    raise UntraceableError(f"an operator takes a {type(value).__name__}")


def _value_name(node: Any) -> str:
    """A node's name; for an item of a multi-output operator `name.index`."""
    if node.target is operator.getitem:
        source, index = node.args
        return f"{_value_name(source)}.{index}"
    return str(node.name)


def _outputs(program: Any) -> tuple[tuple[str, ...], bool]:
    specs = program.graph_signature.output_specs
    nodes = program.graph.output_node().args[0]
    if any(spec.kind.name not in {"USER_OUTPUT", "BUFFER_MUTATION"} for spec in specs):
        raise UntraceableError("the module changes its inputs")
    mutated = [spec.target for spec in specs if spec.kind.name == "BUFFER_MUTATION"]
    if mutated:
        raise UntraceableError(f"forward changes the buffer {mutated[0]} (put the module in eval mode)")
    if any(not isinstance(node, torch.fx.Node) for node in nodes):
        raise UntraceableError("forward returns something that is not a tensor")
    spec = program.call_spec.out_spec
    return tuple(_value_name(node) for node in nodes), spec is not None and spec.type in {tuple, list}


def _parameters(module: nn.Module, names: _PlaceholderNames | None) -> tuple[TensorSpec, ...]:
    found: list[TensorSpec] = []
    groups = ((False, module.named_parameters()), (True, module.named_buffers()))
    for is_buffer, group in groups:
        for path, value in group:
            name = path if names is None else names.attributes.get(path, path)
            found.append(_spec(name, value, origin=path, is_buffer=is_buffer))
    return tuple(found)


def _constants(program: Any, names: _PlaceholderNames) -> Iterable[TensorSpec]:
    for name, target in names.constants.items():
        value = program.constants[target]
        small = value.numel() <= CONSTANT_LIMIT
        yield _spec(name, value, values=tuple(value.flatten().tolist()) if small else None)


def _spec(
    name: str,
    value: torch.Tensor,
    *,
    origin: str | None = None,
    is_buffer: bool = False,
    values: tuple[bool | int | float, ...] | None = None,
) -> TensorSpec:
    return TensorSpec(
        name=name,
        shape=tuple(int(size) for size in value.shape),
        dtype=str(value.dtype).removeprefix("torch."),
        contiguous=value.is_contiguous(),
        origin=origin,
        is_buffer=is_buffer,
        values=values,
    )


def _scalars(inputs: Sequence[object]) -> tuple[tuple[int, bool | int | float | str | None], ...]:
    return tuple(
        (index, value)
        for index, value in enumerate(inputs)
        if value is None or isinstance(value, bool | int | float | str)
    )


def _plain(values: Sequence[object]) -> tuple[bool | int | float | str | tuple[int, ...] | None, ...]:
    """The init inputs, or nothing when one of them is not plain data."""
    plain: list[bool | int | float | str | tuple[int, ...] | None] = []
    for value in values:
        if isinstance(value, list | tuple | torch.Size) and all(isinstance(item, int) for item in value):
            plain.append(tuple(int(item) for item in value))
        elif value is None or isinstance(value, bool | int | float | str):
            plain.append(value)
        else:
            return ()
    return tuple(plain)


def _shapes(operators: Sequence[Operator], tensors: Sequence[TensorSpec]) -> dict[str, tuple[int, ...]]:
    shapes = {spec.name: spec.shape for spec in tensors}
    shapes.update({spec.name: spec.shape for item in operators for spec in item.outputs})
    return shapes


def _bytes_moved(tensors: Sequence[TensorSpec], operators: Sequence[Operator], outputs: Sequence[str]) -> int:
    """Bytes of every tensor that the graph reads, once, plus every output. Of a table, what is taken from it."""
    used = set(outputs)
    taken: dict[str, int] = {}
    known = {spec.name: spec for spec in (*tensors, *(spec for item in operators for spec in item.outputs))}
    for item in operators:
        references = set(_references(item.arguments)) | set(_references(tuple(value for _, value in item.keywords)))
        table = item.arguments[0] if item.arguments and base_name(item.target) in TAKING | PICKING else None
        if isinstance(table, ValueRef):
            taken[table.ref] = taken.get(table.ref, 0) + _taken(item, known)
            references -= {table.ref} - set(_references(item.arguments[1:]))
        used |= references
    results = {spec.name: spec for item in operators for spec in item.outputs}
    read = sum(_bytes(spec) for spec in tensors if spec.name in used)
    read += sum(min(_bytes(spec), taken.get(spec.name, 0)) for spec in tensors if spec.name not in used)
    return read + sum(_bytes(results[name]) for name in set(outputs) if name in results)


def _taken(item: Operator, known: Mapping[str, TensorSpec]) -> int:
    """Bytes that an operator reads of its table."""
    table, labels = item.arguments[0], item.arguments[1] if len(item.arguments) > 1 else None
    if base_name(item.target) not in PICKING or not isinstance(labels, ValueRef) or not isinstance(table, ValueRef):
        return sum(_bytes(spec) for spec in item.outputs)
    if table.ref not in known or labels.ref not in known:
        return 0
    return known[labels.ref].elements * int(getattr(torch, known[table.ref].dtype).itemsize)


def _references(arguments: Iterable[Argument]) -> Iterable[str]:
    for item in arguments:
        if isinstance(item, ValueRef):
            yield item.ref
        elif isinstance(item, tuple):
            yield from _references(item)


def _bytes(spec: TensorSpec) -> int:
    dtype = getattr(torch, spec.dtype)
    return spec.elements * int(dtype.itemsize)
