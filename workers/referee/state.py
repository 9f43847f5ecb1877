"""What a referee knows about its problem and keeps between candidates."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import Any

import torch

from services.domain.evaluations import Baselines, DeviceSheet
from services.domain.problems import ProblemAnalysis
from workers.ipc.placement import TensorDevice
from workers.ipc.tensors import TensorMeta, flatten
from workers.referee.bench import BaselineBench
from workers.referee.comparison import ErrorScale, all_finite, error_scale
from workers.referee.draws import DISTRIBUTIONS, Distribution, transformed
from workers.referee.fresh_values import FreshValues, mixable
from workers.referee.problem import ReferenceProblem, cloned, output_tensors
from workers.referee.stopwatch import stopwatch_for
from workers.referee.worker_client import WorkerLink

SEED_BITS = 31


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
    """A loaded problem with its baselines, how exact its reference is, and which draws it can take."""

    def __init__(
        self,
        *,
        problem: ReferenceProblem,
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
        self.stopwatch = stopwatch_for(self.place)
        self.bench = BaselineBench(link, problem, baselines, self.threads, self.stopwatch, age_s=baselines_age_s)
        self.care = DeviceCare(self.place, link.hold_device)
        self.reference_bytes = 0
        """The most device memory that a run of the reference took, beside its inputs."""
        self._scales: dict[tuple[int, str], tuple[ErrorScale, ...] | None] = {}
        self._metas: dict[int, list[TensorMeta]] = {}
        self._mixable: dict[int, list[bool]] = {}
        self._mutates: bool | None = None
        self._aliases: bool | None = None

    def draw(self, number: int, distribution: Distribution) -> list[Any]:
        """Fresh arguments for an input set."""
        arguments = self.problem.make_inputs(number, secrets.randbits(SEED_BITS))
        return list(transformed(arguments, distribution.transform))

    def expected(self, arguments: list[Any]) -> list[torch.Tensor]:
        """What the reference returns for arguments, which stay as they are."""
        given = cloned(arguments) if self.mutates else arguments
        self.place.forget_peak()
        outputs = output_tensors(self.problem.run(given))
        self.reference_bytes = max(self.reference_bytes, self.place.peak_bytes())
        return outputs

    def scales(self, number: int, distribution: Distribution) -> tuple[ErrorScale, ...] | None:
        """How exact the reference is for such draws, one figure an output; None when it cannot take them."""
        key = (number, distribution.name)
        if key not in self._scales:
            self._scales[key] = self._measure_scales(number, distribution)
        return self._scales[key]

    def values(
        self, number: int, pool: Sequence[Sequence[torch.Tensor]], draw: Callable[[], Sequence[torch.Tensor]]
    ) -> FreshValues:
        """The values of an input set's timed calls, from some draws of it and what makes another."""
        if number not in self._mixable:
            self._mixable[number] = mixable(pool)
        return FreshValues(pool, draw, known=self._mixable[number])

    def usable(self, number: int) -> list[Distribution]:
        """The distributions whose draws give the reference finite outputs; the problem's own always."""
        return [d for d in DISTRIBUTIONS if d.transform is None or self.scales(number, d) is not None]

    def metas(self, number: int) -> list[TensorMeta]:
        """Shapes and dtypes of the outputs of an input set."""
        if number not in self._metas:
            self.scales(number, DISTRIBUTIONS[0])
        return self._metas[number]

    @property
    def mutates(self) -> bool:
        """Whether the reference changes its arguments."""
        if self._mutates is None:
            self._learn_manners()
        return bool(self._mutates)

    @property
    def aliases(self) -> bool:
        """Whether the reference returns (part of) its arguments."""
        if self._aliases is None:
            self._learn_manners()
        return bool(self._aliases)

    @property
    def set_numbers(self) -> list[int]:
        """All open input sets: 0 for `get_inputs`, then INPUT_SETS."""
        return list(range(len(self.problem.input_sets) + 1))

    @property
    def held_out_numbers(self) -> list[int]:
        """The held-out input sets."""
        return [-index - 1 for index in range(len(self.problem.held_out))]

    def _measure_scales(self, number: int, distribution: Distribution) -> tuple[ErrorScale, ...] | None:
        arguments = self.draw(number, distribution)
        outputs = self.expected(arguments)
        if distribution.transform is None:
            self._metas[number] = [TensorMeta.of(tensor) for tensor in outputs]
        elif not all_finite(outputs):
            return None
        exact = self.problem.run_double(arguments)
        exact_tensors = output_tensors(exact) if exact is not None else []
        self.place.release()
        if len(exact_tensors) != len(outputs):
            return tuple(ErrorScale() for _ in outputs)
        return tuple(error_scale(output, other) for output, other in zip(outputs, exact_tensors, strict=True))

    def _learn_manners(self) -> None:
        self._mutates = False
        arguments = self.draw(0, DISTRIBUTIONS[0])
        given = cloned(arguments)
        outputs = output_tensors(self.problem.run(given))
        tensors = flatten(given)
        self._mutates = not all(same_bytes(a, b) for a, b in zip(flatten(arguments), tensors, strict=True))
        ranges = [(t.data_ptr(), t.data_ptr() + t.numel() * t.element_size()) for t in tensors]
        self._aliases = any(low <= out.data_ptr() < high for out in outputs for low, high in ranges)


def same_bytes(left: torch.Tensor, right: torch.Tensor) -> bool:
    """Whether two tensors hold the same bytes (NaN equals itself here)."""
    if left.shape != right.shape or left.dtype != right.dtype:
        return False
    if left.numel() == 0:
        return True
    kinds = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64, 16: torch.int64}
    kind = kinds[left.element_size()]
    flat_left, flat_right = left.contiguous().reshape(-1), right.contiguous().reshape(-1)
    return torch.equal(flat_left.view(kind), flat_right.view(kind))
