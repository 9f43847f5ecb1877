"""Teams and access over REST: who gets in, who may do what, and that no team sees another's."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute, iter_route_contexts

from services.domain.access import Role, TokenScope
from storage.database import Database
from storage.jobs.candidates import SqlCandidateStore
from tests.contracts.teams_server import ADDRESS, PROBLEM, TeamServer
from tests.doubles import a_candidate, an_experience
from web.context import admin, node, observer, operator, reader, writer

AUTH = ["/auth/callback", "/auth/login", "/auth/logout", "/auth/methods"]
READING_POSTS = {"lint", "create_token", "revoke_token", "choose_team"}
"""Routes that change nothing of the team's, or check for themselves whose they change."""


@pytest_asyncio.fixture
async def server(sqlite_address: str, tmp_path: Path) -> AsyncIterator[TeamServer]:
    database = Database(sqlite_address)
    yield TeamServer(database, tmp_path / "kernelwright_rt.py")
    await database.close()


def told(answer: httpx.Response, status: int) -> str:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    return str(answer.json()["detail"])


async def submitted(client: httpx.AsyncClient, **fields: Any) -> str:
    answer = await client.post("/jobs", json={"problem": PROBLEM, **fields})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


async def test_without_a_token_nobody_gets_in(server: TeamServer) -> None:
    async with server.client() as nobody:
        refused = await nobody.get("/jobs")
        assert "sign in" in told(refused, 401)
        assert refused.headers["www-authenticate"] == "Bearer"
    async with server.client(Authorization="Bearer kw_0123456789_" + "x" * 43) as stranger:
        told(await stranger.get("/me"), 401)


async def test_me_says_who_is_calling_and_what_they_may_do(server: TeamServer) -> None:
    await server.member("red", "ada@x", Role.MEMBER)
    await server.member("blue", "ada@x", Role.VIEWER)
    async with await server.token("red", "ada@x", {TokenScope.READ, TokenScope.ADMIN}) as ada:
        me = (await ada.get("/me")).json()
    assert {name: me[name] for name in ("team", "user", "role", "scopes", "teams", "by")} == {
        "team": "red",
        "user": "ada@x",
        "role": "member",
        "scopes": ["read"],
        "teams": ["red"],
        "by": "token",
    }
    async with await server.browser("ada@x") as browser:
        me = (await browser.get("/me")).json()
        assert (me["team"], me["teams"], me["by"]) == ("blue", ["blue", "red"], "session")
        assert (await browser.put("/session", json={"team": "red"})).status_code == 204
        assert (await browser.get("/me")).json()["team"] == "red"
        assert "no team green" in told(await browser.put("/session", json={"team": "green"}), 404)


@pytest.mark.parametrize(
    ("role", "reads", "submits", "retracts"),
    [(Role.VIEWER, 200, 403, 403), (Role.MEMBER, 200, 201, 403), (Role.ADMIN, 200, 201, 404)],
)
async def test_viewers_read_members_submit_admins_manage(
    server: TeamServer, role: Role, reads: int, submits: int, retracts: int
) -> None:
    await server.member("red", "ada@x", role)
    async with await server.token("red", "ada@x") as ada:
        assert (await ada.get("/jobs")).status_code == reads
        assert (await ada.post("/problems/lint", json=PROBLEM)).status_code == 200
        assert (await ada.post("/jobs", json={"problem": PROBLEM})).status_code == submits
        retracted = await ada.post("/experiences/exp-none/retract", json={"reason": "it cheats"})
        assert retracted.status_code == retracts
        managed = (await ada.post("/members", json={"login": "eve@x"})).status_code
        assert managed == (201 if role is Role.ADMIN else 403)
        assert (await ada.get("/audit")).status_code == (200 if role is Role.ADMIN else 403)


async def test_a_tokens_scopes_bind_an_admin_too(server: TeamServer) -> None:
    await server.member("red", "ada@x", Role.ADMIN)
    async with await server.token("red", "ada@x", {TokenScope.READ}) as ada:
        refused = await ada.post("/jobs", json={"problem": PROBLEM})
        assert told(refused, 403) == "this needs a token with the scope write"


async def test_every_route_that_changes_something_asks_for_more_than_reading(server: TeamServer) -> None:
    open_to_all, weak = [], []
    for path, route in _routes(server):
        guards = set(_calls(route.dependant)) & {reader, writer, admin, operator, observer, node}
        if not guards:
            open_to_all.append(path)
        elif not methods_of(route) <= {"GET"} and not guards & {writer, admin, operator, node}:
            weak.append(route.name)
    assert sorted(open_to_all) == [*AUTH, "/healthz", "/readyz"]
    assert set(weak) == READING_POSTS


def _routes(server: TeamServer) -> Iterator[tuple[str, APIRoute]]:
    """The routes that the OpenAPI document names, with their paths."""
    for found in iter_route_contexts(server.app.routes):
        if isinstance(found.original_route, APIRoute) and found.include_in_schema:
            yield str(found.path), found.original_route


def methods_of(route: APIRoute) -> set[str]:
    return (route.methods or set()) - {"HEAD"}


def _calls(dependant: Dependant) -> Iterator[Any]:
    for one in dependant.dependencies:
        yield one.call
        yield from _calls(one)


async def objects_of(server: TeamServer, red: httpx.AsyncClient) -> dict[str, str]:
    """One of everything that the team red can have, by the name of its parameter in paths."""
    job = await submitted(red, tags=["secret"])
    judged = await red.post("/evaluations", json={"problem": PROBLEM, "candidate": "class ModelNew: ..."})
    token = await red.post("/tokens", json={"name": "t", "of_team": True})
    member = await red.post("/members", json={"login": "ada@x"})
    lease = await server.stores.jobs.acquire("test", 60, job)
    assert lease is not None
    candidate = replace(a_candidate(job, 0), team_id="red")
    await SqlCandidateStore(server.database, server.clock).add(lease, candidate)
    experience = replace(an_experience("exp-secret"), team_id="red")
    await server.stores.memory.remember([experience])
    return {
        "job_id": job,
        "evaluation_id": judged.json()["id"],
        "token_id": token.json()["token"]["id"],
        "user_id": member.json()["user_id"],
        "candidate_id": candidate.id,
        "experience_id": experience.id,
        "subject": experience.id,
    }


BODIES: dict[str, Any] = {"set_role": {"role": "viewer"}, "retract_experience": {"reason": "it cheats"}}


async def test_another_teams_objects_are_not_there(server: TeamServer) -> None:
    async with await server.token("red") as red, await server.token("blue") as blue:
        known = await objects_of(server, red)
        asked: list[str] = []
        for template, route in _routes(server):
            names = [name for name in re.findall(r"{(\w+)}", template) if name in known]
            for method in methods_of(route) if names else ():
                path = (
                    template.replace(f"{{{names[0]}}}", known[names[0]])
                    .replace("{index}", "0")
                    .replace("{number}", "0")
                )
                body = BODIES.get(route.name)
                told(await blue.request(method, f"{ADDRESS}{path}", json=body), 404)
                asked.append(names[0])
        assert set(asked) == set(known)
        assert len(asked) >= 20
        assert (await blue.get("/jobs")).json()["items"] == []
        assert (await blue.get("/evaluations", params={"id": known["evaluation_id"]})).status_code == 404
        for path in ("/members", "/requests", "/experiences", "/tokens", "/experiences/search?q=advice"):
            seen = (await blue.get(path)).text
            assert not [one for one in (*known.values(), "ada@x") if one in seen]
        assert [entry["action"] for entry in (await blue.get("/audit")).json()["items"]] == ["create_token"]
        assert (await red.get(f"/experiences/{known['subject']}")).json()["retracted"] is False


async def test_the_same_idempotency_key_of_two_teams_makes_two_jobs(server: TeamServer) -> None:
    async with await server.token("red") as red, await server.token("blue") as blue:
        made = [
            (await client.post("/jobs", json={"problem": PROBLEM}, headers={"Idempotency-Key": "once"})).json()["id"]
            for client in (red, blue, red)
        ]
    assert made[0] == made[2] != made[1]


async def test_what_is_done_is_entered_with_who_and_to_what(server: TeamServer) -> None:
    await server.member("red", "ada@x", Role.ADMIN)
    async with await server.token("red", "ada@x") as ada:
        job = await submitted(ada)
        await ada.post(f"/jobs/{job}/pause")
        await ada.post("/jobs/job-none/pause")
        await ada.post("/jobs", json={"problem": {"source": "x"}})
        first = (await ada.get("/audit", params={"limit": 2})).json()
        second = (await ada.get("/audit", params={"cursor": first["next_cursor"]})).json()
    done = [(entry["actor"], entry["action"], entry["subject"]) for entry in first["items"]]
    assert done == [("user:ada@x", "pause_job", job), ("user:ada@x", "submit_job", job)]
    assert [entry["action"] for entry in second["items"]] == ["create_token", "add_member", "create_team"]
    assert second["next_cursor"] is None


async def test_a_new_token_is_shown_once_and_opens_what_it_says(server: TeamServer) -> None:
    async with await server.token("red") as red:
        made = (await red.post("/tokens", json={"name": "ci", "scopes": ["read"], "days": 7, "of_team": True})).json()
        listed = (await red.get("/tokens")).json()["items"]
        assert made["text"].startswith(made["token"]["prefix"])
        assert made["text"] not in str(listed)
        async with server.client(Authorization=f"Bearer {made['text']}") as ci:
            assert (await ci.get("/me")).json()["scopes"] == ["read"]
            assert (await red.delete(f"/tokens/{made['token']['id']}")).status_code == 204
            assert "revoked" in told(await ci.get("/me"), 401)
        told(await red.post("/tokens", json={"name": "x", "scopes": []}), 422)
        told(await red.post("/tokens", json={"name": "x", "days": 0}), 422)
        told(await red.post("/tokens", json={"name": "x", "login": "nobody@x"}), 404)


async def test_only_the_team_that_runs_the_installation_makes_teams_and_sees_its_figures(server: TeamServer) -> None:
    async with await server.token("red") as red, await server.token("local") as local:
        assert "local" in told(await red.post("/teams", json={"name": "green"}), 403)
        told(await red.get("http://127.0.0.1:8000/metrics"), 403)
        assert (await local.post("/teams", json={"name": "green"})).status_code == 201
        told(await local.post("/teams", json={"name": "green"}), 409)
        assert [team["name"] for team in (await local.get("/teams")).json()["items"]] == ["green", "local", "red"]
        assert [team["name"] for team in (await red.get("/teams")).json()["items"]] == ["red"]


async def test_pages_of_other_sites_cannot_use_a_browsers_session(server: TeamServer) -> None:
    await server.member("red", "ada@x", Role.ADMIN)
    async with await server.browser("ada@x") as browser:
        assert (await browser.post("/jobs", json={"problem": PROBLEM})).status_code == 201
        for site in ("cross-site", "same-site"):
            answer = await browser.post("/jobs", json={"problem": PROBLEM}, headers={"Sec-Fetch-Site": site})
            assert "another site" in told(answer, 403)
        del browser.headers["Sec-Fetch-Site"]
        told(await browser.post("/jobs", json={"problem": PROBLEM}), 403)
        told(await browser.post("/jobs", json={"problem": PROBLEM}, headers={"Origin": "https://evil.example"}), 403)
        own = await browser.post("/jobs", json={"problem": PROBLEM}, headers={"Origin": "http://127.0.0.1:8000"})
        assert own.status_code == 201


async def test_the_one_user_of_a_machine_needs_nothing_and_other_sites_still_get_nothing(
    sqlite_address: str, tmp_path: Path
) -> None:
    database = Database(sqlite_address)
    server = TeamServer(database, tmp_path / "kernelwright_rt.py", open_here=True)
    async with server.client() as here:
        me = (await here.get("/me")).json()
        assert (me["team"], me["by"], me["scopes"]) == ("local", "local", ["read", "write", "admin"])
        await submitted(here)
        evil = await here.post("/jobs", json={"problem": PROBLEM}, headers={"Sec-Fetch-Site": "cross-site"})
        told(evil, 403)
        # A wrong token of ours is never taken for the user of this machine.
        told(await here.get("/me", headers={"Authorization": "Bearer kw_0123456789_" + "x" * 43}), 401)
    await database.close()


async def test_what_no_database_can_look_for_is_not_there(database: Database, tmp_path: Path) -> None:
    server = TeamServer(database, tmp_path / "kernelwright_rt.py")
    async with await server.token("red") as red:
        job = await submitted(red)
        for path in ("/jobs/a%00b", "/experiences/%00", "/candidates/%00/diff"):
            told(await red.get(path), 404)
        told(await red.get("/experiences?family=%00"), 422)
        told(await red.get(f"/jobs/{job}/log?after={1 << 40}"), 422)
        told(await red.get(f"/audit?before={1 << 40}"), 422)
        assert (await red.get(f"/jobs/{job}/log?after={(1 << 31) - 1}")).json()["items"] == []
        body = b'{"login": "a\\ud800"}'
        told(await red.post("/members", content=body, headers={"Content-Type": "application/json"}), 422)
