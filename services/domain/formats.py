"""Forms in which a finished kernel leaves."""

from __future__ import annotations

from enum import StrEnum


class ExportFormat(StrEnum):
    """What an archive is for."""

    BUNDLE = "bundle"
    """The kernel with tests that run alone, and all evidence."""
    PACKAGE = "package"
    """A pip-installable source package."""
    KERNEL_BUILDER = "kernel-builder"
    """A Hugging Face kernel-builder source tree."""
    GPU_MODE = "gpu-mode"
    """One file for a GPU MODE leaderboard."""
