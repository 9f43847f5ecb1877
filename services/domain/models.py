"""Whole models: where their time goes, what could be won, and how they are put together again."""

from __future__ import annotations

from dataclasses import dataclass

from services.domain.problems import ProblemAnalysis


@dataclass(frozen=True, kw_only=True)
class ModelPart:
    """A computation that was cut out of a model; it may occur in several places, with weights of their own."""

    number: int
    """Its rank, from 1."""
    name: str
    """Short name for people and files."""
    operators: tuple[str, ...]
    """Names of its operators in order, without what only views."""
    lines: tuple[int, ...]
    """Lines of the model's file that it comes from, as far as tracing tells."""
    count: int
    """Places in the model that compute it."""
    time_us: float
    """Median time of all these places together in one run of the model, operator by operator."""
    share: float
    """`time_us` over that of all operators of the model."""
    floor_us: float
    """Roofline floor of all these places together."""
    bound: str
    """`memory`, `compute` or `latency`: what the floor rests on."""
    source: str | None
    """The part as a problem in KernelBench form: weights are arguments; None where it cannot be written as one."""
    analysis: ProblemAnalysis | None
    """Of that problem."""
    note: str | None = None
    """Why there is no problem."""

    @property
    def achievable(self) -> float:
        """The part's own speedup, were it as fast as the roofline allows; never below one."""
        return max(1.0, self.time_us / max(self.floor_us, 1e-9))

    @property
    def ceiling(self) -> float:
        """The whole model's speedup, were the part that fast (Amdahl's law)."""
        return amdahl([(self.share, self.achievable)])


@dataclass(frozen=True, kw_only=True)
class StateEntry:
    """A parameter or buffer of the model."""

    path: str
    """Its attribute path: `blocks.0.norm.weight`."""
    shape: tuple[int, ...]
    dtype: str
    """torch's name without the prefix."""
    is_buffer: bool


@dataclass(frozen=True, kw_only=True)
class ModelBlock:
    """Some lines of the model's forward: one place of a part, or what no part has."""

    part: int | None
    """Number of the part that it is a place of."""
    lines: tuple[str, ...]
    """PyTorch that computes it."""
    arguments: tuple[str, ...]
    """Expressions that a kernel of the part is called with."""
    results: tuple[str, ...]
    """Names that are used after it, in the order in which the part returns them."""
    operators: tuple[str, ...]
    """PyTorch's operators that run in it: what a candidate that keeps it must be allowed."""


@dataclass(frozen=True, kw_only=True)
class ModelOutline:
    """A model as a straight sequence of blocks, so that any part can be swapped for a kernel."""

    name: str
    inputs: tuple[str, ...]
    """Arguments of forward, in order."""
    shapes: tuple[tuple[str, tuple[int, ...]], ...]
    """(argument, sizes) of those that are tensors: tracing fixed them."""
    state: tuple[StateEntry, ...]
    constants: tuple[tuple[str, str], ...]
    """(name, expression) of tensors that forward makes from numbers."""
    blocks: tuple[ModelBlock, ...]
    result: str
    """What forward returns, as an expression."""


@dataclass(frozen=True, kw_only=True)
class ModelProfile:
    """Where a model's time goes on one device."""

    name: str
    device: str
    operators: int
    """Calls of operators in one run."""
    time_us: float
    """Sum of the operators' median times."""
    eager_us: float
    """Median time of the whole model in eager mode, in the same process."""
    runs: int
    """Runs that the medians are of."""
    parts: tuple[ModelPart, ...]
    """By what they could win for the whole model, best first."""
    outline: ModelOutline

    def part(self, number: int) -> ModelPart:
        """The part of a number."""
        return self.parts[number - 1]


def amdahl(parts: list[tuple[float, float]]) -> float:
    """Speedup of a whole whose (share, speedup) parts are sped up (Amdahl's law)."""
    rest = 1.0 - sum(share for share, _ in parts)
    return 1.0 / max(rest + sum(share / speedup for share, speedup in parts), 1e-9)
