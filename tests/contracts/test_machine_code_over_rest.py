"""A candidate's machine code over REST: its own team reads it, another one finds nothing, and it goes with its job."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest_asyncio

from services.domain.evaluations import EvaluationRequest
from services.domain.profiles import Disassembly, Profile, ProfilerFile
from services.jobs.machine_code import with_machine_code_kept
from storage.contents.blobs import SqlArtefactStore
from storage.database import Database
from storage.jobs.candidates import SqlCandidateStore
from tests.contracts.teams_server import TeamServer
from tests.contracts.test_access_over_rest import submitted, told
from tests.doubles import a_candidate, a_problem, a_report

TEXT = "0000000000001139 <kernel_0>:\n    1139:\tret\n"


@pytest_asyncio.fixture
async def server(sqlite_address: str, tmp_path: Path) -> AsyncIterator[TeamServer]:
    database = Database(sqlite_address)
    yield TeamServer(database, tmp_path / "kernelwright_rt.py")
    await database.close()


async def judged(
    server: TeamServer, red: httpx.AsyncClient, listing: Disassembly | None, profile: Profile | None = None
) -> str:
    """A candidate of a job of the team red whose report came with some machine code."""
    job = await submitted(red)
    lease = await server.stores.jobs.acquire("test", 60, job)
    assert lease is not None
    candidate = replace(a_candidate(job, 0), team_id="red")
    candidates = SqlCandidateStore(server.database, server.clock)
    await candidates.add(lease, candidate)
    request = EvaluationRequest(
        evaluation_id=f"eval-{job}",
        job_id=job,
        team_id="red",
        candidate_id=candidate.id,
        problem=a_problem(),
        source=candidate.source,
        device="cpu",
        backend="cpp",
    )
    store = SqlArtefactStore(server.database, server.clock)
    await candidates.finish(
        request, await with_machine_code_kept(replace(a_report(), listing=listing, profile=profile), request, store)
    )
    return candidate.id


def a_listing(note: str = "") -> Disassembly:
    form = "none" if note else "assembly"
    return Disassembly(
        form=form, tool="objdump", functions=(), cut=False, note=note, hash=None, text="" if note else TEXT
    )


async def test_its_team_reads_the_machine_code_and_the_report_holds_only_its_hash(server: TeamServer) -> None:
    async with await server.token("red") as red, await server.token("blue") as blue:
        name = await judged(server, red, a_listing())
        answer = await red.get(f"/candidates/{name}/listing")
        assert (answer.status_code, answer.text) == (200, TEXT)
        assert answer.headers["content-type"].startswith("text/plain")
        shown = (await red.get(f"/candidates/{name}")).json()["report"]["listing"]
        assert (shown["form"], shown["text"], len(shown["hash"])) == ("assembly", "", 64)
        told(await blue.get(f"/candidates/{name}/listing"), 404)


async def test_where_there_is_none_it_is_said_why(server: TeamServer) -> None:
    async with await server.token("red") as red:
        noted = await judged(server, red, a_listing("objdump is not installed: install binutils"))
        assert "install binutils" in told(await red.get(f"/candidates/{noted}/listing"), 404)
        bare = await judged(server, red, None)
        assert "not built" in told(await red.get(f"/candidates/{bare}/listing"), 404)


async def test_ptx_and_the_profilers_file_are_downloaded_by_their_own_team(server: TeamServer) -> None:
    content = bytes(range(256)) * 5
    file = ProfilerFile(
        name="kernel.ncu-rep", bytes=len(content), hash=None, content=base64.b64encode(content).decode()
    )
    profile = Profile(source="ncu", metrics={"registers": 32.0}, bottleneck="memory", reason="", file=file)
    async with await server.token("red") as red, await server.token("blue") as blue:
        name = await judged(server, red, replace(a_listing(), form="sass", ptx="ret;\n"), profile)
        assert (await red.get(f"/candidates/{name}/listing", params={"form": "ptx"})).text == "ret;\n"
        told(await red.get(f"/candidates/{name}/listing", params={"form": "elf"}), 422)
        answer = await red.get(f"/candidates/{name}/profile")
        assert (answer.status_code, answer.content) == (200, content)
        assert f'filename="{name}-kernel.ncu-rep"' in answer.headers["content-disposition"]
        told(await blue.get(f"/candidates/{name}/profile"), 404)
        bare = await judged(server, red, None)
        assert "Nsight Compute writes one" in told(await red.get(f"/candidates/{bare}/profile"), 404)
