"""What starts often starts quickly: each statement, in a fresh interpreter, loads none of what is listed beside it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[2]
PACKAGES = {
    "torch", "numpy", "pydantic", "fastapi", "starlette", "uvicorn", "sqlalchemy", "alembic", "celery", "redis",
    "docker", "langgraph", "openai", "anthropic", "jinja2",
}  # fmt: skip
OURS = {"web", "workers", "agents", "storage", "kernelwright"}
LIGHT = {
    "the client": ("import services.client", PACKAGES | OURS),
    "errors": ("import services.domain.errors", PACKAGES | OURS),
    "kernelwright": ("import kernelwright", {"torch", "rich", "sqlalchemy"}),
    "commands that ask a server": (
        "from kernelwright import cli; cli.execute(['jobs', '--server', 'http://127.0.0.1:9'])",
        {"torch", "sqlalchemy", "langgraph", "fastapi", "celery"},
    ),
    "a worker, whose sandbox has torch": (
        "import kernelwright.wiring.workers, workers.evaluation.evaluator, workers.queue.tasks",
        {"torch", "numpy"},
    ),
    "evaluate": ("import kernelwright.evaluate", {"pydantic", "typer", "rich", "sqlalchemy", "fastapi"}),
    "names of models": (
        "from services.adapters.llm.registry import ModelRegistry",
        {"openai", "anthropic", "httpx2", "httpx", "genai_prices"},
    ),
    "observing": (
        "import torch; from workers.runner.observation import observe; observe(torch.exp, [torch.ones(4)])",
        {"torch._dynamo"},
    ),
}


@pytest.mark.parametrize("name", LIGHT)
def test_nothing_heavy_is_loaded(name: str) -> None:
    statement, heavy = LIGHT[name]
    program = f"import sys; {statement}; print('loaded:', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert sorted(heavy & set(done.stdout.partition("loaded:")[2].split())) == []
