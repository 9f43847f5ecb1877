"""Why a candidate is as fast as it is: roofline, counters, machine code. Field names are the report's JSON names."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Roofline:
    """Where the candidate stands against what the device can do."""

    bytes: int
    """Fewest bytes to move."""
    flops: int
    """Floating-point operations of the reference."""
    floor_us: float
    """The larger of bytes over bandwidth and FLOPs over peak rate, in microseconds."""
    fraction: float
    """floor_us over the candidate's median: 1.0 is the roof."""
    bound: str
    """`memory`, `compute` or `latency`."""


def limit_in_words(bottleneck: str) -> str:
    """The class of a kernel's limit as people read it."""
    return "no single limit" if bottleneck == "neither" else bottleneck.replace("_", " ")


@dataclass(frozen=True, kw_only=True)
class LineShare:
    """How hot one line of a kernel is."""

    line: int
    """Of the compiled source, from 1."""
    share: float
    """Samples at its instructions over all in the candidate's own code, 0 to 1."""


@dataclass(frozen=True, kw_only=True)
class ProfilerFile:
    """The profiler's own record of a run, for its viewer."""

    name: str
    """File name, such as `kernel.ncu-rep`."""
    bytes: int
    """Its size."""
    hash: str | None
    """Hash of the artefact with its content; null if none is stored."""
    note: str = ""
    """Why it is not stored; empty if it is."""
    content: str = ""
    """Base64 of the content on its way from the worker to the artefact store; empty once stored."""


@dataclass(frozen=True, kw_only=True)
class Profile:
    """Hardware counters, where permitted, and the diagnosis drawn from them."""

    source: str
    """`ncu`, `perf`, `torch`, `samples` (of where a CPU's threads were) or `none`."""
    metrics: dict[str, float]
    """Counter name to value, under the source's own names."""
    bottleneck: str
    """Class of the limit: `memory`, `compute`, `latency`, `occupancy`, `spills`, `scalar`, `library`, `page_faults`,
    `imbalance`, `overhead`, `neither` (of the roofs binds), …"""
    reason: str
    """The evidence the diagnosis rests on, in one sentence."""
    lines: tuple[LineShare, ...] = ()
    """The hottest lines of the source, hottest first; empty where nothing tells them."""
    file: ProfilerFile | None = None
    """The profiler's own record; null where it keeps none."""


@dataclass(frozen=True, kw_only=True)
class Disassembly:
    """The machine code of a candidate, as its toolchain shows it; or why there is none to show."""

    form: str
    """`assembly`, `sass`, or `none`."""
    tool: str
    """The program that produced it; empty if none."""
    functions: tuple[str, ...]
    """The candidate's functions it contains."""
    cut: bool
    """Whether it was truncated."""
    note: str
    """Why there is none and what would enable it; or what to know of the one there is."""
    hash: str | None
    """Hash of the artefact with the text; null if none is stored."""
    text: str = ""
    """The text on its way from the worker to the artefact store; empty once stored."""
    ptx: str = ""
    """PTX of the same kernels on its way, where the toolchain goes through it; empty once stored."""
    ptx_hash: str | None = None
    """Hash of the artefact with the PTX; null if there is none."""
    whole_module: bool = False
    """Whether marked lines are the candidate module's own (Triton), rather than those of the source text in it."""
