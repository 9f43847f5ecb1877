"""Canary secrets, planted wherever a secret can be, turn up nowhere in what the program keeps or says."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.programs import SMALL, WELL, run
from tests.fakes.chat_protocols import by_path
from tests.fakes.chat_replies import an_example
from tests.fakes.chat_servers import KEY, Act, Script, Seen, chat_server

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(280)]
CANARIES = {
    "KERNELWRIGHT_COMPATIBLE_API_KEY": KEY,
    "OPENAI_API_KEY": "sk-canary-openai-4f1d9c",
    "ANTHROPIC_API_KEY": "sk-canary-anthropic-77ab02",
    "KERNELWRIGHT_TOKEN": "canary-token-90e1c3",
    "KERNELWRIGHT_EMBEDDER_API_KEY": "canary-embedder-5dd0aa",
    "AWS_SECRET_ACCESS_KEY": "canary-cloud-1b2c3d",
}
TELLS_ITS_ENVIRONMENT = f"""import os

{SMALL}
def get_init_inputs():
    raise ValueError(str(dict(os.environ)))
"""


def planning(_number: int, seen: Seen) -> Act:
    protocol = by_path(seen.path)
    assert protocol is not None
    _, schema = protocol.format_of(seen.body)
    reply: Any = an_example(schema, schema)
    return Act(text=json.dumps({**reply, "unable": None, "start_point": None, "moves": []}))


def refusing_and_quoting_the_key(_number: int, _seen: Seen) -> Act:
    return Act(status=401, raw=json.dumps({"error": {"message": f"wrong key {KEY} in Bearer {KEY}"}}).encode())


def leaks(home: Path, *texts: str) -> list[str]:
    """Which canary is in which file below a folder, or in a text."""
    contents = {str(path): path.read_bytes() for path in home.rglob("*") if path.is_file()}
    contents |= {f"text {number}": text.encode() for number, text in enumerate(texts)}
    assert any(name.endswith(".db") for name in contents)
    return [
        f"{variable} in {name}"
        for name, content in contents.items()
        for variable, value in CANARIES.items()
        if value.encode() in content
    ]


async def solve(home: Path, script: Script, source: str, *, model: str) -> list[str]:
    """Run a job with every canary in the environment; its outputs and an export of it."""
    problem = home.parent / "problem.py"
    problem.write_text(source)
    async with chat_server(script) as server:
        settings = {**CANARIES, "KERNELWRIGHT_COMPATIBLE_BASE_URL": f"{server.url}/v1"}
        arguments = ("run", problem, "--rounds", "1", "--baselines", "eager", "--model", model, "--json")
        ran = await asyncio.to_thread(run, *arguments, home=home, **settings)
    exported = await asyncio.to_thread(run, "trajectories", "export", home=home, **CANARIES)
    assert exported.returncode == 0, exported.stderr
    return [ran.stdout, ran.stderr, exported.stdout, exported.stderr]


async def test_nothing_of_a_solved_job_holds_a_secret(tmp_path: Path) -> None:
    home = tmp_path / "home"
    texts = await solve(home, planning, SMALL, model="playbook,planner=compatible:local")
    assert json.loads(texts[0])["status"] in WELL, texts[1]
    assert '"role":"planner","model":"local"' in texts[2], "the export shows the call that the key paid for"
    assert leaks(home, *texts) == []


@pytest.mark.full
async def test_a_provider_that_quotes_the_key_leaks_nothing_and_the_job_says_what_to_do(tmp_path: Path) -> None:
    home = tmp_path / "home"
    texts = await solve(home, refusing_and_quoting_the_key, SMALL, model="compatible:local")
    assert json.loads(texts[0])["status"] == "failed"
    assert "set another api_key" in texts[1]
    assert "--resume" in texts[1]
    assert leaks(home, *texts) == []


async def test_a_problem_that_tells_its_environment_has_nothing_to_tell(tmp_path: Path) -> None:
    home = tmp_path / "home"
    texts = await solve(home, planning, TELLS_ITS_ENVIRONMENT, model="playbook")
    assert json.loads(texts[0])["status"] == "refused"
    assert "ValueError" in texts[1]
    assert leaks(home, *texts) == []
    assert os.environ.get("AWS_SECRET_ACCESS_KEY") != CANARIES["AWS_SECRET_ACCESS_KEY"]
