"""What a kernel does, in four coarse classes read from its source: the cells of a MAP-Elites archive.

KernelFoundry's behaviour dimensions, for sources we can read without running them: how often data travels through
memory, what runs in parallel, what close memory or wide units it uses, and how long it is.
"""

from __future__ import annotations

import functools
import re
from dataclasses import astuple, dataclass

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|#(?!\s*(?:pragma|include|define))[^\n]*", re.DOTALL)
_KERNEL = re.compile(r'extern\s+"C"|__global__|@triton\.jit')
_THREADS = re.compile(r"omp\s+(?:parallel|task|for)|std::thread|blockIdx|program_id")
_LANES = re.compile(r"omp\s+(?:parallel\s+for\s+)?simd|_mm\d*_|vector_size|threadIdx|tl\.arange")
_TILED = re.compile(r"\b(?:BLOCK|TILE|tile|block)\w*\b")
_SHARED = re.compile(r"__shared__|shared_memory|num_stages")
_TENSOR_CORE = re.compile(r"wmma|mma\.sync|mma_sync|wgmma|tl\.dot|_tile_dp|_dpbf16")
_VECTOR = re.compile(r"_mm\d*_|vector_size|omp\s+[\w\s]*simd|float4|float2\b")
_SIZE_ENDS = (40, 90, 180)
"""Upper ends of the size classes, in lines of code."""


@dataclass(frozen=True, kw_only=True)
class Behaviour:
    """One cell."""

    traffic: str
    """How often data travels: `one pass`, `few passes` or `many passes`, by the kernels that run one after another."""
    parallelism: str
    """Granularity: `serial`, `lanes`, `threads` or `threads and lanes`."""
    staging: str
    """Close memory and wide units: `plain`, `vector`, `tiled`, `tiled vector`, `shared` or `tensor core`."""
    size: str
    """`short`, `medium`, `long` or `very long`."""

    def __str__(self) -> str:
        return ", ".join(astuple(self))

    def distance(self, other: Behaviour) -> int:
        """In how many dimensions two kernels differ, 0 to 4."""
        return sum(mine != theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True))


@functools.lru_cache(maxsize=4096)
def behaviour(source: str) -> Behaviour:
    """The cell of a candidate's source; any text has one."""
    code = _COMMENT.sub("", source)
    return Behaviour(traffic=_traffic(code), parallelism=_parallelism(code), staging=_staging(code), size=_size(code))


def _traffic(code: str) -> str:
    kernels = len(_KERNEL.findall(code))
    if kernels <= 1:
        return "one pass"
    return "few passes" if kernels <= 3 else "many passes"


def _parallelism(code: str) -> str:
    threads, lanes = bool(_THREADS.search(code)), bool(_LANES.search(code))
    if threads and lanes:
        return "threads and lanes"
    return "threads" if threads else "lanes" if lanes else "serial"


def _staging(code: str) -> str:
    if _TENSOR_CORE.search(code):
        return "tensor core"
    if _SHARED.search(code):
        return "shared"
    tiled, vector = bool(_TILED.search(code)), bool(_VECTOR.search(code))
    if tiled and vector:
        return "tiled vector"
    return "tiled" if tiled else "vector" if vector else "plain"


def _size(code: str) -> str:
    lines = sum(bool(line.strip()) for line in code.splitlines())
    names = ("short", "medium", "long", "very long")
    return names[sum(lines > end for end in _SIZE_ENDS)]
