"""Is a baseline right? It is judged as a candidate is, on fresh values, before any figure of it counts.

A compiler may compute wrong values, and a reference may be another in another process: wrong calls are no rivals.
"""

from __future__ import annotations

from typing import Any, Protocol

from workers.ipc.tensors import TensorMeta, flatten
from workers.referee.boundary.isolated_problem import IsolatedProblem
from workers.referee.boundary.runner_client import RunnerSession
from workers.referee.comparison.judgement import Standard, judged_inputs, judged_on_values
from workers.referee.comparison.output_structure import Answer
from workers.referee.comparison.tolerance import ErrorScale
from workers.referee.errors import FaultKind, Refused, RunnerFault
from workers.referee.inputs.distributions import OWN, Distribution
from workers.referee.timing.single_calls import Side
from workers.runner.step import DENSE

EAGER = "plain"
"""The process's model that is the reference as it stands."""
JUDGED_SLOT = 600_000
"""The slot of judged calls, which is gone before anything is timed."""
JUDGED_LIMIT_S = 180.0
"""For a call: the first one compiles."""
REMEDY = (
    "Let the outputs depend on the arguments of forward alone: not on the environment, the time, the process's id or "
    "other global state, nor on how many threads compute them."
)
DRAWS = 2
"""Of the problem's own values."""
SMALL_BYTES = 16 << 20
"""Inputs of a call up to which another kind of values is tried too."""


class WrongBaseline(RunnerFault):
    """A compiled baseline's outputs are not the reference's; `str` says where."""

    def __init__(self, detail: str) -> None:
        super().__init__(FaultKind.RAISED, detail)
        self.of_baseline = True


class KindsOfValues(Protocol):
    """What candidates are tried on."""

    def usable(self, number: int) -> list[Distribution]:
        """The distributions that are tried on an open input set, the problem's own first."""


class Reference(Standard, Protocol):
    """What says which outputs are right, and draws arguments."""

    def draw(self, number: int, distribution: Distribution) -> list[Any]:
        """Fresh arguments for an input set."""

    def expected(self, arguments: list[Any]) -> Answer:
        """What the reference makes of arguments, which stay as they are. Raises `Refused`."""

    def scales(self, number: int, distribution: Distribution) -> tuple[ErrorScale, ...] | None:
        """How exact it is for such draws, one figure an output; None when it cannot take them."""

    @property
    def tried(self) -> KindsOfValues:
        """The kinds of values that are tried on input sets."""


class BaselineJudge:
    """Judges the models of the baselines' process, each once on an input set in the life of the process."""

    def __init__(self, reference: Reference, problem: IsolatedProblem) -> None:
        self._reference = reference
        self._problem = problem
        self._wrong: dict[tuple[str, int], str | None] = {}
        """What is wrong with a model's outputs on an input set; None where they are right."""
        self.disagreement: str | None = None
        """What eager mode gives there that the reference does not give here."""

    def knows(self, model: str, number: int) -> bool:
        """Whether a model was judged on an input set."""
        return (model, number) in self._wrong

    def forget(self) -> None:
        """There is another process, which compiles anew."""
        self._wrong.clear()

    def check(
        self,
        session: RunnerSession,
        model: str,
        number: int,
        arguments: list[Any],
        metas: list[TensorMeta],
        *,
        few: bool,
    ) -> None:
        """Judge a model on an input set, of which `arguments` are a draw, where that was not done; with `few`, on the
        problem's own values only. Raises `RunnerFault`, `WrongBaseline`, and `Refused` where eager mode is wrong."""
        if not self.knows(model, number):
            self._wrong[model, number] = self._judged(session, model, number, arguments, metas, few=few)
        wrong = self._wrong[model, number]
        if wrong is None:
            return
        named = self._problem.set_names[number] if number >= 0 else f"held-out input set {-number}"
        if model != EAGER:
            raise WrongBaseline(f"wrong on {named}: {wrong}")
        self.disagreement = f"the reference gives other outputs in another process, on {named}: {wrong}"
        raise Refused(self.disagreement, REMEDY, self._problem.forward_line)

    def _judged(
        self,
        session: RunnerSession,
        model: str,
        number: int,
        arguments: list[Any],
        metas: list[TensorMeta],
        *,
        few: bool,
    ) -> str | None:
        """What is wrong with a model's outputs on an input set, or None."""
        slot = session.open_slot(JUDGED_SLOT, arguments, metas)
        side = Side(session=session, slot=slot, model=model)
        try:
            for distribution in _tried(self._reference, number, few=few or model == EAGER):
                wrong = _wrong_on(self._reference, side, number, distribution)
                if wrong is not None:
                    break
            session.forget([slot])
        except RunnerFault as fault:
            if fault.kind is FaultKind.MEMORY:  # no candidate is responsible for what this takes
                fault.kind = FaultKind.CRASHED
            raise
        finally:
            slot.close()
        return wrong


def _tried(reference: Reference, number: int, *, few: bool) -> list[Distribution]:
    """The problem's own values, and the mildest other kind where that is cheap."""
    tried = [OWN] * DRAWS
    if few or number < 0 or sum(tensor.nbytes for tensor in flatten(reference.draw(number, OWN))) > SMALL_BYTES:
        return tried
    others = [one for one in reference.tried.usable(number) if one.transform and one.finite and one.layout == DENSE]
    return tried + sorted(others, key=lambda one: one.harsh)[:1]


def _wrong_on(reference: Reference, side: Side, number: int, distribution: Distribution) -> str | None:
    """What is wrong with the outputs of one call, or None."""
    arguments = reference.draw(number, distribution)
    try:
        answer = reference.expected(arguments)
    except Refused:
        if distribution is OWN:
            raise
        return None
    tensors, slot = flatten(arguments), side.slot
    slot.write(tensors)
    side.session.call(slot, side.model, limit_s=JUDGED_LIMIT_S)
    fetched = side.session.fetch(slot)
    side.session.drop()
    scales = reference.scales(number, distribution) or ()
    wrong = judged_inputs(reference, slot.inputs.tensors, arguments, answer, distribution).wrong
    wrong = wrong or judged_on_values(reference, fetched, arguments, answer, distribution, scales).wrong
    return None if wrong is None else f"{distribution.name} values: {wrong}"
