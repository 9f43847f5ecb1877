"""Which bandwidth bounds a working set: one rule for the analysis, the report's roofline and whoever compares them."""

from __future__ import annotations

CACHED_SHARE = 4
"""A working set counts as cached when it fits a quarter of the last-level cache: neighbours on the same socket use
the rest, and what was written in the last call has pushed older lines out."""


def bandwidth_gb_s(bytes_moved: int, *, copy_gb_s: float, cache_gb_s: float | None, cache_bytes: int) -> float:
    """GB/s that moving so many bytes once can reach at most: the cache's for small sets, else the memory's."""
    small = bytes_moved * CACHED_SHARE <= cache_bytes
    return max(cache_gb_s, copy_gb_s) if small and cache_gb_s else copy_gb_s
