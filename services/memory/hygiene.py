"""Keeping a memory small: what to forget under a cap, and which near-duplicates to merge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from services.domain.experiences import Experience, ExperienceKind
from services.memory.ranking import Vectors

_BY_HAND = frozenset({ExperienceKind.API_TEMPLATE, ExperienceKind.BEST_PRACTICE})
BLOCK = 1024
"""Rows compared at once, which bounds the memory a search for duplicates takes."""
Pair = tuple[str, str]
"""The kept and the absorbed one of two near-duplicates: a `MergeEntry` of the log, which keeps the history of both."""


@dataclass(frozen=True, kw_only=True)
class Holding:
    """An experience as maintenance sees it."""

    experience: Experience
    value: float
    """Learned value in deviations (`Values.normalised`), the higher of its stages."""
    visits: float
    """Rewards it took in, over all stages."""


def is_protected(experience: Experience) -> bool:
    """Whether it is never forgotten or merged: sheets, and practices that were written by hand."""
    return experience.kind in _BY_HAND and not experience.is_learned_practice


def to_forget(holdings: Sequence[Holding], cap: int) -> tuple[str, ...]:
    """Ids to forget so that one team and backend keeps at most `cap` experiences; call it per team and backend.

    Never-used ones go first, lowest value and then oldest first; used ones go only when that does not suffice, by
    value. What is protected stays even when they alone exceed the cap.
    """
    excess = len(holdings) - cap
    if excess <= 0:
        return ()
    candidates = [holding for holding in holdings if not is_protected(holding.experience)]
    candidates.sort(key=_worth)
    return tuple(holding.experience.id for holding in candidates[:excess])


def near_duplicates(holdings: Sequence[Holding], vectors: Vectors, *, threshold: float = 0.98) -> list[Pair]:
    """Pairs to merge: equal in kind, keys, device, verdict and moves, and with vectors at least `threshold` alike.

    `vectors` has shape (holdings, d), unit rows in the same order. Of a pair the more used one is kept, then the older
    one; each experience is absorbed at most once, and never into one that is itself absorbed.
    """
    groups: dict[tuple[object, ...], list[int]] = {}
    for index, holding in enumerate(holdings):
        if not is_protected(holding.experience):
            groups.setdefault(identity(holding.experience), []).append(index)
    merges: list[Pair] = []
    for members in groups.values():
        members.sort(key=lambda index: _seniority(holdings[index]))
        merges += _merge_group(holdings, vectors, members, threshold)
    return merges


def _merge_group(holdings: Sequence[Holding], vectors: Vectors, members: list[int], threshold: float) -> list[Pair]:
    """Greedy: each member, most senior first, absorbs the juniors that are alike and not absorbed yet."""
    absorbed: set[int] = set()
    merges: list[Pair] = []
    for start in range(0, len(members), BLOCK):
        block = members[start : start + BLOCK]
        similarity = vectors[block] @ vectors[members].T
        for row, keeper in enumerate(block):
            if keeper in absorbed:
                continue
            for column in np.flatnonzero(similarity[row] >= threshold):
                junior = members[column]
                if column <= start + row or junior in absorbed:
                    continue
                absorbed.add(junior)
                merges.append((holdings[keeper].experience.id, holdings[junior].experience.id))
    return merges


def _worth(holding: Holding) -> tuple[bool, float, datetime, str]:
    """What goes first sorts first."""
    return holding.visits > 0, holding.value, holding.experience.created_at, holding.experience.id


def _seniority(holding: Holding) -> tuple[float, datetime, str]:
    return -holding.visits, holding.experience.created_at, holding.experience.id


def identity(experience: Experience) -> tuple[object, ...]:
    """What two experiences must agree in to be the same."""
    return (
        experience.team_id,
        experience.kind,
        experience.stage,
        experience.family,
        experience.backend,
        experience.device,
        experience.verdict,
        experience.bottleneck,
        experience.moves,
    )
