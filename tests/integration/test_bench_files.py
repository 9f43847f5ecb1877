"""What a bench writes where the optional libraries are installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelwright.bench.outputs import write_extras
from kernelwright.bench.tables import as_csv
from tests.unit.kernelwright.bench.builders import a_document

pytestmark = pytest.mark.integration


def test_plots_are_drawn_where_matplotlib_is(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    write_extras(tmp_path, a_document())
    for name in ("speedups.png", "fast_p.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


def test_parquet_has_the_columns_of_the_csv(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    write_extras(tmp_path, a_document())
    table = parquet.read_table(tmp_path / "results.parquet")
    assert table.column_names == as_csv([]).strip().split(",")
    assert table.column("speedup_eager").to_pylist() == [4.0, None]
    assert table.column("accepted").to_pylist() == [True, False]
