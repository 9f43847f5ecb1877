"""The files of a results folder that follow from its rows."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from kernelwright.bench.results import Results
from kernelwright.bench.rows import STRONGEST, BenchRow
from kernelwright.bench.tables import COLUMNS, as_csv, as_markdown
from kernelwright.bench.terms import BenchTerms
from kernelwright.bench.totals import BenchDocument, accepted_figures, share_faster, summarise
from kernelwright.whole_files import replace_text
from services.domain import codec

INSTALL = "pip install 'kernelwright[benchmark]'"
_RIVALS = {"eager": "eager", STRONGEST: "the strongest baseline"}
_CURVE = tuple(step / 20 for step in range(101))
"""p of the curve, from 0 to 5."""


def document_of(results: Results, terms: BenchTerms, remaining: Sequence[str] = ()) -> BenchDocument:
    """What a folder's rows come to."""
    return summarise(results.rows(), terms, remaining)


def write_tables(folder: Path, document: BenchDocument) -> None:
    """`results.json`, `results.md` and `results.csv`."""
    replace_text(folder / "results.json", json.dumps(codec.to_data(document), indent=2) + "\n")
    replace_text(folder / "results.md", as_markdown(document))
    replace_text(folder / "results.csv", as_csv(document.problems))


def write_extras(folder: Path, document: BenchDocument) -> list[str]:
    """`results.parquet` and the plots, where their libraries are installed; what is missing, in words."""
    missing = []
    if importlib.util.find_spec("pyarrow") is None:
        missing.append(f"no results.parquet: pyarrow is not installed ({INSTALL})")
    else:
        _write_parquet(folder / "results.parquet", document.problems)
    if importlib.util.find_spec("matplotlib") is None:
        missing.append(f"no plots: matplotlib is not installed ({INSTALL})")
    elif document.problems:
        _draw(document.problems, _title(document), folder)
    return missing


def with_whole_paths(document: BenchDocument, folder: Path) -> BenchDocument:
    """The document with absolute paths of kernels, for a program that reads it elsewhere."""
    rows = (
        row if row.kernel_path is None else replace(row, kernel_path=str(folder / row.kernel_path))
        for row in document.problems
    )
    return replace(document, problems=tuple(rows))


def _write_parquet(path: Path, rows: Sequence[BenchRow]) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    kinds = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    columns = {
        column.name: pa.array([column.value(row) for row in rows], type=kinds[column.kind]) for column in COLUMNS
    }
    partial = path.with_name(f".{path.name}")
    parquet.write_table(pa.table(columns), partial)
    partial.replace(path)


def _title(document: BenchDocument) -> str:
    terms = document.terms
    level = "" if terms.level is None else f" level {terms.level}"
    return f"{terms.suite}{level}, {document.hardware or terms.device}, {terms.model}"


def _draw(rows: Sequence[BenchRow], title: str, folder: Path) -> None:
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
    for rival, label in _RIVALS.items():
        figures = sorted(accepted_figures(rows, rival))
        axes.plot(range(1, len(figures) + 1), figures, marker=".", label=f"over {label} ({len(figures)} kernels)")
    axes.axhline(1.0, color="grey", linewidth=0.8)
    axes.set_yscale("log", base=2)
    axes.yaxis.set_major_formatter(lambda value, _position: f"{value:g}×")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_xlabel("accepted kernels, slowest first")
    axes.set_ylabel("speedup")


def _curve(axes: Any, rows: Sequence[BenchRow]) -> None:
    for rival, label in _RIVALS.items():
        shares = [100 * share_faster(rows, rival, p) for p in _CURVE]
        axes.step(_CURVE, shares, where="post", label=f"over {label}")
    axes.axvline(1.0, color="grey", linewidth=0.8)
    axes.set_ylim(0, 102)
    axes.set_xlabel("p")
    axes.set_ylabel(f"fast_p, % of {len(rows)} problems")
