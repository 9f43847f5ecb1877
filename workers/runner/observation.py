"""Which of PyTorch's operators a model runs, and on how many elements: shows whose work the library does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from workers.runner.answers import MAX_ELEMENTS, MAX_NAME

MAX_OPERATORS = 200


class Observer(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Records operators and the largest tensor each one touched."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.elements: dict[str, int] = {}

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
        result = func(*args, **(kwargs or {}))
        name = str(func).removeprefix("aten.").split(".")[0]
        if len(self.elements) < MAX_OPERATORS:
            largest = max((tensor.numel() for tensor in _tensors([*args, result])), default=0)
            self.elements[name] = max(self.elements.get(name, 0), largest)
        return result


def observe(model: Callable[..., Any], arguments: Sequence[Any]) -> tuple[Any, dict[str, int]]:
    """The model's result, and the elements of the largest tensor by operator."""
    with Observer() as observer:
        result = model(*arguments)
    return result, {name[:MAX_NAME]: size for name, size in observer.elements.items() if size < MAX_ELEMENTS}


def _tensors(values: Sequence[Any]) -> list[torch.Tensor]:
    found = []
    for value in values:
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, list | tuple):
            found.extend(_tensors(value))
    return found
