"""The alert rules, by Prometheus's own tests; and they name metrics that there are."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from services.telemetry.metrics import exposition
from storage import metrics

pytestmark = pytest.mark.integration
ROOT = Path(__file__).parents[2]
RULES = ROOT / "docs/monitoring/alerts.yml"


def test_each_alert_is_raised_by_its_fault_and_by_nothing_else(tmp_path: Path) -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("no promtool: apt-get install prometheus")
    for file in (RULES, Path(__file__).with_name("alerts_test.yml")):
        shutil.copy(file, tmp_path)
    done = subprocess.run(
        [promtool, "test", "rules", "alerts_test.yml"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_alerts_read_metrics_that_there_are() -> None:
    known = exposition().decode() + Path(metrics.__file__).read_text()
    named = set(re.findall(r"kernelwright_\w+", RULES.read_text()))
    assert len(named) >= 6
    assert {name for name in named if name.removesuffix("_bucket").removesuffix("_total") not in known} == set()
