"""Python in the documentation runs as it stands there."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kernelwright.optimized_functions.named import function_problem
from services.domain.webhooks import check_delivery, new_secret
from tests.e2e.browsing import serving
from tests.e2e.programs import ROOT, give_a_sheet
from tests.integration.test_webhooks import a_webhook

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]


def snippets(page: str, language: str = "python") -> list[str]:
    found = re.findall(
        rf"^```{language}\n(.*?)^```", (ROOT / "docs" / page).read_text(), flags=re.DOTALL | re.MULTILINE
    )
    assert found, f"{page} has no {language} any more"
    return [str(text) for text in found]


def the_tutorials_problem(*, rows: int) -> str:
    """With fewer rows than the tutorial's 2048: what is shown is that it works, and not how fast."""
    whole = snippets("tutorials/first-kernel.md")[0]
    assert whole.count("randn(2048, 2048)") == 1
    return whole.replace("randn(2048, 2048)", f"randn({rows}, 2048)")


def run_beside(script: str, folder: Path) -> str:
    """A script as a reader would run it, in a folder of its own; what it printed."""
    give_a_sheet(folder / ".kernelwright")
    (folder / "script.py").write_text(script)
    ended = subprocess.run(
        [sys.executable, "script.py"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_the_client_solves_the_tutorials_problem(tmp_path: Path) -> None:
    (tmp_path / "scale.py").write_text(the_tutorials_problem(rows=128))
    script, _typed = snippets("client.md")  # the second is run with the generated clients
    with serving(tmp_path / "home") as service:
        printed = run_beside(script.replace("http://127.0.0.1:8000", service.address), tmp_path)
    assert "job.finished" in printed
    assert "class ModelNew" in printed


@pytest.mark.full
def test_a_decorated_function_is_solved_and_falls_back(tmp_path: Path) -> None:
    script, _module = snippets("functions.md")  # the second is named on the command line
    assert script.count("randn(2048, 1024)") == 1
    script = script.replace("randn(2048, 1024)", "randn(256, 1024)")  # what is shown is that it works, not how fast
    answered = "\nprint(solution.speedup, normalise(x[:9], weight).shape, len(solution._repr_html_()))\n"
    printed = run_beside(script + answered, tmp_path)
    assert re.search(r"normalise: (solved|no_gain), accepted, [\d.]+×", printed)
    assert "torch.Size([9, 1024])" in printed


@pytest.mark.full
def test_a_backend_that_a_package_plugs_in_judges_the_tutorials_kernel(tmp_path: Path) -> None:
    backend, kernel = snippets("tutorials/new-backend.md")
    assert len([line for line in backend.splitlines() if line.strip()]) <= 40
    package = tmp_path / "package"
    package.mkdir()
    (package / "kernelwright_c.py").write_text(backend)
    (package / "pyproject.toml").write_text(snippets("tutorials/new-backend.md", "toml")[0])
    there = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet", "--target", str(tmp_path / "site")]
    pip = subprocess.run(
        [sys.executable, "-m", "pip", "install", *there, str(package)],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert pip.returncode == 0, pip.stderr
    (tmp_path / "scale.py").write_text(the_tutorials_problem(rows=128))
    (tmp_path / "scale_c.py").write_text(kernel)
    report = evaluated(tmp_path, "--backend", "c")
    assert report["verdict"] == "accepted", report["gates"]
    assert re.match(r"gcc [\d.]+ -std=c17", report["environment"]["toolkit"])
    # What it brings is C indeed: the compiler of the other backend refuses the very same kernel.
    refused = evaluated(tmp_path, "--backend", "cpp")
    assert (refused["verdict"], refused["failed_gate"]) == ("rejected", "compile")


@pytest.mark.full
def test_the_tutorial_on_ci_goes_green_and_then_red(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples" / "ci", tmp_path / "examples" / "ci")
    program = tmp_path / "bin" / "kernelwright"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m kernelwright "$@"\n')
    program.chmod(0o755)
    give_a_sheet(tmp_path / "home")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("GITHUB_", "KERNELWRIGHT_"))}
    ended = subprocess.run(
        ["sh", "-e", "-c", "\n".join(snippets("tutorials/ci.md", "sh"))],
        cwd=tmp_path,
        env={
            **clean,
            "KERNELWRIGHT_HOME": str(tmp_path / "home"),
            "PYTHONPATH": str(ROOT),
            "PATH": f"{program.parent}:{os.environ['PATH']}",
        },
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert "1 of 1 kernels hold" in ended.stdout
    assert ended.stdout.endswith("red: 1\n")
    assert "1 failed" in (tmp_path / "my-kernels" / "summary.md").read_text()


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="Triton is missing: pip install triton")
def test_the_tutorials_triton_kernel_is_right(tmp_path: Path) -> None:
    (tmp_path / "scale.py").write_text(the_tutorials_problem(rows=32))  # Triton's interpreter is slow
    (tmp_path / "scale_c.py").write_text(snippets("tutorials/gpu-node.md")[0])
    report = evaluated(tmp_path, "--backend", "triton")
    assert report["verdict"] == "suspicious", report["gates"]


def evaluated(folder: Path, *options: str) -> Any:
    """The report on the tutorial's kernel, by a program that sees what was installed in the folder."""
    give_a_sheet(folder / "home")
    program = [sys.executable, "-m", "kernelwright", "evaluate", "scale.py", "scale_c.py", "--baselines", "eager"]
    ended = subprocess.run(
        [*program, *options, "--json"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{folder / 'site'}", "KERNELWRIGHT_HOME": str(folder / "home")},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert ended.returncode in (0, 1), ended.stderr
    return json.loads(ended.stdout)


def test_the_receiver_believes_ours_once_and_no_forgery(monkeypatch: pytest.MonkeyPatch) -> None:
    from standardwebhooks.webhooks import Webhook, WebhookVerificationError

    (script,) = snippets("webhooks.md")
    names: dict[str, object] = {}
    exec(script, names)
    receive = names["receive"]
    assert callable(receive)
    webhook = a_webhook("https://example.com")
    monkeypatch.setenv("WEBHOOK_SECRET", webhook.secret)
    now = datetime.now(UTC)
    message = check_delivery(webhook, now)
    body = message.body.replace('"webhook.test"', '"job.finished"').replace('"webhook_id"', '"job_id"')
    headers = {"webhook-id": message.id, "webhook-timestamp": str(int(now.timestamp()))}
    signed = {**headers, "webhook-signature": Webhook(webhook.secret).sign(message.id, now, body)}
    forged = {**headers, "webhook-signature": Webhook(new_secret()).sign(message.id, now, body)}
    with pytest.raises(WebhookVerificationError):
        receive(forged, body.encode())
    assert receive(signed, body.encode()) == "hook-1"
    assert receive(signed, body.encode()) is None


def test_a_function_is_named_on_the_command_line_with_its_examples(tmp_path: Path) -> None:
    _script, module = snippets("functions.md")
    (tmp_path / "layers.py").write_text(module)
    problem = function_problem(f"{tmp_path / 'layers.py'}:normalise", "examples")
    assert "class Model" in problem.source
