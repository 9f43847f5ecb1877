"""A kernel of an operator: when it may run, and how it is run."""

from __future__ import annotations

import importlib
import threading
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from .saving import Plan, Recorded, is_plain, recorded
from .subject import Layout, Stateless, Subject, is_like


@dataclass(frozen=True)
class Kernel:
    """A kernel and what it was proven for."""

    module: str
    """Import path of the module with `ModelNew`; imported, and built, at its first use."""
    device: str
    """Device type: `cpu` or `cuda`."""
    sets: tuple[str, ...]
    """The problem's input sets that it was proven on and does not lose on: `get_inputs`, `INPUT_SETS[0]`,
    …; `HELD_OUT` is all of them."""
    backward: bool = False
    """Whether its gradients were proven too."""
    processor: str | None = None
    """Part of the GPU's name, as torch gives it; None for any."""


class Proven:
    """A kernel with its model, once loaded, and what it saves for its backward at each of its layouts."""

    def __init__(self, kernel: Kernel, subject: Subject) -> None:
        self.kernel = kernel
        self._sets = [
            subject.sets[name] for name in subject.sets if name.partition("[")[0] in kernel.sets or name in kernel.sets
        ]
        self.layouts = tuple(one.layouts for one in self._sets)
        self._subject = subject
        self._loaded: Stateless | None = None
        self._failed = False
        self._plans: dict[int, Plan | None] = {}
        self._lock = threading.RLock()

    def match(self, arguments: Sequence[Any]) -> int | None:
        """The number of the proven layouts that a call has."""
        for index in self._subject.tensors:
            if arguments[index].device.type != self.kernel.device:
                return None
        for number, layouts in enumerate(self.layouts):
            if is_like(arguments, layouts):
                return number
        return None

    def is_ready(self, number: int, *, saving: bool) -> bool:
        """Whether the kernel can be used on this machine; warns once why not."""
        with self._lock:
            if self._failed:
                return False
            try:
                self._load()
                return self._is_its_processor() and (not saving or self.plan(number) is not None)
            except Exception as error:  # noqa: BLE001 - whatever stands in its way, the original runs
                self._failed = True
                reason = (str(error).strip().splitlines() or [""])[0]
                warnings.warn(
                    f"{self._subject.name}: the kernel {self.kernel.module} cannot be used here, the original runs "
                    f"instead ({type(error).__name__}: {reason})",
                    stacklevel=2,
                )
                return False

    def __call__(self, arguments: Sequence[Any]) -> Any:
        """The kernel's own answer."""
        return self._load()(arguments, self._subject.inputs)

    def plan(self, number: int) -> Plan | None:
        """What a forward saves for its backward at these layouts; None where a backward needs more than that."""
        with self._lock:
            if number not in self._plans:
                self._load()  # the thread must not wait for the lock that is held here
                # In a thread of its own: tracing's modes, under which tensors have no values, belong to a thread.
                thread = threading.Thread(target=self._measure, args=(number,))
                thread.start()
                thread.join()
            return self._plans[number]

    def forward(self, arguments: Sequence[Any]) -> tuple[Recorded, Plan]:
        """Outputs and what a backward needs. Raises `RuntimeError` for a call that was not proven."""
        name = self._subject.name
        number = self.match(arguments)
        plan = None if number is None else self.plan(number)
        if plan is None:
            raise RuntimeError(f"{name}_saving is for proven calls only: call {name}, or the package's Model")
        ran = self._recorded(arguments)
        if (ran.places, ran.attributes) != (plan.places, plan.attributes):
            raise RuntimeError(
                f"{name}: {self.kernel.module} saved something else than at first; call it in eager mode"
            )
        plan.graphs.setdefault(_stream(arguments), ran.graph)
        return ran, plan

    def backward(
        self,
        arguments: Sequence[Any],
        results: Sequence[Tensor],
        cotangents: Sequence[Tensor],
        wanted: Sequence[int],
    ) -> list[Tensor]:
        """Gradients of the wanted arguments from a forward's results: outputs, then extras."""
        number = self.match(arguments)
        plan = None if number is None else self.plan(number)
        if plan is None:
            raise RuntimeError(
                f"{self._subject.name}_saving_backward is for what {self._subject.name}_saving gave only"
            )
        stream = _stream(arguments)
        if stream not in plan.graphs:
            plan.graphs[stream] = self._recorded(arguments).graph
        split = self._subject.outputs
        bases = {"argument": arguments, "output": results[:split], "extra": results[split:]}
        saved = [place.found_in(bases[place.kind][place.index]) for place in plan.places]
        found = plan.graphs[stream].backward(cotangents, saved, wanted)
        return [
            torch.zeros_like(arguments[index]) if one is None else one for index, one in zip(wanted, found, strict=True)
        ]

    def _load(self) -> Stateless:
        if self._loaded is None:
            with self._lock:
                module = importlib.import_module(self.kernel.module)
                self._loaded = Stateless(module.ModelNew, self._subject.init).named_as(self._subject.original)
        return self._loaded

    def _is_its_processor(self) -> bool:
        wanted = self.kernel.processor
        if wanted is None or self.kernel.device != "cuda":
            return True
        return wanted.lower() in torch.cuda.get_device_name().lower()

    def _measure(self, number: int) -> None:
        """Fill in a plan from a run on zeros."""
        self._plans[number] = None
        values = [_zeros(layout, self.kernel.device) for layout in self.layouts[number]]
        for index, value in self._sets[number].scalars:
            values[index] = value
        ran = self._recorded(values)
        if all(is_plain(value) for value in ran.attributes):
            extras = tuple((extra.numel(), extra.dtype) for extra in ran.extras)
            self._plans[number] = Plan(places=ran.places, extras=extras, attributes=ran.attributes)

    def _recorded(self, arguments: Sequence[Any]) -> Recorded:
        return recorded(self._load(), arguments, self._subject.inputs, self._subject.differentiable)


def _stream(arguments: Sequence[Any]) -> int:
    device = next(value.device for value in arguments if isinstance(value, Tensor))
    return torch.cuda.current_stream(device).cuda_stream if device.type == "cuda" else 0


def _zeros(layout: Layout, device: str) -> Any:
    if len(layout) != 3:
        return None
    shape, stride, dtype = layout
    return torch.empty_strided(shape, stride, dtype=dtype, device=device).zero_()
