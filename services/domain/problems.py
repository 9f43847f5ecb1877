"""Problems: what must be computed, and what is known about it before the first candidate."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A PyTorch reference in KernelBench form. Its source is untrusted and executed only in a referee."""

    name: str
    """Short name for people, usually the file's stem."""
    source: str
    """The whole Python module: `Model`, `get_inputs`, `get_init_inputs` and the optional names of our dialect."""
    path: str = "problem.py"
    """Where the user says it came from; used in messages only, never opened."""
    allow_library: tuple[str, ...] = ()
    """Library operators a candidate may keep (`--allow-library`), in addition to the module's own `LIBRARY`."""
    objective: str = ""
    """Which figure of several input sets counts (`--objective`), in the place of the module's own `OBJECTIVE`: see
    `services.domain.objectives`. Empty for the module's."""


@dataclass(frozen=True, kw_only=True)
class TensorSpec:
    """One tensor of the traced operator graph."""

    name: str
    """The value's name in the graph."""
    shape: tuple[int, ...]
    """Sizes of the first input set."""
    dtype: str
    """torch's name without the prefix: `float32`, `int64`, `bool`."""
    contiguous: bool = True
    """Whether it is laid out row by row."""
    origin: str | None = None
    """For parameters and buffers the attribute path in the module (`norm.weight`), else None."""
    is_buffer: bool = False
    """Whether the module registers it as a buffer rather than a parameter."""
    values: tuple[bool | int | float, ...] | None = None
    """The elements in row-major order of a small lifted constant; None for everything else."""

    @property
    def elements(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    def __str__(self) -> str:
        """`x: float32[4, 8]`."""
        layout = "" if self.contiguous else " (strided)"
        return f"{self.origin or self.name}: {self.dtype}{list(self.shape)}{layout}"


@dataclass(frozen=True, kw_only=True)
class TensorForm:
    """What a compiled kernel relies on of a tensor argument, sizes apart."""

    dtype: str
    """torch's name without the prefix."""
    rank: int
    """Number of dimensions."""
    is_empty: bool = False
    """Whether it has no elements."""


ArgumentForm = TensorForm | tuple[TensorForm, ...] | None
"""Of an argument: a tensor's, those of the tensors in a nested one in their order, or None where it holds none."""
CallForm = tuple[ArgumentForm, ...]
"""Of the arguments of `forward`, in order."""


@dataclass(frozen=True, kw_only=True)
class ValueRef:
    """An operator's argument that is another value of the graph."""

    ref: str
    """The referenced value's name."""


Argument = ValueRef | bool | int | float | str | None | tuple["Argument", ...]
"""An operator's argument: a reference, a literal (dtypes as `"torch.float32"`), or a tuple of arguments."""


@dataclass(frozen=True, kw_only=True)
class Operator:
    """One call in the traced graph, in execution order."""

    target: str
    """The overload's full name, for example `aten.add.Tensor`."""
    arguments: tuple[Argument, ...]
    """Positional arguments as in the overload's schema."""
    keywords: tuple[tuple[str, Argument], ...] = ()
    """Keyword arguments as (name, value)."""
    outputs: tuple[TensorSpec, ...]
    """What it returns; several for multi-output operators."""


@dataclass(frozen=True, kw_only=True)
class SizeNumber:
    """A number of the graph that follows the inputs' sizes: tracing wrote it down as a constant."""

    operator: int
    """Index of the operator that takes it."""
    argument: int | str
    """Its position there, or its keyword."""
    factor: float
    """The number is this times the sizes, each to its exponent."""
    sizes: tuple[tuple[int, int, float], ...]
    """(input, dimension, exponent)."""


@dataclass(frozen=True, kw_only=True)
class BackwardPass:
    """What a problem with a backward pass is judged on beside its outputs, and what that costs at least."""

    gradients: tuple[str, ...]
    """Of what gradients are asked for, as people call it: inputs, then parameters."""
    cotangents: tuple[TensorSpec, ...]
    """Gradients that are handed in, one for each differentiable output; shapes of the first input set."""
    bytes_moved: int
    """Fewest bytes of the backward pass: every cotangent read and every gradient written once."""
    flops: int
    """Floating-point operations of the backward pass, estimated from the forward's."""


@dataclass(frozen=True, kw_only=True)
class ProblemAnalysis:
    """What the validating phase found out about a problem on one device."""

    family: str
    """Operator family, a key of memory: pointwise, softmax, norm, reduction, loss, scan, matmul, convolution, …"""
    inputs: tuple[TensorSpec, ...]
    """Tensor arguments of `forward`, in order."""
    scalar_inputs: tuple[tuple[int, bool | int | float | str | None], ...] = ()
    """Non-tensor arguments of `forward` as (position, value)."""
    parameters: tuple[TensorSpec, ...]
    """Parameters and buffers in order of registration; `origin` holds the attribute path."""
    operators: tuple[Operator, ...]
    """The traced graph in execution order; empty when tracing failed."""
    outputs: tuple[str, ...]
    """Names of the values that `forward` returns, in order."""
    output_is_tuple: bool = False
    """Whether `forward` returns a tuple or list rather than one tensor."""
    constants: tuple[TensorSpec, ...] = ()
    """Tensors created inside `forward` that the trace lifted out."""
    init_inputs: tuple[bool | int | float | str | tuple[int, ...] | None, ...] = ()
    """What `get_init_inputs` returned, where it is plain data."""
    bytes_moved: int
    """Fewest bytes any kernel must move: every input, parameter and output once."""
    flops: int
    """Floating-point operations of the traced graph."""
    floor_us: float
    """Roofline floor on the device: the larger of the memory and the compute bound, in microseconds."""
    size_numbers: tuple[SizeNumber, ...] = ()
    """Numbers among the operators' arguments that are functions of sizes."""
    fixed_sizes: tuple[tuple[int, int], ...] = ()
    """(input, dimension) whose other sizes make another graph, or numbers in it that could not be explained."""
    calls: tuple[CallForm, ...] = ()
    """Forms of the arguments of `forward` in all input sets, held-out ones included, each once. Empty in analyses from
    before it was recorded."""
    other_forms: tuple[ProblemAnalysis, ...] = ()
    """Of open input sets whose arguments differ from the first's in form, each form once: in number, rank, dtype, plain
    values, dimensions of size one, or sizes that the first one's graph holds for alone."""
    trace_error: str | None = None
    """Why the graph could not be traced, when it could not."""
    backward: BackwardPass | None = None
    """What is differentiated, where gradients are judged too. The graph is the forward's all the same; `bytes_moved`,
    `flops` and `floor_us` are those of both passes."""

    @property
    def subject(self) -> str:
        """What is computed on which shapes, in a line. Experiences begin with it, so that similarity is to problems,
        and those of this very problem can be told."""
        targets = " ".join(dict.fromkeys(item.target for item in self.operators))
        passes = "" if self.backward is None else f" With gradients of {', '.join(self.backward.gradients)}."
        return f"Operator family: {self.family}. {targets}. {' '.join(map(str, self.inputs))}.{passes}"
