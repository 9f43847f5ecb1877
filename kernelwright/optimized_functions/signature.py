"""What a call must look like for a kernel to be proven for it."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch._C._dynamo.guards import TensorGuards  # torch.compile's own: a check in C++, for all tensors at once
from torch.nn import Parameter

ALIGNMENT = 64
"""Bytes that inputs begin at a multiple of in the referee, as what PyTorch allocates does on every device."""
MOST_REMEMBERED = 16
"""Kinds of calls with the same leading shape that a decision is remembered for."""

Signature = tuple[Any, ...]
_KINDS = frozenset({Tensor, Parameter})
_grad_enabled = torch.is_grad_enabled


def signature(arguments: tuple[Any, ...]) -> Signature | None:
    """What a kernel may depend on besides the values of tensors, as a key: of a tensor shape, dtype and device, of
    anything else type and value. None for calls that no kernel is proven for: gradients wanted, autocast, subclasses of
    tensors, views that are not contiguous."""
    if torch._C._is_any_autocast_enabled():  # the public question takes a device
        return None
    for value in arguments:
        if isinstance(value, Tensor) and (type(value) not in _KINDS or not value.is_contiguous()):
            return None
        if isinstance(value, Tensor) and value.requires_grad and _grad_enabled():
            return None
    return tuple(_part(value, None) for value in arguments)


def proven_signature(arguments: tuple[Any, ...], device: torch.device) -> Signature:
    """The key of calls like an example's, on the device that the kernel was judged on."""
    return tuple(_part(value, device) for value in arguments)


def _part(value: Any, device: torch.device | None) -> tuple[Any, ...]:
    if isinstance(value, Tensor):
        return (value.shape, value.dtype, device or value.device)
    return (type(value), repr(value))  # 0.0 equals -0.0, and 1 equals True


def aligned(arguments: tuple[Any, ...]) -> bool:
    """Whether every tensor begins where those of the referee do."""
    return not any(value.data_ptr() % ALIGNMENT for value in arguments if isinstance(value, Tensor))


class CallGuard:
    """Decides which calls a kernel is proven for, in about a microsecond where it has seen one like it."""

    def __init__(self, proven: frozenset[Signature]) -> None:
        self._proven = proven
        self._lead = min((_first_tensor(item) for item in proven), default=0)
        self._remembered: dict[Any, list[_Seen]] = {
            item[self._lead][0]: [] for item in proven if len(item[self._lead]) == 3
        }
        """By the shape of the argument `_lead`: a call with another one is not proven, whatever the rest."""

    def admits(self, arguments: tuple[Any, ...]) -> bool:
        """Whether a call with all its arguments is proven."""
        try:
            seen = self._remembered[arguments[self._lead].shape]
        except (KeyError, AttributeError, TypeError):
            return False
        for like in seen:
            decision = like.decision(arguments)
            if decision is not None:
                return decision
        proven = signature(arguments) in self._proven
        seen.insert(0, _Seen(arguments, proven=proven))
        del seen[MOST_REMEMBERED:]
        return proven and aligned(arguments)


def _first_tensor(item: Signature) -> int:
    return next((index for index, part in enumerate(item) if len(part) == 3), len(item) - 1)


class _Seen:
    """A call that was decided, and how to know one like it: the same kinds of tensors, the same other values."""

    __slots__ = ("_check", "_gradients", "_others", "_pick", "_proven")

    def __init__(self, arguments: tuple[Any, ...], *, proven: bool) -> None:
        places = tuple(index for index, value in enumerate(arguments) if isinstance(value, Tensor))
        tensors = [arguments[index] for index in places]
        self._pick = None if len(places) == len(arguments) else _picker(places)
        self._others = tuple((index, value) for index, value in enumerate(arguments) if index not in places)
        self._gradients = _grad_enabled() if any(tensor.requires_grad for tensor in tensors) else None
        self._check: Callable[..., bool] = TensorGuards(
            *tensors,
            dynamic_dims_sizes=[list(tensor.shape) for tensor in tensors],  # type: ignore[misc]
            dynamic_dims_strides=[list(tensor.stride()) for tensor in tensors],  # type: ignore[misc]
        ).check
        self._proven = proven

    def decision(self, arguments: tuple[Any, ...]) -> bool | None:
        """Whether the kernel is called; None where something that was decided by differs."""
        for index, value in self._others:
            other = arguments[index]
            if other is not value and (type(other) is not type(value) or repr(other) != repr(value)):
                return None
        tensors = arguments if self._pick is None else self._pick(arguments)
        if not self._check(*tensors) or (self._gradients is not None and _grad_enabled() is not self._gradients):
            return None
        if self._proven:
            for tensor in tensors:  # a loop written out: generators cost another half a microsecond here
                if tensor.data_ptr() % ALIGNMENT:
                    return False
        return self._proven


def _picker(places: tuple[int, ...]) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    """What takes the values at some places of a tuple; always a tuple."""
    if len(places) == 1:
        return lambda values, place=places[0]: (values[place],)  # type: ignore[misc]
    return operator.itemgetter(*places)
