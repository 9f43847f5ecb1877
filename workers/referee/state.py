"""What a referee knows about its problem and keeps between candidates."""

from __future__ import annotations

import dataclasses
import random
import secrets
from collections.abc import Callable, Sequence
from typing import Any

import torch

from services.domain.devices import DeviceSheet
from services.domain.measurements import Baselines
from services.domain.problems import ProblemAnalysis
from workers.ipc.placement import TensorDevice
from workers.ipc.tensors import TensorMeta, flatten
from workers.referee.baselines.measurement import STATIC_SETS, BaselineBench
from workers.referee.baselines.overhead import ReferenceCost
from workers.referee.boundary.isolated_problem import IsolatedProblem
from workers.referee.boundary.problem_messages import Manners
from workers.referee.boundary.worker_client import WorkerLink
from workers.referee.comparison.error_scales import same_bytes
from workers.referee.comparison.output_structure import Answer, Selection
from workers.referee.comparison.tolerance import ErrorScale
from workers.referee.costs.reference_traits import ReferenceTraits
from workers.referee.errors import Refused
from workers.referee.inputs.constraints import is_same
from workers.referee.inputs.distributions import OWN, Distribution, changes, drawn
from workers.referee.inputs.fresh_values import FreshValues, mixable
from workers.referee.inputs.large_inputs import is_large
from workers.referee.inputs.unvarying import unvarying
from workers.referee.reference_accuracy import ReferenceAccuracy, are_steady
from workers.referee.tried_values import COMPARED_DRAWS, TriedValues
from workers.runner.step import GraphUse

FORWARD = GraphUse(gradients=())
"""Of a step, that nobody asks for a gradient."""
SEED_BITS = 31
"""Of the seed of a draw."""
TIMED_HELD_OUT = 8
"""Held-out input sets that are timed, at most: each costs half a second and, once, a compilation of the baseline."""
MOST_MOVED = 1 / 8
"""Share of a tensor's elements that may be moved back into the range that the problem promises: a tensor that is mostly
one value shows little, and what is left of its variance is rounding."""


class DeviceCare:
    """Keeps others off a GPU while it is used, and does not use one that a candidate may have broken."""

    def __init__(self, place: TensorDevice, hold: Callable[[], float]) -> None:
        self._place = place
        self._hold = hold
        self.doubtful = False
        """Whether a candidate's process ended so that the device has to show that it still works."""

    def take(self) -> float:
        """Have the device until the request is answered; the seconds that took. Raises `InfrastructureError`."""
        if not self._place.is_gpu:
            return 0.0
        waited = self._hold()
        if self.doubtful:
            self._place.check_health()
            self.doubtful = False
        return waited


class ReferenceState:
    """A loaded problem with its baselines, and what its reference makes of draws."""

    def __init__(
        self,
        *,
        problem: IsolatedProblem,
        analysis: ProblemAnalysis,
        device: DeviceSheet,
        link: WorkerLink,
        baselines: Baselines,
        baselines_age_s: float = 0.0,
    ) -> None:
        self.problem = problem
        self.analysis = analysis
        self.device = device
        self.link = link
        self.place = problem.place
        self.threads = self.place.host_threads(device.units)
        self.bench = BaselineBench(link, problem, baselines, self.threads, reference=self, age_s=baselines_age_s)
        self.care = DeviceCare(self.place, link.hold_device)
        self.traits = ReferenceTraits(analysis, is_step=problem.is_step)
        self.accuracy = ReferenceAccuracy(
            problem, self.traits, expected=self.expected, usual=lambda: self.expected(self.draw(0, OWN))
        )
        self.tried = TriedValues(
            problem, self.traits, is_one_of_many=self.is_one_of_many, draw=self.draw, scales=self.scales
        )
        self.reference_bytes = 0
        """The most device memory that a run of the reference took, besides its inputs."""
        self.reference_costs: dict[str, ReferenceCost] = {}
        """By baseline, where that was looked at."""
        self._scales: dict[tuple[int, str], tuple[ErrorScale, ...] | None] = {}
        self._metas: dict[int, list[TensorMeta]] = {}
        self._mixable: dict[int, list[bool]] = {}
        self._unvarying: list[int] | None = None
        self._is_large: bool | None = None
        self._manners: Manners | None = None
        self._overwritable: tuple[tuple[int, ...], tuple[int, ...]] | None = None

    def keep_weights_secret(self) -> None:
        """Where a candidate was given the seed of the weights, draw others for the next, in the baselines' process too.
        How exact the reference is, and what it can take, is not a matter of the very weights."""
        if self.problem.seed_is_out:
            self.problem.draw_weights_anew()
            self.bench.restart()

    def draw(self, number: int, distribution: Distribution) -> list[Any]:
        """Fresh arguments for an input set."""
        arguments = self.problem.make_inputs(number, secrets.randbits(SEED_BITS), distribution.layout)
        return self.changed(arguments, distribution)

    def changed(self, arguments: list[Any], distribution: Distribution) -> list[Any]:
        """Arguments changed as a distribution has it, as far as the problem's promises permit."""
        changed = drawn(arguments, distribution)
        if distribution.own_cotangents:
            count = len(self.problem.forward_arguments(arguments))
            changed = [*changed[:count], *arguments[count:]]
        return self.problem.limits.kept(arguments, changed) if self.problem.limits else changed

    def expected(self, arguments: list[Any], use: GraphUse | None = None) -> Answer:
        """What the reference makes of arguments, which stay as they are; of a step, with such a use of its graph."""
        answer = self.problem.run(arguments, with_inputs=self.mutates, use=use)
        self.reference_bytes = max(self.reference_bytes, answer.peak_bytes)
        if self.traits.choices:
            return dataclasses.replace(answer, selections=self._selections(arguments, answer))
        return answer

    def scales(self, number: int, distribution: Distribution) -> tuple[ErrorScale, ...] | None:
        """How exact the reference is for such draws, one figure an output; None when it cannot take them."""
        key = (number, distribution.name)
        if key not in self._scales:
            self._scales[key] = self.measured_scales(number, distribution)
        return self._scales[key]

    def values(
        self, number: int, pool: Sequence[Sequence[torch.Tensor]], draw: Callable[[], Sequence[torch.Tensor]]
    ) -> FreshValues:
        """The values of an input set's timed calls, from some draws of it and what makes another."""
        if number not in self._mixable:
            self._mixable[number] = mixable(pool)
        return FreshValues(pool, draw, known=self._mixable[number])

    @property
    def unvarying(self) -> list[int]:
        """Numbers of the leaves of `forward`'s arguments that no draw of the first input set changes."""
        if self._unvarying is None:
            draws = (self.problem.forward_arguments(self.draw(0, OWN)) for _ in range(COMPARED_DRAWS))
            self._unvarying = unvarying(draws)
        return self._unvarying

    def known_scales(self, distribution: Distribution) -> tuple[ErrorScale, ...]:
        """How exact the reference is for such draws of the first input set, where that was measured, or for its own."""
        return self._scales.get((0, distribution.name)) or self.scales(0, OWN) or ()

    def metas(self, number: int) -> list[TensorMeta]:
        """Shapes and dtypes of the outputs of an input set."""
        if number not in self._metas:
            self.scales(number, OWN)
        return self._metas[number]

    @property
    def is_large(self) -> bool:
        """Whether a call's tensors are such that copies of them must be few; see `inputs.large_inputs`."""
        if self._is_large is None:
            self._is_large = self.place.is_gpu and is_large(self.place, flatten(self.draw(0, OWN)), self.metas(0))
        return self._is_large

    @property
    def mutates(self) -> bool:
        """Whether the reference changes its arguments."""
        return self._learned().mutates

    @property
    def aliases(self) -> frozenset[tuple[int, int]]:
        """Outputs of the reference that lie in the memory of arguments: the number of each, and of the argument."""
        return frozenset(self._learned().aliases)

    @property
    def shares(self) -> frozenset[tuple[int, int | None]]:
        """Outputs of the reference that lie in each other's memory: the later one's number and the earlier one's, or
        None where that is the model's."""
        return frozenset(self._learned().shares)

    @property
    def modes(self) -> frozenset[tuple[int, str]]:
        """Outputs of the reference that a mode of torch makes other tensors than usual, and what they are."""
        return frozenset(self._learned().modes)

    def _learned(self) -> Manners:
        if self._manners is None:
            self._manners = self.problem.manners(self.draw(0, OWN))
        return self._manners

    def overwritable(self, count: int, outputs: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Of a step with so many tensors among its arguments and outputs: those of either that may change in place
        between forward and backward, as the reference has the same gradients then."""
        if self._overwritable is None:
            arguments = self.draw(0, OWN)
            usual = self.expected(arguments).tensors

            def keeps(use: GraphUse) -> bool:
                try:
                    made = self.expected(arguments, use).tensors
                except Refused:
                    return False
                return all(map(same_bytes, made, usual))

            self._overwritable = (
                tuple(one for one in range(count) if keeps(GraphUse(overwritten=(one,)))),
                tuple(one for one in range(outputs) if keeps(GraphUse(overwritten_outputs=(one,)))),
            )
        return self._overwritable

    @property
    def set_numbers(self) -> list[int]:
        """All open input sets: 0 for `get_inputs`, then INPUT_SETS, then those announced of SHAPES."""
        return list(range(self.problem.input_sets + 1))

    @property
    def is_one_of_many(self) -> bool:
        """Whether there are so many input sets that each gives its memory back, and gets less time than a few would."""
        return self.problem.input_sets >= STATIC_SETS

    @property
    def held_out_numbers(self) -> list[int]:
        """The held-out input sets."""
        return [-index - 1 for index in range(self.problem.held_out)]

    @property
    def timed_held_out(self) -> list[int]:
        """Those of them that are timed at a job's end; of many a random sample."""
        numbers = self.held_out_numbers
        return sorted(random.SystemRandom().sample(numbers, min(TIMED_HELD_OUT, len(numbers))), reverse=True)

    def measured_scales(
        self, number: int, distribution: Distribution, metas: Sequence[TensorMeta] | None = None
    ) -> tuple[ErrorScale, ...] | None:
        """The same of the model that is the reference now. `metas`: what its outputs are for the problem's own values,
        where it is built with other settings."""
        arguments = self.problem.make_inputs(number, secrets.randbits(SEED_BITS), distribution.layout)
        if not changes(arguments, distribution):
            return None  # whether the reference takes it is not known
        if self.problem.limits and not self._is_within_limits(arguments, distribution):
            return None
        arguments = self.changed(arguments, distribution)
        try:
            outputs = self.expected(arguments).tensors
        except Refused:
            if distribution.transform is None:
                raise
            return None  # it was not written for such values
        if distribution.transform is None:
            self._metas[number] = [TensorMeta.of(tensor) for tensor in outputs]
        elif not self.accuracy.can_judge(outputs, distribution):
            return None
        elif [TensorMeta.of(tensor) for tensor in outputs] != (metas or self.metas(number)):
            return None  # outputs as large as the inputs' values say
        return self.accuracy.fit_scales(arguments, outputs, distribution)

    def forward_scales(self, arguments: list[Any], distribution: Distribution) -> tuple[ErrorScale, ...] | None:
        """How exact a step's forward is for changed arguments, beside zeros for gradients; None where that is not fit
        to judge a kernel by."""
        try:
            outputs = self.expected(arguments, FORWARD).tensors
        except Refused:
            return None
        first = self.first_gradient
        if [TensorMeta.of(one) for one in outputs] != self.metas(0):
            return None
        if not self.accuracy.can_judge(outputs[:first], distribution):
            return None
        scales = self.accuracy.scales_on(arguments, outputs, distribution, use=FORWARD)
        if scales is None or not are_steady(scales[:first], outputs[:first]):
            return None
        in_lines = [dataclasses.replace(one, relative=max(one.row, one.column)) for one in scales[:first]]
        return scales if are_steady(in_lines, outputs[:first]) else None

    @property
    def first_gradient(self) -> int:
        """The number of the first gradient among a call's outputs; that of the outputs where there is none."""
        return len(self.metas(0)) - len(self.problem.gradient_names)

    def _is_within_limits(self, arguments: list[Any], distribution: Distribution) -> bool:
        """Whether a kind of values is worth a try where the problem promises something: it changes what it may change,
        and hardly anything has to be moved back into its range, nothing where ties are not specified."""
        if distribution.transform is None:
            return True
        changed = drawn(arguments, distribution)
        kept = self.problem.limits.kept(arguments, changed)
        if is_same(kept, arguments) or (distribution.uneven and not is_same(kept, changed)):
            return False
        return self.problem.limits.moved_share(changed, kept) <= (MOST_MOVED if self.traits.knows_ties else 0.0)

    def _selections(self, arguments: list[Any], answer: Answer) -> dict[int, Selection]:
        """What outputs hold places of, where it may be looked up."""
        given = flatten(self.problem.forward_arguments(arguments))
        if len(answer.tensors) - len(self.problem.gradient_names) != len(self.analysis.outputs):
            return {}
        known = len(given) == len(self.analysis.inputs)
        return {
            index: Selection(
                dim=choice.dim,
                source=given[choice.source] if known and choice.source is not None else None,
                values=choice.values,
            )
            for index, choice in self.traits.choices.items()
        }


def ensure_set(state: ReferenceState, names: tuple[str, ...], number: int) -> None:
    """Have the baselines measured on an input set other than the first, and give the memory of it back."""
    state.bench.ensure_set(names, number, lambda: state.draw(number, OWN), lambda: state.metas(number))
    if state.is_one_of_many:
        state.bench.release(number)
