"""Parameters that change between timed calls, as they do between the steps of a training.

Where gradients are judged, a call is a step of training, and after each step the parameters have other values in the
same memory. So each timed call finds others than the one before it, for the candidate as for the baseline: what is
made of the parameters (packed, transposed, rounded) is part of the call. Two sets of values take turns. Between single
calls they are put in by a request of its own, which no clock sees.
Inside of a batch the runner puts them in: a GPU's events do not see that, and on the CPU the model that computes
nothing takes as long over it. Forward calls that are timed alone find them unchanged.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator, Sequence

from workers.referee.boundary.isolated_problem import SEED_BITS, IsolatedProblem
from workers.referee.boundary.runner_client import RunnerSession
from workers.referee.boundary.slots import Slot
from workers.referee.errors import RunnerFault

MOST_BYTES = 256 << 20
"""Of parameters and buffers; larger ones stay as they are between timed calls: each process holds them twice more."""


class ParameterSteps:
    """Whose parameters change, and between which values. Without sessions nothing does."""

    def __init__(self, problem: IsolatedProblem | None = None, sessions: Sequence[RunnerSession] = ()) -> None:
        """The first session is the candidate's."""
        self._problem = problem
        self._sessions = sessions
        self._seeds = [secrets.randbits(SEED_BITS) for _ in range(2)] if sessions else []
        self._turn = 0

    @property
    def has_any(self) -> bool:
        """Whether parameters change."""
        return bool(self._seeds)

    def begin(self) -> bool:
        """Hand the values over; whether there are any to change."""
        assert self._problem is not None
        for number, seed in enumerate(self._seeds):
            with self._problem.moved_parameters(seed) as applies:
                state = self._problem.state() if applies else []
            if not applies or sum(tensor.nbytes for _, tensor in state) > MOST_BYTES:
                self._seeds = []
                return False
            for session in self._sessions:
                session.hold_state(number, state)
        return True

    def step(self, slots: Sequence[Slot]) -> None:
        """Change the parameters before a single call on each of these slots."""
        if not self._seeds:
            return
        self._turn = 1 - self._turn
        for session in self._sessions:
            session.put_state(self._turn)
        for slot in slots:
            slot.state = self._turn

    def take(self, slots: Sequence[Slot]) -> None:
        """Say which values come before each call of a batch on these slots."""
        for slot in slots if self._seeds else ():
            self._turn = 1 - self._turn
            slot.state = self._turn

    @contextlib.contextmanager
    def judging(self, slot: Slot) -> Iterator[None]:
        """Inside, the reference and the candidate have the values that the last timed call on a slot had."""
        if not self._seeds or slot.state is None or self._problem is None:
            yield
            return
        self._sessions[0].put_state(slot.state)
        with self._problem.moved_parameters(self._seeds[slot.state]):
            yield

    def end(self, slots: Sequence[Slot]) -> None:
        """Give the parameters the values that they had."""
        for slot in slots:
            slot.state = None
        if not self._seeds or self._problem is None:
            return
        state = self._problem.state()
        for session in reversed(self._sessions):
            session.change_state(state)
            session.drop_states()


UNCHANGED = ParameterSteps()
"""Parameters stay as they are."""


@contextlib.contextmanager
def stepping(
    problem: IsolatedProblem, sessions: Sequence[RunnerSession], slots: Sequence[Slot]
) -> Iterator[ParameterSteps]:
    """Steps between timed calls, the candidate's session being the first. Afterwards, also of an exception, parameters
    have the values that they had, where the processes still answer."""
    steps = ParameterSteps(problem, sessions)
    if not steps.begin():
        yield UNCHANGED
        return
    try:
        yield steps
    except BaseException:
        with contextlib.suppress(RunnerFault):  # what went wrong first is reported
            steps.end(slots)
        raise
    steps.end(slots)
