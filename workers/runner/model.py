"""Builds a model from source inside the runner and gives it the reference's parameters."""

from __future__ import annotations

import contextlib
import copy
import gc
import importlib.util
import random
import string
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from workers.runner.step import FILLED, ModelStep

NAMES = (
    "attention", "blocks", "fast_ops", "functional", "fused", "fused_kernel", "fused_ops", "kernel", "kernels",
    "kernels_cpu", "layer", "layers", "model", "model_new", "modeling", "modules", "my_kernel", "net", "network",
    "norms", "op", "optimized", "ops", "solution",
)  # fmt: skip
"""What callers name modules of kernels."""
_drawn = random.SystemRandom()
FILLING, MOST_FILLED = 7, 1 << 24
"""What stands in memory that a model's tensors had, and bytes of one of them up to which others are made like it."""


class LoadError(Exception):
    """The source does not give a model."""


def drawn_name() -> str:
    """A name for a module, as a caller could have given it: nothing is to depend on it."""
    letters = "".join(_drawn.choices(string.ascii_lowercase, k=_drawn.randint(6, 12)))
    name = _drawn.choice([_drawn.choice(NAMES), letters])
    return letters if name in sys.modules else name


def import_source(source: str, name: str) -> ModuleType:
    """Import a module from its text, from a file of its own so that `inspect.getsource` works (Triton needs it)."""
    path = Path(tempfile.mkdtemp(prefix=f"{_drawn.choice(NAMES)}-")) / f"{name}.py"
    path.write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise LoadError(f"cannot import {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def construct(module: ModuleType, class_name: str, init_inputs: Any, seed: int) -> torch.nn.Module:
    """The model, built under `seed`. Raises `LoadError` when the class is missing or is no module."""
    kind = getattr(module, class_name, None)
    if not isinstance(kind, type) or not issubclass(kind, torch.nn.Module):
        raise LoadError(f"the module defines no class {class_name} derived from torch.nn.Module")
    torch.manual_seed(seed)
    model = kind(**init_inputs) if isinstance(init_inputs, dict) else kind(*init_inputs)
    if not isinstance(model, torch.nn.Module):
        raise LoadError(f"{class_name}(…) gave no torch.nn.Module")
    return model


def state_of(model: torch.nn.Module) -> list[tuple[str, torch.Tensor]]:
    """Parameters, then buffers that are saved, then those that are not; each in order of registration."""
    unsaved = unsaved_names(model)
    buffers = sorted(model.named_buffers(), key=lambda named: named[0] in unsaved)
    return [*model.named_parameters(), *buffers]


def unsaved_names(model: torch.nn.Module) -> frozenset[str]:
    """Buffers that are no part of `state_dict` (`persistent=False`): tables which a model works out for itself."""
    found = (
        f"{prefix}.{name}".removeprefix(".")
        for prefix, module in model.named_modules()
        for name in module._non_persistent_buffers_set
    )
    return frozenset(found)


def read_state(
    model: torch.nn.Module, own_names: Mapping[str, str], names: Sequence[str], targets: Sequence[torch.Tensor]
) -> tuple[str, ...]:
    """Copy the model's state to `targets`, which have the reference's `names`; the names of those that it has.

    `own_names` is what `copy_state` said."""
    own, found = dict(state_of(model)), list[str]()
    for name, target in zip(names, targets, strict=True):
        tensor = own.get(own_names.get(name, ""))
        if tensor is not None and tensor.shape == target.shape and tensor.dtype == target.dtype:
            target.copy_(tensor)
            found.append(name)
    return tuple(found)


def copy_state(
    model: torch.nn.Module, names: Sequence[str], tensors: Sequence[torch.Tensor], *, only_others: bool = False
) -> dict[str, str] | None:
    """Give `model` the reference's state, in place, so that version counters advance; of those alone that change their
    values where `only_others` are copied.

    The model's own name for each of the reference's that it has; None (and nothing changed) where `matching` finds
    something that is missing.
    """
    own_names, missing = matching(model, names, tensors)
    if missing:
        return None
    targets = dict(state_of(model))
    with torch.no_grad():
        for name, tensor in zip(names, tensors, strict=True):
            if name not in own_names:
                continue
            target = targets[own_names[name]]
            if not (only_others and _same_bytes(target, tensor)):
                target.copy_(tensor)
    return own_names


def _same_bytes(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.dtype != other.dtype or one.layout != torch.strided:
        return False
    return torch.equal(*(each.detach().contiguous().reshape(-1).view(torch.uint8) for each in (one, other)))


def assign_state(
    model: torch.nn.Module, names: Sequence[str], tensors: Sequence[torch.Tensor]
) -> dict[str, str] | None:
    """Put tensors with the reference's values in the place of the model's own that are saved: what
    `load_state_dict(…, assign=True)` does. Returns what `copy_state` does, and raises what `load_state_dict` raises."""
    own_names, missing = matching(model, names, tensors)
    if missing:
        return None
    saved, own = model.state_dict(keep_vars=True), dict(state_of(model))
    given = {own_names[name]: tensor for name, tensor in zip(names, tensors, strict=True) if name in own_names}
    fresh = {name: tensor.to(own[name].dtype, copy=True) for name, tensor in given.items() if name in saved}
    model.load_state_dict(fresh, strict=False, assign=True)
    with torch.no_grad():
        for name in given.keys() - fresh.keys():
            own[name].copy_(given[name])
    return own_names


def copied(models: list[torch.nn.Module]) -> torch.nn.Module:
    """A deep copy of the last of some models, which is taken from them: if nobody else holds it, it is gone, and others
    have had its tensors' memory. None of the copy's tensors has a version that the model's own have had."""
    model, memo = models.pop(), dict[int, Any]()
    most = max((tensor._version for _, tensor in state_of(model)), default=0)
    copy_of_it, own = copy.deepcopy(model, memo), weakref.ref(model)
    made = [one for one in memo.values() if isinstance(one, torch.Tensor) and one.layout == torch.strided]
    del model, memo
    if own() is not None:
        gc.collect()
    filling = [torch.empty_like(one).fill_(FILLING) for one in made if one.nbytes <= MOST_FILLED for _ in range(FILLED)]
    del made, filling
    with torch.no_grad():
        for _, tensor in state_of(copy_of_it):
            nothing = tensor.detach().unsqueeze(0)[:0]
            while tensor._version <= most:
                nothing.zero_()
    return copy_of_it


def take_place(model: torch.nn.Module, gone: torch.nn.Module) -> None:
    """Put a model's parameters and buffers where another's lie, whose values they have then; versions stay."""
    for (_, tensor), (_, other) in zip(state_of(model), state_of(gone), strict=True):
        tensor.data = other.detach()


def by_keyword(model: Callable[..., Any], names: Sequence[str]) -> Callable[..., Any]:
    """The same model, or step, whose `forward` gets the arguments that are given in order by these names."""
    module = model.model if isinstance(model, ModelStep) else model

    def call(*given: Any) -> Any:
        return module(**dict(zip(names, given, strict=False)))

    return model.through(call) if isinstance(model, ModelStep) else call


@contextlib.contextmanager
def turned_over(model: Any) -> Iterator[None]:
    """Inside, a model, or a step's, is in evaluation mode if it was in training mode, and the other way round."""
    module: torch.nn.Module = model.model if isinstance(model, ModelStep) else model
    modes = [(part, part.training) for part in module.modules()]
    module.train(not module.training)
    try:
        yield
    finally:
        for part, mode in modes:
            part.training = mode


def matching(
    model: torch.nn.Module, names: Sequence[str], tensors: Sequence[torch.Tensor]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Which of `model`'s parameters and buffers are the reference's: by name and shape, the rest by order and shape.

    The model's own names by the reference's, and the reference's names in whose place the model may keep something of
    another shape: those without a counterpart, where the model has something without one too. What the model has
    beyond all of the reference's is its own business, and so is a buffer that is not saved. What it leaves out
    altogether, and a count without dimensions, cannot be kept in another shape.
    """
    theirs = dict(zip(names, tensors, strict=True))
    targets = dict(state_of(model))
    own_names = {
        name: name for name, target in targets.items() if name in theirs and theirs[name].shape == target.shape
    }
    needless = own_names.keys() | unsaved_names(model)
    rest = [name for name in theirs if name not in own_names]
    at, unplaced = 0, 0
    for own in (name for name in targets if name not in needless):
        found = next((index for index in range(at, len(rest)) if theirs[rest[index]].shape == targets[own].shape), None)
        if found is None:
            unplaced += 1
        else:
            own_names[rest[found]], at = own, found + 1
    left = [name for name in rest if name not in own_names and not _is_count(theirs[name])]
    return own_names, tuple(left) if unplaced else ()


def _is_count(tensor: torch.Tensor) -> bool:
    return tensor.dim() == 0 and not tensor.is_floating_point()
