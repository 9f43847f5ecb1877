"""The Python client starts at once: importing it loads no torch and no part of a server."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = {
    "torch", "numpy", "pydantic", "fastapi", "starlette", "uvicorn", "sqlalchemy", "alembic", "celery", "redis",
    "docker", "langgraph", "openai", "anthropic", "jinja2",
}  # fmt: skip
OURS = {"web", "workers", "agents", "storage", "kernelwright"}


@pytest.mark.parametrize("module", ["services.client", "services.domain.errors"])
def test_importing_the_client_loads_neither_torch_nor_a_server(module: str) -> None:
    script = f"import sys, {module}; print(' '.join({{name.partition('.')[0] for name in sys.modules}}))"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert sorted(set(loaded) & (HEAVY | OURS)) == []
