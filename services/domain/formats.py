"""Forms in which results leave: archives with a finished kernel, and training data."""

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


class TrainingFormat(StrEnum):
    """What the lines are for."""

    SFT = "sft"
    """Supervised fine-tuning: one conversation a solved job, along the best kernel's lineage."""
    RL = "rl"
    """Reinforcement learning: every turn of a job with its reward."""
    PREFERENCES = "preferences"
    """Pairs of answers from one start point, the better one chosen."""
