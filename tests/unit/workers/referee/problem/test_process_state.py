"""What PyTorch changes of itself is nobody's change."""

from __future__ import annotations

import pytest
import torch
import torch._compile

from workers.referee.problem.process_state import as_found, changed


def test_what_pytorch_wraps_itself_once_dynamo_is_imported_is_no_change(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = torch.random.manual_seed
    monkeypatch.setattr(torch, "manual_seed", plain)
    found = as_found()
    monkeypatch.setattr(torch, "manual_seed", torch._compile._disable_dynamo(plain))
    assert changed(found) is None


def test_another_function_within_that_wrapper_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "manual_seed", torch.random.manual_seed)
    found = as_found()
    monkeypatch.setattr(torch, "manual_seed", torch._compile._disable_dynamo(lambda seed: torch.default_generator))
    assert changed(found) == "`torch.manual_seed`"
