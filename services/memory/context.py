"""What goes into a step's context beside the value-selected experiences (EvoKernel sections 3.2, 3.5).

API sheets are not value-selected: they come by backend bundle, by the names that recalled code uses, and by meaning.
When refining, the start point's observable children and fast variants made by other moves get places of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from services.domain.experiences import Experience, embedded_text

NEAR = 0.95
"""Share of words in common, figures left out, from which two texts say the same."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*(?:(?:\.|::)[A-Za-z_][A-Za-z_0-9]*)*")
_TELLING = re.compile(r"[_.:0-9]")


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """An API template, as retrieval sees it."""

    experience: Experience
    similarity: float
    """Cosine similarity to the query, -1 to 1."""

    @property
    def names(self) -> frozenset[str]:
        """The API names that it documents: identifiers of its title that are no plain words."""
        return frozenset(name for name in _NAME.findall(self.experience.title) if _TELLING.search(name))

    @property
    def in_bundle(self) -> bool:
        """Whether it belongs to its backend's bundle, which every context gets."""
        return self.experience.family == "any" and not self.names


def select_sheets(
    sheets: Sequence[Sheet], backend: str, code: Iterable[str], *, semantic: int = 1, limit: int = 4
) -> tuple[str, ...]:
    """Ids of at most `limit` API sheets of a backend: its bundle, those that `code` names, the most similar ones."""
    own = sorted(
        (sheet for sheet in sheets if sheet.experience.backend == backend),
        key=lambda sheet: (-sheet.similarity, sheet.experience.id),
    )
    used = {name for source in code for name in _NAME.findall(source)}
    bundled = [sheet for sheet in own if sheet.in_bundle][:1]
    named = [sheet for sheet in own if sheet.names & used][: max(0, limit - len(bundled))]
    similar = [sheet for sheet in own if sheet not in bundled and sheet not in named][:semantic]
    return tuple(sheet.experience.id for sheet in (*bundled, *named, *similar))[:limit]


def complementary(variants: Iterable[Experience], start: Experience | None, count: int) -> tuple[str, ...]:
    """Ids of the fastest accepted variants that used a move which the start point does not have."""
    known = set(start.moves) if start is not None else set()
    others = [
        variant
        for variant in variants
        if variant.speedup is not None and set(variant.moves) - known and (start is None or variant.id != start.id)
    ]
    ranked = sorted(others, key=lambda variant: (-(variant.speedup or 0.0), variant.id))
    return tuple(variant.id for variant in ranked[:count])


def distinct(items: Iterable[Experience]) -> tuple[str, ...]:
    """Ids without near-duplicates of earlier ones: of one candidate, with the same code, or telling the same in words
    about the same moves. Of a candidate that older versions wrote down twice, the one with code stays."""
    kept: list[tuple[Experience, frozenset[str]]] = []
    for item in sorted(items, key=lambda item: item.code is None and item.candidate_id is not None):
        words = _told(item)
        if not any(_alike(item, words, other, its) for other, its in kept):
            kept.append((item, words))
    return tuple(item.id for item, _ in kept)


def _alike(item: Experience, words: frozenset[str], other: Experience, its: frozenset[str]) -> bool:
    if item.candidate_id is not None and item.candidate_id == other.candidate_id:
        return True
    if item.code is not None and item.code == other.code:
        return True
    same = (item.kind, item.verdict, item.backend, item.moves) == (
        other.kind,
        other.verdict,
        other.backend,
        other.moves,
    )
    return same and len(words & its) >= NEAR * len(words | its)


def _told(item: Experience) -> frozenset[str]:
    return frozenset(embedded_text(item.title, item.text, item.family).lower().split())


@dataclass(frozen=True, kw_only=True)
class Part:
    """One source of a context, best first."""

    ids: Sequence[str]
    places: int
    """How many it may fill before the others had their turn."""


def compose(parts: Sequence[Part], limit: int) -> tuple[str, ...]:
    """At most `limit` different experiences: each part's places in order, then what is left, in the same order."""
    chosen: list[str] = []
    for part in parts:
        taken = [name for name in dict.fromkeys(part.ids) if name not in chosen][: part.places]
        chosen += taken[: limit - len(chosen)]
    rest = [name for part in parts for name in part.ids]
    return tuple(dict.fromkeys((*chosen, *rest)))[:limit]
