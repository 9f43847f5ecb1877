"""Which of PyTorch's operators a model runs, and on how many elements: shows whose work the library does.

In the same calls, which leave no figure, the memory that these operators allocate lies between guards, and what was
written past its bounds is told (`workers.ipc.guards`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from workers.ipc.guards import GuardedAllocations, is_movable
from workers.ipc.tensors import flatten
from workers.runner.answers import MAX_ELEMENTS, MAX_NAME

MAX_OPERATORS = 200
RESIZING = ("resize_", "resize_as_", "set_")
"""Operators that give a tensor more memory of the same storage, or another one."""


class Observer(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Records operators and the largest tensor each one touched."""

    def __init__(self, allocations: GuardedAllocations | None = None) -> None:
        """`allocations` puts guards around what operators allocate."""
        super().__init__()  # type: ignore[no-untyped-call]
        self.elements: dict[str, int] = {}
        self.allocations = allocations

    @property
    def found(self) -> dict[str, int]:
        """The elements of the largest tensor, by operator."""
        return {name[:MAX_NAME]: size for name, size in self.elements.items() if size < MAX_ELEMENTS}

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """No: to skip it, torch would import its whole compiler (1 to 4 s) at the first operator; none runs here."""
        return False

    def __torch_dispatch__(
        self,
        func: Any,
        types: Sequence[Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        name = str(func).removeprefix("aten.").split(".")[0]
        if self.allocations is not None and name in RESIZING and args and is_movable(args[0]):
            self.allocations.let_go(args[0])
        result = func(*args, **(kwargs or {}))
        if len(self.elements) < MAX_OPERATORS:
            largest = max((tensor.numel() for tensor in _tensors([*args, result])), default=0)
            self.elements[name] = max(self.elements.get(name, 0), largest)
        if self.allocations is None:
            return result
        return _guarded(self.allocations, name, [*args, *(kwargs or {}).values()], result)


@dataclass(frozen=True, kw_only=True)
class Observed:
    """What was seen in one call."""

    result: Any
    """What the model returned."""
    elements: dict[str, int]
    """Of the largest tensor, by operator."""
    written_outside: str | None
    """Where somebody wrote past the bounds of what operators allocated, in words; None where that was not seen."""


def observe(model: Callable[..., Any], arguments: Sequence[Any]) -> tuple[Any, dict[str, int]]:
    """The model's result, and the elements of the largest tensor by operator."""
    with Observer() as observer:
        result = model(*arguments)
    return result, observer.found


def observe_guarded(
    model: Callable[..., Any], arguments: Sequence[Any], wait: Callable[[], None] = lambda: None
) -> Observed:
    """The same with guards around what operators allocate; `wait` waits until the call's work is done."""
    with Observer(GuardedAllocations()) as observer:
        result = model(*arguments)
    wait()
    assert observer.allocations is not None
    outside = observer.allocations.found(flatten(result))
    return Observed(result=result, elements=observer.found, written_outside=outside)


def _tensors(values: Sequence[Any]) -> list[torch.Tensor]:
    found = []
    for value in values:
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, list | tuple):
            found.extend(_tensors(value))
    return found


def _guarded(allocations: GuardedAllocations, name: str, given: Sequence[Any], result: Any) -> Any:
    """What an operator returned, with guards around memory that it allocated."""
    if type(result) in (list, tuple):
        return type(result)(_guarded(allocations, name, given, item) for item in result)
    if not is_movable(result):
        return result
    own = result.untyped_storage().data_ptr()
    dense = (one for one in _tensors(given) if one.layout is torch.strided)  # parameters too
    if any(one.untyped_storage().data_ptr() == own for one in dense):
        return result
    return allocations.moved(result, name, is_filled=not name.startswith(("empty", "new_empty")))
