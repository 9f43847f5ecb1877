"""A real API process over a database with two teams, each with one of everything, and clients of both."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import httpx

from kernelwright.wiring.access import make_access
from services.adapters.embeddings.hashing import HashingEmbedder
from services.domain.access import ALL_SCOPES, Principal, Role, TokenScope
from services.runtime.clock import SystemClock
from services.teams.access import AccessService
from storage.database import Database
from storage.jobs.candidates import SqlCandidateStore
from storage.jobs.store import SqlJobStore
from storage.memory.store import SqlMemory
from tests.doubles import a_candidate, a_problem, a_report, an_evaluation_request, an_experience
from tests.e2e.programs import running
from tests.ports import a_free_port

TEAMS = ("red", "blue")
BYSTANDER = "green"
"""A team whose quotas may be changed without anybody noticing."""
NO_LIMIT = "100000000"


def secret_of(team: str) -> str:
    """Words that are in everything a team has, and that no other team may ever read."""
    return f"secret-of-{team}"


@dataclass(frozen=True, kw_only=True)
class Ground:
    """What is asked, by whom, and about what."""

    address: str
    tokens: dict[str, str]
    """Team to the token of an admin of it; `local` runs the installation."""
    ids: dict[str, dict[str, tuple[str, ...]]]
    """Team to the name of a path's parameter to what the team has of it."""


@contextmanager
def prepared(home: Path, database_url: str | None = None) -> Iterator[Ground]:
    """A server with teams, for as long as the context."""
    url = database_url or f"sqlite:///{home / 'kernelwright.db'}"
    home.mkdir(parents=True, exist_ok=True)
    tokens = asyncio.run(_tokens(url))
    port = a_free_port()
    settings = {
        "KERNELWRIGHT_DATABASE_URL": url,
        "KERNELWRIGHT_SIGN_IN": "required",
        "KERNELWRIGHT_RATE_LIMIT": NO_LIMIT,
        "KERNELWRIGHT_TEAM_RATE_LIMIT": NO_LIMIT,
        "KERNELWRIGHT_EMBEDDER": "hashing",
    }
    with running("api", "--port", str(port), home=home, **settings) as program:
        program.wait_for(rf"http://127\.0\.0\.1:{port} ")
        address = f"http://127.0.0.1:{port}"
        ids = {team: _over_rest(address, tokens[team], team) for team in TEAMS}
        for team, more in asyncio.run(_behind_its_back(url, {team: ids[team]["job_id"][0] for team in TEAMS})).items():
            ids[team] |= more
            _end_jobs(address, tokens[team], ids[team]["job_id"])
        yield Ground(address=address, tokens=tokens, ids=ids)


async def _tokens(url: str) -> dict[str, str]:
    database = Database(url)
    await database.upgrade()
    access = make_access(database, SystemClock())
    for team in (*TEAMS, BYSTANDER):
        await access.create_team(team, "test")
    made = {team: await _token(access, team, ALL_SCOPES) for team in (*TEAMS, "local")}
    await database.close()
    return made


async def _token(access: AccessService, team: str, scopes: frozenset[TokenScope]) -> str:
    maker = Principal(team_id=team, actor="test", role=Role.ADMIN, scopes=ALL_SCOPES)
    return (await access.create_token(maker, "fuzz", scopes, days=1, owner=None)).text


def _over_rest(address: str, token: str, team: str) -> dict[str, tuple[str, ...]]:
    """One of everything that is made over REST."""
    secret = secret_of(team)
    problem = {"name": secret, "source": f"# {secret}\n{a_problem().source}", "path": f"{secret}.py"}
    with _client(address, token) as client:
        jobs = [_made(client.post("/jobs", json={"problem": problem, "tags": [secret]}), "id") for _ in range(2)]
        judged = client.post("/evaluations", json={"problem": problem, "candidate": f"ModelNew = '{secret}'"})
        member = client.post("/members", json={"login": f"{secret}@example.org", "role": "viewer"})
        made = client.post("/tokens", json={"name": secret, "of_team": True})
        assert made.is_success, made.text
        return {
            "job_id": tuple(jobs),
            "evaluation_id": (_made(judged, "id"),),
            "user_id": (_made(member, "user_id"),),
            "token_id": (made.json()["token"]["id"],),
            "team": (BYSTANDER,),
            "reader": (BYSTANDER,),
        }


async def _behind_its_back(url: str, jobs: dict[str, str]) -> dict[str, dict[str, tuple[str, ...]]]:
    """A candidate with a report and an experience of each team, as an orchestrator would have written them."""
    database, clock = Database(url), SystemClock()
    candidates, memory = SqlCandidateStore(database, clock), SqlMemory(database, HashingEmbedder())
    found = {}
    for team, job_id in jobs.items():
        secret = secret_of(team)
        lease = await SqlJobStore(database, clock).acquire("fuzz", 600, job_id)
        assert lease is not None
        candidate = replace(a_candidate(job_id, 0, source=f"ModelNew = '{secret}'"), team_id=team)
        await candidates.add(lease, candidate)
        await candidates.finish(replace(an_evaluation_request(candidate), team_id=team), a_report())
        await SqlJobStore(database, clock).release(lease)
        experience = replace(an_experience(f"exp-{team}", text=f"{secret} advice"), team_id=team, title=secret)
        await memory.remember([experience])
        found[team] = {
            "candidate_id": (candidate.id,),
            "experience_id": (experience.id,),
            "subject": (experience.id, candidate.id),
        }
    await memory.close()
    await database.close()
    return found


def _end_jobs(address: str, token: str, jobs: tuple[str, ...]) -> None:
    """Cancelled jobs have event streams that end."""
    with _client(address, token) as client:
        for job_id in jobs:
            assert client.post(f"/jobs/{job_id}/cancel").is_success


def _client(address: str, token: str) -> httpx.Client:
    return httpx.Client(base_url=f"{address}/api/v1", headers={"Authorization": f"Bearer {token}"}, timeout=30)


def _made(answer: httpx.Response, name: str) -> str:
    assert answer.is_success, answer.text
    return str(answer.json()[name])
