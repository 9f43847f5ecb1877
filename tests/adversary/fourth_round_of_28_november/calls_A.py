"""Calls in ordinary use that go wrong: each accepted design of letter A beside its reference."""

from __future__ import annotations

import importlib.util
import math
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from tests.adversary.designs import Design, designs


def module_of(name: str, source: str) -> ModuleType:
    """A source as a module."""
    path = Path(tempfile.mkdtemp()) / f"{name}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def both(design: Design, change: Callable[[Any], None]) -> tuple[ModuleType, Any, Any]:
    """The problem, its model and the kernel's, with the same state."""
    problem = module_of("problem", design.problem.read_text())
    one, other = problem.Model(), module_of("kernel", design.source).ModelNew()
    change(one)
    other.load_state_dict(one.state_dict())
    return problem, one, other


def short_range() -> list[Any]:
    """A vocabulary of 131072; the right token is 14.8 above all others."""
    logits = 0.1 * torch.randn(4, 131072)
    logits[:, 7] = 14.8
    return [logits, torch.full((4,), 7)]


def sink() -> list[Any]:
    """4096 keys, of which the first is a sink about 11 above the others, with a value of its own."""
    q = torch.randn(16, 64)
    k = 0.1 * torch.randn(16, 4096, 64)
    k[:, 0] = 11 * 8 * q / (q * q).sum(dim=-1, keepdim=True)
    v = torch.randn(16, 4096, 64) + 1
    v[:, 0] = 0
    return [q.bfloat16(), k.bfloat16(), v.bfloat16()]


def long_memory() -> list[Any]:
    """Gates of a trained model: sigmoid(6), so that half is left after 280 steps."""
    q, k, v = torch.randn(3, 2, 768, 32)
    return [q, k, v, 6 + 0.1 * torch.randn(2, 768)]


def one_expert_is_liked() -> list[Any]:
    """A router that likes its first expert."""
    scores = torch.randn(512, 16)
    scores[:, 0] += 3
    return [torch.randn(512, 64), scores]


def one_after_the_other() -> list[Any]:
    """Tokens and slots in the same order: a slot for each few tokens, more slowly at first."""
    token, slot = torch.linspace(0, 1, 64).unsqueeze(1), torch.linspace(0, 1, 48)
    return [(4 - 40 * (token**2 - slot) ** 2).expand(16, 64, 48).clone()]


def nothing(model: Any) -> None:
    """The model as it is built."""


def trained_scale(model: Any) -> None:
    """A temperature of 0.01, as text embeddings are trained with and as CLIP ends with."""
    model.log_scale.data.fill_(math.log(100))


def trained_heads(model: Any) -> None:
    """Temperatures of up to 100, where such models clamp them."""
    model.scale.data.fill_(100)


def near_keys() -> list[Any]:
    """Each query has a key much like it."""
    q, v = torch.randn(2, 4, 512, 16)
    return [q, q + 0.2 * torch.randn(4, 512, 16), v]


CALLS: dict[str, tuple[Callable[[], list[Any]], Callable[[Any], None]]] = {
    "exponential_of_a_short_range": (short_range, nothing),
    "values_of_likely_keys": (sink, nothing),
    "remembers_192_steps": (long_memory, nothing),
    "cosines_need_no_maximum": (
        lambda: (lambda q: [q, q + 0.3 * torch.randn(256, 64)])(torch.randn(256, 64)),
        trained_scale,
    ),
    "unit_queries_need_no_maximum": (near_keys, trained_heads),
    "sigmoid_from_tanh": (lambda: [torch.linspace(-6, -15, 256).expand(4, 256).clone()] * 2, nothing),
    "room_for_three_times_the_mean": (one_expert_is_liked, nothing),
    "half_holds_the_nucleus": (lambda: [torch.randn(64, 1000)], nothing),
    "ten_rounds_for_thirty": (one_after_the_other, nothing),
}


def main() -> None:
    """Print for each design the own draw's error, and the wrong call's."""
    torch.manual_seed(1)
    family = Path(__file__).parent.name
    for design in (*designs("cheats", family), *designs("open", family)):
        if design.name not in CALLS:
            continue
        call, change = CALLS[design.name]
        with torch.no_grad():
            problem, one, other = both(design, nothing)
            own = problem.get_inputs()
            a, b = one(*own).double(), other(*own).double()
            sys.stdout.write(f"{design.name}: own {float((a - b).norm() / a.norm()):.1e}")
            problem, one, other = both(design, change)
            given = call()
            a, b = one(*given).double(), other(*given).double()
            off = (a - b).abs()
            at = int(off.nan_to_num(math.inf).argmax())
            pair = f"{float(b.flatten()[at]):.6g}, not {float(a.flatten()[at]):.6g}"
            whole = float((a - b).norm() / a.norm())
            sys.stdout.write(f"; wrong call {whole:.1e}, {pair}, {int((off > 0.01 * a.abs()).sum())} of {a.numel()}\n")
            if design.name == "sigmoid_from_tanh":
                for place in (50, 80, 100):
                    x = float(given[0][0, place] * 2 + one.bias[place])
                    sys.stdout.write(f"  x {x:.2f}: log {b[0, place].log():.3f}, not {a[0, place].log():.3f}\n")


if __name__ == "__main__":
    main()
