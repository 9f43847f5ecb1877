"""The files of a results folder that follow from its rows."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from kernelwright.bench.results import Results, replace_text
from kernelwright.bench.rows import BenchRow
from kernelwright.bench.tables import COLUMNS, as_csv, as_markdown
from kernelwright.bench.terms import BenchTerms
from kernelwright.bench.totals import BenchDocument, summarise
from services.domain import codec

INSTALL = "pip install 'kernelwright[benchmark]'"


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
        from kernelwright.bench.plots import draw

        draw(document.problems, _title(document), folder)
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
