"""The memory simulation's plot."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.memory_simulation import DEFAULT, ORACLE, SIMILARITY, plot

pytestmark = pytest.mark.integration


def test_the_plot_is_written_where_matplotlib_is_installed(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    results = {one.title: np.full((1, 400), level) for one, level in ((SIMILARITY, 0.0), (ORACLE, 1.0), (DEFAULT, 0.5))}
    assert plot({"small": results}, results, tmp_path / "deep" / "plot.png")
    assert (tmp_path / "deep" / "plot.png").read_bytes().startswith(b"\x89PNG")
