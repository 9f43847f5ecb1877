"""What runs in the sandbox for `benchmarks.suites`."""

from __future__ import annotations

import math
import socket
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from workers.ipc.wire import Channel

PATIENCE_S = 3600.0
MOST_FLOPS, MOST_BYTES, MOST_OPERATORS = 1e10, 256 << 20, 4000
"""Of all calls together: what the cost 1.0 stands for."""
GIVE_UP = 4.0
"""Operators are counted so far."""


class _TooManyError(BaseException):
    """No problem's own `except` catches it."""


class _Meter(TorchDispatchMode):
    """Counts operators, their FLOPs and the bytes that they write."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.flops, self.bytes, self.operators = 0.0, 0.0, 0

    @property
    def cost(self) -> float:
        return max(self.flops / MOST_FLOPS, self.bytes / MOST_BYTES, self.operators / MOST_OPERATORS)

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = function(*args, **(kwargs or {}))
        self.operators += 1
        if self.operators > GIVE_UP * MOST_OPERATORS:
            raise _TooManyError
        if not function.is_view:
            parts = found if isinstance(found, list | tuple) else [found]
            self.bytes += sum(one.numel() * one.element_size() for one in parts if isinstance(one, torch.Tensor))
        count = flop_registry.get(function._overloadpacket)
        if count is not None:
            self.flops += float(count(*args, **(kwargs or {}), out_val=found))
        return found


def trace(connection: socket.socket) -> None:
    """Build and call each model that is sent, on tensors without values; answer what stood in the way, and the cost of
    what was done till then. With `sets`, on every open input set."""
    channel = Channel(connection)
    while True:
        asked = channel.receive(timeout_s=PATIENCE_S).body
        scope: dict[str, Any] = {"__name__": "kernelwright_problem", "__file__": "problem.py"}
        meter = _Meter()
        reason = ""
        try:
            with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad(), meter:
                exec(compile(str(asked["source"]), "problem.py", "exec"), scope)
                init = scope["get_init_inputs"]()
                model = scope["Model"](**init) if isinstance(init, dict) else scope["Model"](*init)
                meter.bytes = 0  # parameters do not shrink with inputs
                others = scope.get("INPUT_SETS", ()) if asked.get("sets") else ()
                reasons = [_beginning(model, draw) for draw in (scope["get_inputs"], *others)]
                reason = next(filter(None, reasons), "")
        except _TooManyError:
            reason = "too many operators"
        except BaseException as error:  # noqa: BLE001 - it is a suite's code
            reason = _first_line(error)
        channel.send({"reason": reason, "cost": meter.cost if math.isfinite(meter.cost) else 1e9})


def _beginning(model: Any, draw: Any) -> str:
    """Call the model on what is drawn, as far as that goes; what stood in the way."""
    try:
        model(*draw())
    except Exception as error:  # noqa: BLE001 - it is a suite's code
        return _first_line(error)
    return ""


def _first_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0]}"
