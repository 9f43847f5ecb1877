"""Alert rules and dashboard, by Prometheus's own tests; and they name metrics that there are."""

from __future__ import annotations

import json
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
DASHBOARD = ROOT / "docs/monitoring/grafana.json"


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


@pytest.mark.parametrize("file", [RULES, DASHBOARD], ids=lambda file: file.stem)
def test_they_read_metrics_that_there_are(file: Path) -> None:
    known = exposition().decode() + Path(metrics.__file__).read_text()
    named = set(re.findall(r"kernelwright_\w+", file.read_text()))
    assert len(named) >= 6
    assert {name for name in named if name.removesuffix("_bucket").removesuffix("_total") not in known} == set()


def test_prometheus_understands_every_query_of_the_dashboard(tmp_path: Path) -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("no promtool: apt-get install prometheus")
    panels = json.loads(DASHBOARD.read_text())["panels"]
    queries = [target["expr"] for panel in panels for target in panel["targets"]]
    rules = [{"record": f"query_{number}", "expr": query} for number, query in enumerate(queries)]
    (tmp_path / "rules.yml").write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
    done = subprocess.run(
        [promtool, "check", "rules", "rules.yml"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(queries) >= 16
    assert len({panel["id"] for panel in panels}) == len(panels)
