"""What a worker learns of a sandboxed process that did not start."""

from __future__ import annotations

import errno
import os
import socket

import pytest

from services.domain.errors import SandboxError
from workers.ipc.wire import Channel
from workers.sandboxes import linux
from workers.sandboxes.forked import ForkedProcess, NamespacesRefusedError, NotStartedError
from workers.sandboxes.zygote import report_failure


def failing_with(error: OSError | None) -> type[BaseException]:
    """The class of what `await_ready` raises where the zygote reports an error, or hangs up."""
    process = ForkedProcess()

    def report(ends: list[int]) -> None:
        if error is not None:
            with socket.socket(fileno=os.dup(ends[1])) as status:
                report_failure(Channel(status), error)

    process.launch(report)
    with pytest.raises(SandboxError) as caught:
        process.await_ready(5.0)
    return caught.type


def test_namespaces_that_the_machine_refuses_are_told_apart_from_other_failures() -> None:
    assert failing_with(linux.NamespaceError(errno.EPERM, "mount /x/proc")) is NamespacesRefusedError
    assert failing_with(OSError(errno.ENOSPC, "unshare: no words of an error decide anything")) is SandboxError


def test_a_zygote_that_goes_away_is_worth_another_try() -> None:
    assert failing_with(None) is NotStartedError
