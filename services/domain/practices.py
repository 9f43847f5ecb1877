"""Practices that agents draw from a job: what they claim, and what our own measurements say of it."""

from __future__ import annotations

from dataclasses import dataclass

from services.domain.experiences import Experience
from services.domain.jobs import Stage

MOST_PRACTICES = 2
"""Practices that one job may leave: what it really showed is rarely more."""


@dataclass(frozen=True, kw_only=True)
class Contrast:
    """Two accepted candidates of one job whose speeds surely differ."""

    faster: str
    """Candidate id."""
    slower: str
    """Candidate id."""
    ratio: float
    """How many times as fast, from the pairs with a baseline where both had the same."""
    ci95: tuple[float, float]
    """Its 95 % interval, above 1."""


@dataclass(frozen=True, kw_only=True)
class ProposedPractice:
    """What an agent claims to have learned, with the pairs of candidates (faster, slower) it rests on."""

    statement: str
    """What to do, in a sentence."""
    applies: str
    """When it applies."""
    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class KeptPractice:
    """A proposal whose evidence held."""

    statement: str
    applies: str
    contrasts: tuple[Contrast, ...]


@dataclass(frozen=True, kw_only=True)
class RewardedTrial:
    """One step that memory learned from."""

    stage: Stage
    items: tuple[str, ...]
    """Experiences in its context."""
    reward: float
    """-1 to 1, as its stage has it."""


@dataclass(frozen=True, kw_only=True)
class PracticeVersion:
    """A practice that a team learned, in use or not."""

    practice: Experience
    state: str
    """`active`, `merged`, `forgotten` or `retracted`."""
