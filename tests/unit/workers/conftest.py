"""What several tests of workers need."""

from collections.abc import Callable, Iterator

import pytest
import torch

from workers.devices import cards


@pytest.fixture
def smi_says(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Makes nvidia-smi print a text."""
    monkeypatch.setattr(cards, "_program", lambda: "nvidia-smi")

    def make(text: str) -> None:
        monkeypatch.setattr(cards, "query", lambda *names, card=None: list(cards._rows(text, len(names))))

    return make


@pytest.fixture(autouse=True, scope="module")
def _one_thread() -> Iterator[None]:
    """The tensors are small: threads that spin until the next operator would cost more than the operators."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
