"""A problem as operators see it: its original without weights of its own, and the layouts of its input sets."""

from __future__ import annotations

import importlib
import inspect
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

SCALARS = {bool: "bool", int: "SymInt", float: "float", str: "str"}
"""Arguments that are no tensors, and how an operator's schema calls them."""
Layout = tuple[Any, ...]
"""Of a tensor (shape, stride, dtype); of another argument (type, repr)."""


class Stateless:
    """A module whose weights are handed in with each call."""

    def __init__(self, kind: Callable[..., nn.Module], init: Sequence[Any]) -> None:
        with torch.random.fork_rng(devices=()):
            self.model = kind(*init)
        self.state: dict[str, Tensor] = {**dict(self.model.named_parameters()), **dict(self.model.named_buffers())}
        self.names = tuple(self.state)
        self.parameters = frozenset(name for name, _ in self.model.named_parameters())
        self.model.to("meta")  # the weights of the calls are used, these need no memory
        self._lock = threading.RLock()
        self._slots = self._slots_of(self.names)

    def named_as(self, other: Stateless) -> Stateless:
        """This with weights in the other's order: by name and shape, else in order of registration."""
        theirs = {name: tuple(value.shape) for name, value in other.state.items()}
        ours = {name: tuple(value.shape) for name, value in self.state.items()}
        if ours != theirs and list(ours.values()) != list(theirs.values()):
            raise RuntimeError("its weights are not those of the original by name or order")
        self._slots = self._slots_of(tuple(theirs) if ours == theirs else self.names)
        return self

    def _slots_of(self, names: Sequence[str]) -> tuple[tuple[dict[str, Any], str], ...]:
        found = []
        for name in names:
            path, _, leaf = name.rpartition(".")
            module = self.model.get_submodule(path)
            found.append((module._parameters if leaf in module._parameters else module._buffers, leaf))
        return tuple(found)

    def __call__(self, arguments: Sequence[Any], inputs: int) -> Any:
        """Call it on arguments whose first `inputs` are its inputs, the rest its weights."""
        with self._lock:
            before = [slot[leaf] for slot, leaf in self._slots]
            try:
                for (slot, leaf), value in zip(self._slots, arguments[inputs:], strict=True):
                    slot[leaf] = value
                return self.model(*arguments[:inputs])
            finally:
                for (slot, leaf), value in zip(self._slots, before, strict=True):
                    slot[leaf] = value


@dataclass(frozen=True)
class Set:
    """One input set of a problem, weights included."""

    layouts: tuple[Layout, ...]
    example: list[Any]
    """On the meta device."""
    scalars: tuple[tuple[int, Any], ...]
    differentiable: tuple[int, ...]


class Subject:
    """What all kernels of a problem have in common."""

    def __init__(self, name: str, original: str) -> None:
        """`original` is the problem's import path. Raises `RuntimeError` for what cannot be an operator."""
        self.name = name
        self.module = importlib.import_module(original)
        self.init = tuple(self.module.get_init_inputs())
        self.original = Stateless(self.module.Model, self.init)
        self.sets = {where: _set_of(make, self.original.state) for where, make in _makers(self.module).items()}
        first = self.sets["get_inputs"]
        self.inputs = len(first.layouts) - len(self.original.names)
        parameters = list(inspect.signature(self.module.Model.forward).parameters.values())[1 : self.inputs + 1]
        self.names = tuple(parameter.name for parameter in parameters)
        """Of the inputs; of those in a *args none but its own."""
        self.defaults = {one.name: one.default for one in parameters if one.default is not one.empty}
        """Of inputs that a call may leave out."""
        self.tensors = tuple(index for index, layout in enumerate(first.layouts) if len(layout) == 3)
        self.differentiable = first.differentiable
        self.is_single, self.outputs = _structure(name, self.original, first.example)
        self.mode_matters = any(
            "self.training" in inspect.getsource(type(module).forward) for module in self.original.model.modules()
        )


def completed(subject: Subject, given: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, ...]:
    """The inputs in their order: those given, those named, and the defaults of those left out; too few where an input
    is missing or a name is none of theirs. In plain loops, for torch.compile."""
    taken = 0
    for name in subject.names[len(given) :]:
        if name in keywords:
            given = (*given, keywords[name])
            taken += 1
        elif name in subject.defaults:
            given = (*given, subject.defaults[name])
        else:
            return ()
    return given if taken == len(keywords) else ()


def _makers(module: ModuleType) -> dict[str, Callable[[], Sequence[Any]]]:
    makers = {"get_inputs": module.get_inputs}
    for name in ("INPUT_SETS", "HELD_OUT"):
        makers |= {f"{name}[{index}]": make for index, make in enumerate(getattr(module, name, ()))}
    return makers


def _set_of(make: Callable[[], Sequence[Any]], state: dict[str, Tensor]) -> Set:
    with torch.random.fork_rng(devices=()):
        try:
            with torch.device("meta"):  # shapes only: sets may be of gigabytes
                inputs = list(make())
        except (NotImplementedError, RuntimeError):
            inputs = list(make())  # it looks at values
    marked = {index for index, value in enumerate(inputs) if isinstance(value, Tensor) and value.requires_grad}
    floats = {index for index, value in enumerate(inputs) if isinstance(value, Tensor) and value.is_floating_point()}
    weights = {
        len(inputs) + index
        for index, value in enumerate(state.values())
        if isinstance(value, nn.Parameter) and value.requires_grad and value.is_floating_point()
    }
    example = [v.detach().to("meta") if isinstance(v, Tensor) else v for v in (*inputs, *state.values())]
    return Set(
        layouts=tuple(_layout(value) for value in example),
        example=example,
        scalars=tuple((index, value) for index, value in enumerate(inputs) if not isinstance(value, Tensor)),
        differentiable=tuple(sorted((marked or floats) | weights)),
    )


def _layout(value: Any) -> Layout:
    if isinstance(value, Tensor):
        return (tuple(value.shape), tuple(value.stride()), value.dtype)
    return (type(value), repr(value))


def is_like(arguments: Sequence[Any], layouts: Sequence[Layout]) -> bool:
    """Whether a call has these layouts; in plain loops, which torch.compile turns into guards."""
    for value, layout in zip(arguments, layouts, strict=True):
        if len(layout) == 3:
            shape, stride, dtype = layout
            if value.dtype != dtype or value.dim() != len(shape):
                return False
            if tuple(value.shape) != shape or tuple(value.stride()) != stride:
                return False
        elif type(value) is not layout[0] or repr(value) != layout[1]:
            return False
    return True


def _structure(name: str, original: Stateless, example: list[Any]) -> tuple[bool, int]:
    """Whether there is one output rather than a tuple, and how many. Raises `RuntimeError`."""
    inputs = len(example) - len(original.names)
    for index, value in enumerate(example[:inputs]):
        if not isinstance(value, Tensor) and type(value) not in SCALARS:
            kind = type(value).__name__
            raise RuntimeError(f"{name}: input {index} is a {kind}; operators take tensors, numbers and strings")
    versions = [value._version for value in example if isinstance(value, Tensor)]
    with torch.no_grad():
        output = original(example, inputs)
    if versions != [value._version for value in example if isinstance(value, Tensor)]:
        raise RuntimeError(f"{name}: the original changes an input or a buffer in place, and an operator must not")
    outputs = flat(output)
    if not outputs or any(not isinstance(value, Tensor) for value in outputs):
        raise RuntimeError(f"{name}: the original returns something else than a tensor or a tuple of tensors")
    return isinstance(output, Tensor), len(outputs)


def flat(output: Any) -> list[Tensor]:
    """An output as a list."""
    return list(output) if isinstance(output, (tuple, list)) else [output]
