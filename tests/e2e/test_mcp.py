"""A real MCP client, over stdio, is the Coder of a job on a real server."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.e2e.programs import ROOT, SMALL, WELL, environment, run, running

pytestmark = pytest.mark.e2e

KERNEL = '''
import torch
from kernelwright_rt import compile_cpp

SOURCE = r"""
#include <cmath>
#include <cstdint>
extern "C" void silu(const float* x, float* out, int64_t n, double scale) {
    #pragma omp parallel for
    for (int64_t i = 0; i < n; ++i) out[i] = x[i] / (1.0f + std::exp(-x[i])) * (float)scale;
}
"""
LIBRARY = compile_cpp(SOURCE)


class ModelNew(torch.nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = float(scale)

    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        LIBRARY.silu(x, out, x.numel(), self.scale)
        return out
'''


async def call(session: ClientSession, name: str, **arguments: Any) -> dict[str, Any]:
    result = await session.call_tool(name, arguments)
    assert not result.is_error, result
    found = result.structured_content
    assert isinstance(found, dict)
    return found


async def refused(session: ClientSession, name: str, **arguments: Any) -> str:
    result = await session.call_tool(name, arguments)
    assert result.is_error
    return " ".join(getattr(part, "text", "") for part in result.content)


@pytest.mark.timeout(280)
async def test_a_coding_agent_writes_the_kernel_over_mcp_and_the_referee_judges_it(tmp_path: Path) -> None:
    with running("serve", "--port", "0", home=tmp_path) as server:
        address = server.wait_for(r"at (http://127\.0\.0\.1:\d+)").group(1)
        parameters = StdioServerParameters(
            command=sys.executable,
            args=["-m", "kernelwright", "mcp", "--server", address, "--by", "test agent"],
            cwd=ROOT,
            env=environment(tmp_path, PATH=os.environ["PATH"]),
        )
        async with stdio_client(parameters) as (reading, writing), ClientSession(reading, writing) as session:
            await session.initialize()
            tools = {tool.name for tool in (await session.list_tools()).tools}
            assert tools == {"submit", "status", "next_request", "answer", "evaluate", "best", "search_memory"}
            job = (await call(session, "submit", problem=SMALL, model="playbook,coder=manual", rounds=1))["id"]
            request = None
            while request is None:
                request = (await call(session, "next_request", job_id=job, wait_s=20))["request"]
            assert request["role"] == "coder"
            assert any("silu" in message["content"] for message in request["messages"])
            complaint = await refused(session, "answer", request_id=request["id"], answer={"summary": "no source"})
            assert "either source or edits" in complaint
            assert "stays open" in complaint
            listed = run("requests", "list", "--server", address, home=tmp_path)
            assert request["id"] in listed.stdout
            answer = {"summary": "one loop", "source": KERNEL}
            assert (await call(session, "answer", request_id=request["id"], answer=answer))["job_id"] == job
            watched = run("watch", job, "--json", "--server", address, home=tmp_path)
            assert watched.returncode in (0, 1), watched.stderr
            assert (await call(session, "status", job_id=job))["status"] in WELL
            best = (await call(session, "best", job_id=job))["candidate"]
            assert best["source"].strip() == KERNEL.strip()
            assert best["report"]["verdict"] == "accepted"
            judged = await call(session, "evaluate", problem=SMALL, candidate=KERNEL.replace("* (float)scale", ""))
            assert judged["report"]["failed_gate"] == "correctness"
            assert judged["reward"] == -1
            assert (await call(session, "search_memory", text="silu"))["experiences"]
            assert "no job" in await refused(session, "status", job_id="job-none")
            shown = run("requests", "show", request["id"], "--server", address, home=tmp_path)
            assert re.search(r"answered by test agent", shown.stdout)
    exported = run("trajectories", "export", "--format", "sft", "--job", job, home=tmp_path)
    assert exported.returncode == 0, exported.stderr
    assert '"reward":1.0' in exported.stdout.replace(" ", "")
