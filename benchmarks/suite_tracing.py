"""What runs in the sandbox for `benchmarks.suites`."""

from __future__ import annotations

import socket

from workers.ipc.wire import Channel

PATIENCE_S = 3600.0


def trace(connection: socket.socket) -> None:
    """Build and call each model that is sent, on tensors without values; answer what stood in the way."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    channel = Channel(connection)
    while True:
        source = str(channel.receive(timeout_s=PATIENCE_S).body["source"])
        scope: dict[str, object] = {"__name__": "kernelwright_problem", "__file__": "problem.py"}
        try:
            with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():
                exec(compile(source, "problem.py", "exec"), scope)
                init = scope["get_init_inputs"]()  # type: ignore[operator]
                model = scope["Model"](**init) if isinstance(init, dict) else scope["Model"](*init)  # type: ignore[operator]
                model(*scope["get_inputs"]())  # type: ignore[operator]
            reason = ""
        except BaseException as error:  # noqa: BLE001 - it is a suite's code
            reason = f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0]}"
        channel.send({"reason": reason})
