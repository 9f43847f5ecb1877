"""The correctness gate: several draws of every open input set, judged after the candidate returned."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from workers.referee.gates.checks.call_forms import by_keyword, in_the_other_mode
from workers.referee.gates.checks.calls import try_draw
from workers.referee.gates.checks.distant_means import (
    beside_a_huge_element,
    beside_a_huge_slice,
    remark_on_distant_means,
)
from workers.referee.gates.checks.graph_uses import used_otherwise
from workers.referee.gates.checks.instances import interleaved_steps, two_instances
from workers.referee.gates.checks.left_state import leaves_state
from workers.referee.gates.checks.parameter_use import after_a_part_changed, after_training
from workers.referee.gates.checks.surroundings import WHERE, after_a_small_change, try_by
from workers.referee.gates.checks.tied_gradients import at_ties
from workers.referee.gates.checks.wide_parameters import with_wide_parameters
from workers.referee.gates.finding import GateFinding, passed
from workers.referee.inputs.distributions import OWN, Distribution
from workers.referee.inputs.schedule import LEAST_DRAWS, plan
from workers.referee.trial import Mode, Trial
from workers.runner.protocol import ThreadTeam

QUICK_DRAWS = 5
"""Of the first input set, where a quick look is asked for."""


ALWAYS = (after_a_small_change, after_training, two_instances, interleaved_steps, used_otherwise)
"""Checks that are made however long the draws took."""
CHECKS = (
    after_a_small_change,
    after_training,
    by_keyword,
    beside_a_huge_slice,
    beside_a_huge_element,
    after_a_part_changed,
    with_wide_parameters,
    two_instances,
    interleaved_steps,
    used_otherwise,
    at_ties,
    in_the_other_mode,
)
"""What follows the draws, in this order, up to the first finding."""


def examine(trial: Trial) -> GateFinding:
    """Right outputs on the problem's own draws, on scaled ones, on every input set, again when repeated, and once the
    parameters have changed. Fails with the first mismatch."""
    is_quick, count, found = trial.mode is Mode.QUICK, 0, None
    teams = {} if is_quick or trial.state.place.is_gpu else _teams()
    for number, distribution in _draws(trial):
        if count and trial.used_share > trial.budget.correctness_share:
            found = passed(f"{count} draws agree with the reference; there was no time for more")
            break
        arguments = trial.draw(number, distribution)
        mismatch = _tried(trial, number, distribution, arguments, team=teams.get(count), is_first=count == 0)
        if mismatch is not None:
            return mismatch
        count += 1
    if is_quick:
        return passed(f"{count} draws agree with the reference")
    sets = len(trial.state.set_numbers)
    agree = passed(f"{count} draws over {sets} input sets agree with the reference")
    has_time = trial.used_share <= trial.budget.correctness_share
    checks = [one for one in CHECKS if has_time or one in ALWAYS]
    wrong = next(filter(None, (check(trial) for check in checks)), None)
    if wrong is None and (remark := remark_on_distant_means(trial)):
        trial.notes.append(remark)
    return wrong or leaves_state(trial) or found or agree


def _tried(
    trial: Trial,
    number: int,
    distribution: Distribution,
    arguments: list[Any],
    *,
    team: ThreadTeam | None,
    is_first: bool,
) -> GateFinding | None:
    if team is not None:
        return try_by(team, trial, number, distribution, arguments)
    is_observed = is_first and trial.mode is not Mode.QUICK
    return try_draw(trial, number, distribution, arguments, observe=is_observed)


def _teams() -> dict[int, ThreadTeam]:
    """Which threads work on some of the draws after the first, by their numbers."""
    return dict(zip(random.SystemRandom().sample(range(1, LEAST_DRAWS), len(WHERE)), WHERE, strict=True))


def _draws(trial: Trial) -> Iterator[tuple[int, Distribution]]:
    """Which values of which input set are tried, in order."""
    if trial.mode is Mode.QUICK:
        yield from [(0, OWN)] * QUICK_DRAWS
        return
    for number in trial.state.set_numbers:
        for distribution in plan(trial.state.tried.usable(number), number):
            yield number, distribution
