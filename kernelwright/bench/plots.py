"""Two pictures of a bench. Needs matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kernelwright.bench.rows import STRONGEST, BenchRow
from kernelwright.bench.totals import accepted_figures, share_faster

NAMES = {"eager": "eager", STRONGEST: "the strongest baseline"}
CURVE = tuple(step / 20 for step in range(101))
"""p of the curve, from 0 to 5."""


def draw(rows: Sequence[BenchRow], title: str, folder: Path) -> None:
    """Write `speedups.png` (how speedups are distributed) and `fast_p.png` (share faster than p times)."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    for name, paint in (("speedups", _distribution), ("fast_p", _curve)):
        figure = Figure(figsize=(7, 4), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        axes.set_title(title)
        paint(axes, rows)
        axes.legend()
        figure.savefig(folder / f"{name}.png", dpi=150)


def _distribution(axes: Any, rows: Sequence[BenchRow]) -> None:
    """Speedups of accepted kernels, sorted, on a logarithmic scale."""
    for rival, label in NAMES.items():
        figures = sorted(accepted_figures(rows, rival))
        axes.plot(range(1, len(figures) + 1), figures, marker=".", label=f"over {label} ({len(figures)} kernels)")
    axes.axhline(1.0, color="grey", linewidth=0.8)
    axes.set_yscale("log", base=2)
    axes.yaxis.set_major_formatter(lambda value, _position: f"{value:g}×")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_xlabel("accepted kernels, slowest first")
    axes.set_ylabel("speedup")


def _curve(axes: Any, rows: Sequence[BenchRow]) -> None:
    for rival, label in NAMES.items():
        shares = [100 * share_faster(rows, rival, p) for p in CURVE]
        axes.step(CURVE, shares, where="post", label=f"over {label}")
    axes.axvline(1.0, color="grey", linewidth=0.8)
    axes.set_ylim(0, 102)
    axes.set_xlabel("p")
    axes.set_ylabel(f"fast_p, % of {len(rows)} problems")
