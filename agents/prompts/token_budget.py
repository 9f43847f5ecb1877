"""Prompts of bounded length: every section has a budget of tokens, and what matters least is cut first.

Tokens are estimated from bytes, because each provider counts its own: source text takes 3 to 4 bytes a token in the
usual vocabularies, so that three is on the safe side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

T = TypeVar("T")
_BYTES_PER_TOKEN = 3
_TAIL = 0.25
"""Share of a long text's budget that its end keeps."""


@dataclass(frozen=True, kw_only=True)
class SectionTokens:
    """Most tokens of each section. Sources of problem, start point and candidate are never cut: they count whole, and
    where a model's window is too small for them the rest makes room."""

    analysis: int = 1000
    experiences: int = 1000
    proven: int = 4000
    """Kernels of other jobs, each whole or not at all."""
    brief: int = 600
    inspirations: int = 1500
    trajectory: int = 900
    contrast: int = 500
    evaluation: int = 600
    failure: int = 4000
    """Of an evaluation that failed: what a compiler said is read whole."""
    critique: int = 300
    plan: int = 400

    def for_planned_code(self) -> SectionTokens:
        """What a Coder in refine needs beside its plan: the Planner drew on what was recalled and tried, the Coder
        takes over kernels, the most valued words and what came out best and last."""
        return replace(
            self,
            experiences=self.experiences // 3,
            trajectory=self.trajectory // 3,
            contrast=self.contrast // 2,
        )

    def leaner(self) -> Iterator[SectionTokens]:
        """This, and what is left when ever more of the older matter goes: other candidates first, then
        differences and other jobs' kernels, then half, a quarter and at last all of what was recalled and tried."""
        yield self
        lean = replace(self, inspirations=0)
        yield lean
        lean = replace(lean, contrast=0, proven=self.proven // 2)
        yield lean
        lean = replace(lean, proven=0)
        yield lean
        for share in (2, 4):
            yield replace(lean, experiences=self.experiences // share, trajectory=self.trajectory // share, brief=0)
        yield replace(lean, experiences=0, trajectory=0, brief=0, failure=self.evaluation)


def tokens(text: str) -> int:
    """About how many tokens a text takes, rather too many than too few."""
    return -(-len(text.encode(errors="replace")) // _BYTES_PER_TOKEN)


def cut(text: str, limit: int) -> str:
    """A text of at most about `limit` tokens: its beginning and its end, with a note of what is left out between."""
    if tokens(text) <= limit:
        return text
    if limit <= 0:
        return ""
    room = limit * _BYTES_PER_TOKEN
    raw = text.encode(errors="replace")
    head, tail = raw[: int(room * (1 - _TAIL))], raw[len(raw) - int(room * _TAIL) :]
    left_out = len(raw) - len(head) - len(tail)
    return f"{head.decode(errors='ignore')}\n[… {left_out} bytes left out …]\n{tail.decode(errors='ignore')}"


def keep(items: Sequence[T], limit: int, size: Callable[[T], str], worth: Callable[[T], object]) -> list[T]:
    """The items that fit in `limit` tokens, in their order; those worth least are left out first.

    The one worth most stays, however long it is, unless there is no room at all."""
    if limit <= 0:
        return []
    kept: set[int] = set()
    used = 0
    for index in sorted(range(len(items)), key=lambda index: worth(items[index]), reverse=True):  # type: ignore[arg-type,return-value]
        need = tokens(size(items[index]))
        if kept and used + need > limit:
            break
        kept.add(index)
        used += need
    return [item for index, item in enumerate(items) if index in kept]
