"""Forms of training data."""

from __future__ import annotations

from enum import StrEnum


class TrainingFormat(StrEnum):
    """What the lines are for."""

    SFT = "sft"
    """Supervised fine-tuning: one conversation a solved job, along the best kernel's lineage."""
    RL = "rl"
    """Reinforcement learning: every turn of a job with its reward."""
    PREFERENCES = "preferences"
    """Pairs of answers from one start point, the better one chosen."""
