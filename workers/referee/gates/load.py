"""The load gate: the candidate's model is built and given the reference's parameters."""

from __future__ import annotations

import secrets

from services.domain.gates import GateName
from workers.referee.trial import GateFinding, Trial, passed

LOAD_LIMIT_S = 30.0


def load_again(trial: Trial) -> None:
    """Put the candidate into a new process, with nothing open. Raises `RunnerFault` where it does not load there."""
    trial.end_runner()
    trial.close_slots()
    LoadGate().examine(trial)


class LoadGate:
    """Starts the candidate's process and constructs `ModelNew`."""

    name = GateName.LOAD

    def examine(self, trial: Trial) -> GateFinding:
        """Passes when the model is built; parameters are copied, else built under the reference's own seed."""
        trial.runner = trial.state.link.spawn("candidate", trial.time_limit)
        state = trial.state.problem.state()
        if self.load(trial, seed=secrets.randbits(31), copy_state=True):
            return passed(_loaded(len(state)))
        trial.state.problem.seed_is_out = True
        self.load(trial, seed=trial.state.problem.init_seed, copy_state=False)
        return passed("built; its parameters do not match the reference's, so it was built under the reference's seed")

    def load(self, trial: Trial, *, seed: int, copy_state: bool) -> bool:
        """Build the model in the trial's process; whether its parameters could be matched with the reference's."""
        problem = trial.state.problem
        return trial.session.load(
            trial.request.source,
            problem.init_inputs,
            problem.state(),
            seed=seed,
            copy_state=copy_state,
            threads=trial.state.threads,
            limit_s=LOAD_LIMIT_S,
            step=problem.step_plan,
        )


def _loaded(copied: int) -> str:
    if copied == 0:
        return "loaded"
    return f"loaded; {copied} {'parameter or buffer' if copied == 1 else 'parameters and buffers'} copied"
