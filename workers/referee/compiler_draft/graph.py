"""What the compiler said about a problem: its output for one set of sizes, and what the inputs of that code are."""

from __future__ import annotations

from dataclasses import dataclass, field


class NoDraftError(Exception):
    """There is no draft, and why: a sentence without its full stop."""


@dataclass(frozen=True, kw_only=True)
class TensorArgument:
    """A tensor argument of `forward` as it was when the compiler looked."""

    name: str
    """Its name in `forward`."""
    dtype: str
    """torch's name without the prefix."""
    shape: tuple[int, ...]
    stride: tuple[int, ...]

    @property
    def contiguous(self) -> bool:
        """Whether it lies row by row."""
        expected = 1
        for size, stride in zip(reversed(self.shape), reversed(self.stride), strict=True):
            if size not in (0, 1) and stride != expected:
                return False
            expected *= size
        return True


@dataclass(frozen=True, kw_only=True)
class StateTensor:
    """A parameter or buffer of the model."""

    path: str
    """Dotted, as in `norm.weight`."""
    dtype: str
    shape: tuple[int, ...]
    is_buffer: bool


@dataclass(frozen=True, kw_only=True)
class KernelConfig:
    """How the compiler would launch a Triton kernel."""

    blocks: dict[str, int]
    """Values of its constants: `XBLOCK`, `R0_BLOCK`, …"""
    warps: int
    stages: int


@dataclass(frozen=True, kw_only=True)
class CompiledGraph:
    """The compiler's output for one set of sizes, or for any."""

    code: str
    """The Python module that it wrote."""
    inputs: tuple[str, ...]
    """What each argument of its `call` is, `x`, `x.size(0)`, or `self@norm.weight` for the model's state."""
    arguments: tuple[TensorArgument, ...]
    """Tensor arguments of `forward` that it was compiled for."""
    scalars: tuple[tuple[str, bool | int | float | str | None], ...] = ()
    """Other arguments of `forward`, whose values are compiled in, as (name, value)."""
    dynamic: bool = False
    """Whether sizes are symbols."""
    symbols: tuple[tuple[str, str], ...] = ()
    """Symbols of sizes and the expressions that give them."""
    guards: tuple[str, ...] = ()
    """Conditions over the symbols under which the code is right."""
    configs: dict[str, tuple[KernelConfig, ...]] = field(default_factory=dict)
    """Configurations by kernel, best first."""
    picked: dict[str, str] = field(default_factory=dict)
    """Which kernel was the fastest, by the name of a choice between several."""


@dataclass(frozen=True, kw_only=True)
class DraftedProblem:
    """All that a draft is written from."""

    name: str
    compiler: str
    """Its name and version."""
    device: str
    """`cpu` or `cuda`."""
    parameters: tuple[str, ...]
    """Names of `forward`'s arguments in order."""
    state: tuple[StateTensor, ...]
    returns_tuple: bool
    graphs: tuple[CompiledGraph, ...]
    """One for each of the known sizes, and last the one for any size, where there is one."""
    library: frozenset[str] = frozenset()
    """Library operators that problem or job allow."""
    vector_macros: tuple[str, ...] = ()
    """For C++: what torch's vector classes are chosen by, such as `CPU_CAPABILITY_AVX2`; empty without."""
