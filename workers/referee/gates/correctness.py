"""The correctness gate: several draws of every open input set, judged after the candidate returned."""

from __future__ import annotations

import random
from typing import Any

from services.domain.gates import GateName, GateStatus
from workers.ipc.tensors import flatten
from workers.referee.gates.left_state import leaves_state
from workers.referee.inputs.draws import Distribution
from workers.referee.preparation import plan
from workers.referee.problem.contract import Answer
from workers.referee.session.slots import Slot
from workers.referee.trial import GateFinding, Held, Trial, judge_inputs, judge_on_values, passed

AT_ONCE = 0.5
"""Share of the calls that leave no figure whose outputs are copied before anything is said."""


class CorrectnessGate:
    """Right outputs on the problem's own draws, on scaled ones, on every input set, and again when repeated."""

    name = GateName.CORRECTNESS

    def examine(self, trial: Trial) -> GateFinding:
        """Fails with the first mismatch."""
        finding = self._tried(trial)
        return finding if finding.status is not GateStatus.PASSED else leaves_state(trial) or finding

    def _tried(self, trial: Trial) -> GateFinding:
        """The first mismatch, or how many draws agree."""
        count = 0
        for number in trial.state.set_numbers:
            for distribution in plan(trial.state, number):
                if count and self.suffices(trial):
                    return passed(f"{count} draws agree with the reference; there was no time for more")
                arguments = trial.draw(number, distribution)
                finding = try_draw(trial, number, distribution, arguments, observe=count == 0)
                if finding is not None:
                    return finding
                count += 1
        return passed(f"{count} draws over {len(trial.state.set_numbers)} input sets agree with the reference")

    def suffices(self, trial: Trial) -> bool:  # noqa: ARG002 - for those who can do with less
        """Whether what was drawn so far is enough."""
        return False


def try_draw(
    trial: Trial,
    number: int,
    distribution: Distribution,
    arguments: list[Any],
    *,
    observe: bool,
    slot: Slot | None = None,
    hold: bool = False,
) -> GateFinding | None:
    """What is wrong with the outputs for one draw, or None. `observe` notes PyTorch's operators, calls again, and has
    what is returned then held, as `hold` has what the only call returns. Nobody knows which calls' outputs are taken
    the moment they are returned."""
    slot = slot or trial.slot(number, arguments)
    tensors = flatten(arguments)
    where = f"input set {number}, {distribution.name} values" if number else f"{distribution.name} values"
    answer: Answer | None = None
    may_hold = not (trial.state.place.is_gpu or trial.state.mutates or trial.state.aliases)
    for turn in ("observed", "repeated") if observe else ("plain",):
        slot.write(tensors)
        if turn == "observed":
            trial.operators = trial.session.observe(slot)
        else:
            trial.session.call(slot, hold=may_hold and (hold or turn == "repeated"), at_once=_by_chance())
        fetched = trial.session.fetch(slot)
        answer = trial.state.expected(arguments) if answer is None else answer
        place = f"{where}, called again" if turn == "repeated" else where
        scales = trial.state.scales(number, distribution) or ()
        if may_hold and (hold or turn == "repeated"):
            trial.held = Held(session=trial.session, slot=slot, answer=answer, scales=scales)
        finding = judge_inputs(trial, slot, tensors, answer, place) or judge_on_values(
            trial, fetched, arguments, answer, distribution, scales, place
        )
        if finding is not None:
            return finding
    return None


def _by_chance() -> bool:
    return random.SystemRandom().random() < AT_ONCE
