"""A candidate on trial, without processes: tests say what its gates would find there."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from workers.referee.boundary.exchange import TimeLimit
from workers.referee.costs.reference_traits import ReferenceTraits
from workers.referee.reference_accuracy import ReferenceAccuracy
from workers.referee.trial import Measured, Trial
from workers.referee.tried_values import TriedValues

PARTS = {"accuracy": ReferenceAccuracy, "traits": ReferenceTraits, "tried": TriedValues}
"""Attributes of a `ReferenceState`, and what they are."""


def a_reference(**facts: Any) -> Any:
    """A stand-in for a `ReferenceState` that has these attributes: itself, or the part of it whose they are."""
    parts = {name: {one: facts.pop(one) for one in [*facts] if hasattr(kind, one)} for name, kind in PARTS.items()}
    return SimpleNamespace(**facts, **{name: SimpleNamespace(**known) for name, known in parts.items()})


def a_trial(*measured: Measured, session: Any = None, state: Any = None, problem: Any = None, **request: Any) -> Trial:
    """A trial on a CPU whose candidate was measured so. `state` and `problem` take the place of the reference's;
    `request` has further fields of the request."""
    asked = {"source": "", "backend": "cpp", "baselines": ("eager",), "every_gate": True, "timeout_s": 60.0, **request}
    state = state or a_reference()
    if problem is not None:
        state.problem = problem
    if not hasattr(state, "place"):
        state.place = SimpleNamespace(is_gpu=False)
    trial = Trial(request=SimpleNamespace(**asked), state=state, time_limit=TimeLimit(left_s=60.0))  # type: ignore[arg-type]
    trial.measured.extend(measured)
    if session is not None:
        trial.runner = SimpleNamespace(session=session)  # type: ignore[assignment]
    return trial
