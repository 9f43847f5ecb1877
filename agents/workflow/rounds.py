"""How a round begins: how many candidates it makes, where each starts from, and what each may spend.

The branches of a round run at the same time and know nothing of each other. What is left of the budgets is divided
among them beforehand, so that no order of events, and no crash in between, can make them pass a limit together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from agents.workflow.budget import Spent
from agents.workflow.compiler_draft import free_rounds, is_due
from agents.workflow.context import JobContext
from agents.workflow.leaderboard import kept_rounds, leader, next_move, searched
from agents.workflow.rules import JobRules
from agents.workflow.state import WorkflowState, fresh_step
from services.domain.candidates import Origin
from services.domain.chat import AttemptFact
from services.domain.experiences import StartValues
from services.domain.jobs import EVALUATE_ONLY, Budget, Stage
from services.memory.effect import is_holdout
from services.ports.models import MeteredChatModel
from services.ports.search import SearchState
from services.team_memory.practices import contrasts

UNUSABLE = "reply could not be used"
"""What the failure of a step says whose agent was asked in vain."""
NO_PLAN = "no plan: "
"""What the failure of a step begins with whose Planner knew no way on from its start point."""
MOST_VAIN = 3
"""Steps in a row without a usable answer after which a model is not asked any more."""
_BRANCH_SEED = 104_729
"""Sets the branches' seeds apart, for strategies that throw dice by seed and number of attempts."""


async def begin_round(context: JobContext, rules: JobRules, now: datetime, next_width: int | None) -> WorkflowState:
    """The state of the next round: one step, or several branches in `round`; with `stop` where there is none."""
    known, spec = len(context.attempts), context.job.spec
    free = free_rounds(spec, context.validation, context.attempts)
    confirm, over = next_move(context.attempts, spec.budget.rounds, _stop(context), rules.confirmations, free)
    if known and EVALUATE_ONLY in spec.tags:
        confirm, over = None, over or "the kernel was judged"
    if confirm is not None:
        return _confirmation(context, confirm, now, next_width)
    width = _width(context, rules, next_width)
    holdouts = [is_holdout(context.job.id, known + branch, rules.holdout_share) for branch in range(width)]
    values = None if all(holdouts) or context.best() is None else await _start_values(context)
    searches = [
        replace(
            context.search(start_values=None if holdout else values),
            branch=branch,
            width=width,
            seed=spec.seed + branch * _BRANCH_SEED,
        )
        for branch, holdout in enumerate(holdouts)
    ]
    states = [
        _step(context, search, holdout, now, _share(spec.budget, context.recorded, width))
        for search, holdout in zip(searches, holdouts, strict=True)
    ]
    first = states[0]
    first["stop"] = over
    first["round"] = [{**state, "job_id": context.job.id} for state in states] if width > 1 else []
    first["branches"] = []
    first["next_width"] = width if next_width is not None else spec.beam
    return first


def useless_model(attempts: Sequence[AttemptFact], model: str) -> str | None:
    """What to say of a model that was asked in vain: no candidate came of the latest steps, as far as the limit goes;
    None for one that is of use."""
    latest = attempts[-MOST_VAIN:]
    vain = [item.failure for item in latest if item.candidate_id is None and UNUSABLE in (item.failure or "")]
    if not vain or len(vain) < len(latest):
        return None
    return f"the model {model!r} gave no usable answer in {len(vain)} rounds in a row; at last {vain[-1]}"


def _stop(context: JobContext) -> str | None:
    """Why the search would end; second measurements at a job's end are no part of it."""
    if context.in_vain >= MOST_VAIN:
        return f"no usable answer in {context.in_vain} rounds in a row"
    attempts, spec = searched(context.attempts), context.job.spec
    best = leader(attempts)
    search = replace(
        context.search(start_values=None),
        attempts=attempts,
        best_candidate_id=best.candidate_id if best is not None else None,
        width=spec.beam,
        seed=spec.seed,
    )
    return context.strategy.stop(search) or _no_way_on(context, search)


def _no_way_on(context: JobContext, search: SearchState) -> str | None:
    """Why the search ends where the Planner knew no way on from a start point and the strategy has no other."""
    last = search.attempts[-1] if search.attempts else None
    if last is None or not (last.failure or "").startswith(NO_PLAN):
        return None
    closed = {item.parent_id for item in search.attempts if (item.failure or "").startswith(NO_PLAN)}
    start = context.strategy.start_point(search)
    if start is None or start.candidate_id not in closed:
        return None
    return (last.failure or "").removeprefix(NO_PLAN)


def _confirmation(context: JobContext, confirm: AttemptFact, now: datetime, next_width: int | None) -> WorkflowState:
    """A step that measures a leader's kernel a second time."""
    state = fresh_step(
        step=len(context.attempts),
        stage=Stage.REFINE.value,
        start_step=confirm.step,
        started_at=now.isoformat(),
        origin=Origin.CONFIRMATION,
    )
    state["round"], state["branches"] = [], []
    state["next_width"] = next_width or context.job.spec.beam
    return state


def after_round(ends: Sequence[dict[str, Any]]) -> int:
    """How wide the next round may be: without the branches that had to stop (no idea left, their share too small).

    At last one step decides alone, with all that is left."""
    return max(1, sum(not end.get("stop") for end in ends))


def reflects(context: JobContext, rules: JobRules) -> bool:
    """Whether the ended job is worth a question about what it taught: a chat model worked, and something it changed
    surely mattered."""
    if not rules.practices or not isinstance(context.model, MeteredChatModel):
        return False
    return EVALUATE_ONLY not in context.job.spec.tags and bool(contrasts(context.attempts))


def after_last_step(state: WorkflowState, context: JobContext, now: datetime) -> WorkflowState:
    """The state of a step behind all that are recorded: what is asked in it is charged to the job; it makes nothing."""
    step = fresh_step(step=len(context.attempts), stage=Stage.REFINE.value, start_step=None, started_at=now.isoformat())
    step["job_id"] = state["job_id"]
    return step


def _width(context: JobContext, rules: JobRules, next_width: int | None) -> int:
    spec, known = context.job.spec, len(context.attempts)
    due = is_due(spec, context.validation, context.attempts)
    alone = EVALUATE_ONLY in spec.tags or due or (not known and spec.seed_candidate is not None)
    wanted = 1 if alone else min(spec.beam, next_width or spec.beam)
    left = (
        spec.budget.rounds
        + free_rounds(spec, context.validation, context.attempts)
        - known
        - (kept_rounds(spec.budget.rounds, rules.confirmations) if wanted > 1 else 0)
    )
    return max(1, min(wanted, left, _affordable(context, rules, wanted)))


def _affordable(context: JobContext, rules: JobRules, wanted: int) -> int:
    """How many steps like the dearest one so far are left in the budgets: more branches would only fail together."""
    budget, spent, dearest = context.job.spec.budget, context.recorded, context.dearest
    left = [
        _times(budget.tokens, spent.usage.tokens, dearest.usage.tokens),
        _times(budget.dollars, spent.usage.dollars or 0.0, dearest.usage.dollars or 0.0),
        _times(budget.device_s, spent.device_s, rules.evaluation_timeout_s),
    ]
    return min([wanted, *(times for times in left if times is not None)])


def _times(limit: float | None, used: float, one: float) -> int | None:
    return None if limit is None or one <= 0 else int((limit - used) / one)


def _step(
    context: JobContext, search: SearchState, holdout: bool, now: datetime, share: dict[str, float | None] | None
) -> WorkflowState:
    start: AttemptFact | None = context.strategy.start_point(search)
    if start is not None and start.from_compiler and not (start.report is not None and start.report.accepted):
        start = None  # what the compiler got wrong is a finding, and no work of ours to repair
    state = fresh_step(
        step=search.step,
        stage=(Stage.DRAFT if search.best_candidate_id is None else Stage.REFINE).value,
        start_step=start.step if start is not None else None,
        started_at=now.isoformat(),
        origin=_ready_origin(context, search),
    )
    state["known"] = len(search.attempts)
    state["branch"], state["width"] = search.branch, search.width
    state["share"] = share
    state["holdout"] = holdout
    return state


def _ready_origin(context: JobContext, search: SearchState) -> Origin | None:
    """A job begins with the kernel that came with it, and with the compiler's; neither has a beam beside it."""
    spec = context.job.spec
    if search.width > 1:
        return None
    if not search.attempts and spec.seed_candidate is not None:
        return Origin.SEED
    return Origin.COMPILER if is_due(spec, context.validation, search.attempts) else None


def _share(budget: Budget, spent: Spent, width: int) -> dict[str, float | None] | None:
    """An equal part of what is left of each budget; None for a step alone, which has it all."""
    if width == 1:
        return None
    used = {
        "tokens": float(spent.usage.tokens),
        "dollars": spent.usage.dollars,
        "device_s": spent.device_s,
    }
    return {name: _part(getattr(budget, name), used[name], width) for name in used}


def _part(limit: float | None, used: float | None, width: int) -> float | None:
    """Nothing is left of a limit where it is not known what was used."""
    if limit is None:
        return None
    return 0.0 if used is None else max(0.0, limit - used) / width


async def _start_values(context: JobContext) -> StartValues:
    """What memory thinks of the job's accepted candidates."""
    accepted = [
        item.candidate_id
        for item in context.attempts
        if item.candidate_id is not None and item.report is not None and item.report.accepted
    ]
    setting = context.setting
    return await context.stores.memory.start_values(context.job.team_id, setting.family, setting.site, accepted)
