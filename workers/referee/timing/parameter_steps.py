"""Parameters that change between timed calls, as they do between the steps of a training.

Where gradients are judged, a call is a step of training, and after each step the parameters have other values in the
same memory. So each timed call finds others than the one before it, for the candidate as for the baseline: what is
made of the parameters (packed, transposed, rounded) is part of the call. Two sets of values take turns. Between single
calls they are put in by a request of its own, which no clock sees.
Inside of a batch the runner puts them in: a GPU's events do not see that, and on the CPU the model that computes
nothing takes as long over it.

In inference a kernel may keep what it makes of the parameters as long as these stay as they are. On the CPU they change
now and then, and a call that is not timed follows: a kernel that keeps too much is wrong from then on.
"""

from __future__ import annotations

import contextlib
import random
import secrets
from collections.abc import Callable, Iterator, Sequence

from workers.referee.boundary.isolated_problem import SEED_BITS, IsolatedProblem
from workers.referee.boundary.runner_client import RunnerSession
from workers.referee.boundary.slots import Slot
from workers.referee.errors import RunnerFault

CHANGES = 1 / 8
"""Share of the timed pairs before which parameters change in inference."""
MOST_BYTES = 256 << 20
"""Of parameters and buffers; larger ones stay as they are between timed calls: each process holds them twice more."""


class ParameterSteps:
    """Whose parameters change, and between which values. Without sessions nothing does."""

    def __init__(
        self,
        problem: IsolatedProblem | None = None,
        sessions: Sequence[RunnerSession] = (),
        *,
        every_call: bool = True,
    ) -> None:
        """The first session is the candidate's. `every_call`: whether they change before each call, as in a training,
        or now and then."""
        self._problem = problem
        self._every_call = every_call
        self._sessions = sessions
        self._seeds = [secrets.randbits(SEED_BITS) for _ in range(2)] if sessions else []
        self._turn = 0
        self._has_changed = False
        """Whether they are others than the model was built with, where they change now and then."""

    @property
    def has_any(self) -> bool:
        """Whether parameters change."""
        return bool(self._seeds)

    def begin(self, is_fit: Callable[[], bool]) -> bool:
        """Hand the values over; whether there are any to change, and the reference `is_fit` with them."""
        assert self._problem is not None
        for number, seed in enumerate(self._seeds):
            with self._problem.moved_parameters(seed) as applies:
                applies = applies and is_fit()
                state = self._problem.state() if applies else []
            if not applies or sum(tensor.nbytes for _, tensor in state) > MOST_BYTES:
                self._seeds = []
                return False
            for session in self._sessions:
                session.hold_state(number, state)
        return True

    def step(self, slots: Sequence[Slot]) -> None:
        """Change the parameters before a single call on each of these slots, where every call finds others."""
        if not self._seeds or not self._every_call:
            return
        self._change()
        for slot in slots:
            slot.state = self._turn

    def take(self, slots: Sequence[Slot]) -> None:
        """Say which values come before each call of a batch on these slots, where every call finds others."""
        for slot in slots if self._seeds and self._every_call else ():
            self._turn = 1 - self._turn
            slot.state = self._turn

    def now_and_then(self, call: Callable[[], object]) -> None:
        """Change the parameters, by chance, where not every call finds others, and make a `call` of both sides."""
        if not self._seeds or self._every_call or random.SystemRandom().random() >= CHANGES:
            return
        self._change()
        self._has_changed = True
        call()

    def _change(self) -> None:
        self._turn = 1 - self._turn
        for session in self._sessions:
            session.put_state(self._turn)

    @contextlib.contextmanager
    def judging(self, slot: Slot) -> Iterator[None]:
        """Inside, the reference and the candidate have the values that the last timed call on a slot had."""
        state = self._turn if self._has_changed else slot.state
        if not self._seeds or state is None or self._problem is None:
            yield
            return
        if self._every_call:
            self._sessions[0].put_state(state)
        with self._problem.moved_parameters(self._seeds[state]):
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
    problem: IsolatedProblem,
    sessions: Sequence[RunnerSession],
    slots: Sequence[Slot],
    *,
    is_fit: Callable[[], bool] = lambda: True,
) -> Iterator[ParameterSteps]:
    """Steps between timed calls, the candidate's session being the first. `is_fit` is asked while the reference has
    such parameters. Afterwards, also of an exception, they have the values that they had, where the processes still
    answer."""
    steps = ParameterSteps(problem, sessions, every_call=problem.is_step)
    if not steps.begin(is_fit):
        yield UNCHANGED
        return
    try:
        yield steps
    except BaseException:
        with contextlib.suppress(RunnerFault):  # what went wrong first is reported
            steps.end(slots)
        raise
    steps.end(slots)
