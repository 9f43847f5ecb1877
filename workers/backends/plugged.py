"""Backends that other packages bring, by entry points of the group `kernelwright.backends`.

An entry point's name is the backend's; what it points to is called with a sandbox and a folder for what it builds, and
gives a `KernelBackend` for the device `cpu`. Names are read without importing anything; a worker imports the package
when it starts.
"""

from __future__ import annotations

import importlib.metadata
import re

GROUP = "kernelwright.backends"
OURS = frozenset({"cpp", "cuda", "triton"})
"""These cannot be replaced: a report that names one means the one that comes with the program."""
_NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")


def plugged_in() -> dict[str, importlib.metadata.EntryPoint]:
    """Backends of other packages by name, in order of their names."""
    found = sorted(importlib.metadata.entry_points(group=GROUP), key=lambda point: point.name)
    return {point.name: point for point in found if _NAME.fullmatch(point.name) and point.name not in OURS}
