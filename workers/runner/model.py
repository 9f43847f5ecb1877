"""Builds a model from source inside the runner and gives it the reference's parameters."""

from __future__ import annotations

import importlib.util
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import torch


class LoadError(Exception):
    """The source does not give a model."""


def import_source(source: str, name: str) -> ModuleType:
    """Import a module from its text, from a file of its own so that `inspect.getsource` works (Triton needs it)."""
    path = Path(tempfile.mkdtemp(prefix="kernelwright-")) / f"{name}.py"
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


def copy_state(model: torch.nn.Module, names: Sequence[str], tensors: Sequence[torch.Tensor]) -> dict[str, str] | None:
    """Give `model` the reference's state by name and shape, what is left over in order of registration.

    The model's own name for each of the reference's that it has; None (and nothing changed) where that leaves a
    parameter or buffer without a counterpart. A buffer of the model's own that is not saved needs none: it is the
    model's business unless the reference has one of its name and shape.
    """
    theirs = dict(zip(names, tensors, strict=True))
    pairs: list[tuple[str, str, torch.Tensor]] = []
    targets = dict(state_of(model))
    for name, target in targets.items():
        if name in theirs and theirs[name].shape == target.shape:
            pairs.append((name, name, theirs.pop(name)))
    needless = {name for name, _, _ in pairs} | unsaved_names(model)
    open_targets = [name for name in targets if name not in needless]
    rest = list(theirs.items())
    if [targets[name].shape for name in open_targets] != [one.shape for _, one in rest][: len(open_targets)]:
        return None
    pairs += [(own, name, tensor) for own, (name, tensor) in zip(open_targets, rest, strict=False)]
    with torch.no_grad():
        for own, _, tensor in pairs:
            targets[own].copy_(tensor)
    return {name: own for own, name, _ in pairs}
