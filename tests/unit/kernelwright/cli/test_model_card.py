"""The ranking of a model's parts in terminals of several widths: no figure loses a character."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from kernelwright.cli.model_card import ranking
from services.domain.models import ModelOutline, ModelPart, ModelProfile

OUTLINE = ModelOutline(name="mixer", inputs=(), shapes=(), state=(), constants=(), blocks=(), result="x")


def part(number: int, name: str, time_us: float, share: float, floor_us: float) -> ModelPart:
    return ModelPart(
        number=number,
        name=name,
        operators=("mul", "add", "layer_norm"),
        lines=(31, 32, 47, 110),
        count=12,
        time_us=time_us,
        share=share,
        floor_us=floor_us,
        bound="compute",
        source=None,
        analysis=None,
    )


def shown(width: int) -> str:
    parts = (part(1, "part1_linear", 2710.0, 0.2001, 622.0), part(6, "part6_mul_add_layer_norm", 818.0, 0.0623, 29.3))
    profile = ModelProfile(
        name="mixer",
        device="cpu",
        operators=61,
        time_us=13_100.0,
        eager_us=14_000.0,
        runs=5,
        parts=parts,
        outline=OUTLINE,
    )
    text = io.StringIO()
    Console(file=text, width=width, color_system=None).print(ranking(profile, width))
    return text.getvalue()


@pytest.mark.parametrize("width", [80, 100, 140])
def test_figures_are_whole_at_every_width(width: int) -> None:
    text = shown(width)
    assert all(figure in text for figure in ("2.71 ms", "818 µs", "20.0%", "6.2%", "622 µs", "29.3 µs"))
    assert max(map(len, text.splitlines())) <= width


def test_what_bounds_a_part_is_said_where_there_is_room() -> None:
    assert "(compute)" in shown(140)
    assert "(compute)" not in shown(80)
