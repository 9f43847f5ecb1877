"""What a call returned: the runner's description of it, and a copy of the bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from workers.ipc.tensors import DataError, TensorMeta
from workers.referee.errors import FaultKind, RunnerFault
from workers.runner.answers import HandedOver, OutputClaim


@dataclass(frozen=True, kw_only=True)
class Output:
    """One fetched output as the runner describes it, with a private copy of its bytes where it wrote any."""

    kind: str
    """`tensor`, or the Python type's name."""
    meta: TensorMeta | None
    alias: int | None
    """Index of the input it shares memory with."""
    value: torch.Tensor | None
    written_out: bool = True
    """Whether every element has a place of its own in memory."""
    strides: tuple[int, ...] = ()
    """How it lay in the runner's memory; empty where the runner does not say."""
    shared: str | None = None
    """What it has elements in common with, besides inputs: an earlier output, or the model."""
    mode: str | None = None
    """What it is because of the mode of torch in which it was made."""


@dataclass(frozen=True, kw_only=True)
class Fetched:
    """What one call returned."""

    outputs: tuple[Output, ...]
    structure: Any
    """How the outputs are nested, in the runner's words."""
    wall_s: float
    """Seconds the transfer took on the referee's clock."""


def outputs_of(handed: HandedOver, raw: torch.Tensor | None) -> tuple[Output, ...]:
    """The described outputs with their values, which lie in `raw` one after the other where the runner wrote them.

    Raises `RunnerFault` for descriptions that no tensor has."""
    outputs, offset = [], 0
    for claim in handed.outputs:
        value, nbytes = None, 0
        try:
            if raw is not None and claim.meta is not None and offset + claim.meta.nbytes <= raw.numel():
                nbytes = claim.meta.nbytes
                value = raw[offset : offset + nbytes].view(claim.meta.torch_dtype).view(claim.meta.shape)
        except (DataError, RuntimeError, ValueError) as error:  # torch refuses shapes whose strides overflow
            raise RunnerFault(FaultKind.FORGED, f"an output is described wrongly: {error}") from None
        offset += -(-nbytes // 64) * 64
        outputs.append(_output(claim, value))
    return tuple(outputs)


def _output(claim: OutputClaim, value: torch.Tensor | None) -> Output:
    return Output(
        kind=claim.kind,
        meta=claim.meta,
        alias=claim.alias,
        value=value,
        written_out=claim.written_out,
        strides=_strides(claim),
        shared=claim.shared,
        mode=claim.mode,
    )


def _strides(claim: OutputClaim) -> tuple[int, ...]:
    """How an output lies; 0, which no dense output has, for a tensor without strides."""
    if claim.meta is None:
        return ()
    return (0,) * len(claim.meta.shape) if claim.strides is None else claim.strides
