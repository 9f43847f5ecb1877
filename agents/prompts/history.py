"""A trajectory in few words: every variant with its score side by side, and what the telling changes were.

Contrast teaches more than a list of successes (CUDA-L1): the table ranks what was tried, the differences show which
change of code brought what.
"""

from __future__ import annotations

import difflib
import math

from agents.prompts import describe
from agents.prompts.token_budget import SectionTokens, cut, keep
from agents.strategies.lineage import pace
from services.domain.chat import AttemptFact, Facts
from services.domain.practices import Contrast
from services.team_memory.practices import contrasts, told
from services.team_memory.reward import describe_moves

_DIFF_CONTEXT = 1
_CHANGES_TOKENS = 300
"""What a prompt shows of one proven contrast's change of code."""


def variants(facts: Facts, limit: SectionTokens) -> str:
    """All steps, fastest first and failures after them; the oldest are left out first, the best never."""
    best = _best(facts.attempts)
    known = {item.candidate_id: item for item in facts.attempts if item.candidate_id}

    def row(item: AttemptFact) -> str:
        return cut(describe.attempt(item, known.get(item.parent_id or "")), limit.trajectory)

    shown = keep(facts.attempts, limit.trajectory, row, lambda item: (item is best, item.step))
    rows = sorted(shown, key=lambda item: (pace(item), item.step))
    left_out = len(facts.attempts) - len(shown)
    note = [f"({left_out} older steps left out)"] if left_out else []
    return "\n".join([*map(row, rows), *note])


def contrast(facts: Facts, limit: SectionTokens) -> str:
    """Two telling pairs with their scores: what the change that made the start point brought, and what spoiled it."""
    start = facts.start_point
    if start is None or start.source is None:
        return ""
    known = {item.candidate_id: item for item in facts.attempts if item.candidate_id}
    parent = known.get(start.parent_id or "")
    worse = [item for item in facts.attempts if item.parent_id == start.candidate_id and item.source]
    worst = max(worse, key=lambda item: (pace(item), item.step), default=None)
    half = limit.contrast // 2
    pairs = [(parent, start)] if parent is not None else []
    if worst is not None and pace(worst) > pace(start):
        pairs.append((start, worst))
    return "\n\n".join(cut(_pair(old, new), half) for old, new in pairs)


def proven_contrasts(attempts: tuple[AttemptFact, ...]) -> str:
    """The contrasts that held, each with its moves and what changed in the code; empty without any."""
    known = {item.candidate_id: item for item in attempts}
    return "\n\n".join(_in_words(one, known) for one in contrasts(attempts))


def _in_words(one: Contrast, known: dict[str | None, AttemptFact]) -> str:
    """From parent to child, whichever of them is the faster one."""
    first, second = known[one.slower], known[one.faster]
    if first.parent_id == second.candidate_id:
        first, second = second, first
    moves = describe_moves(second.plan.moves) if second.plan is not None else "no plan"
    code = cut(changes(first.source or "", second.source or ""), _CHANGES_TOKENS)
    return f"{told([one])}; {second.candidate_id} was made from {first.candidate_id} by {moves}:\n{code}"


def changes(old: str, new: str) -> str:
    """The lines that differ between two sources, as a unified diff without its head; empty for the same source."""
    difference = difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=_DIFF_CONTEXT)
    return "\n".join(line for line in list(difference)[2:])


def _pair(old: AttemptFact, new: AttemptFact) -> str:
    return f"{_score(old)} became {_score(new)} by:\n{changes(old.source or '', new.source or '')}"


def _score(item: AttemptFact) -> str:
    """The same figure as in the table: one candidate has one latency in a prompt."""
    latency = item.report.latency if item.report is not None and item.report.accepted else None
    outcome = f"{latency.median_us:.1f} µs" if latency is not None else "not accepted"
    return f"{item.candidate_id} ({outcome})"


def _best(attempts: tuple[AttemptFact, ...]) -> AttemptFact | None:
    best = min(attempts, key=lambda item: (pace(item), item.step), default=None)
    return best if best is not None and pace(best) < math.inf else None
