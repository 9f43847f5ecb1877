"""The REST API over a database with teams, for tests that ask it as different people."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import httpx

from services.domain.access import ALL_SCOPES, Identity, Principal, Role, TokenScope
from services.jobs.catalogue import Catalogue
from services.jobs.requests import RequestService
from services.jobs.service import JobService
from services.jobs.trajectories import TrajectoryService
from services.teams.access import AccessService
from services.teams.quotas import QuotaService
from storage.contents.blobs import SqlArtefactStore
from storage.database import Database
from storage.jobs.candidates import SqlCandidateStore
from storage.jobs.events import SqlEventLog
from storage.jobs.requests import SqlRequestStore
from storage.teams.audit import SqlAuditLog
from storage.teams.credentials import SqlKeyStore
from storage.teams.quotas import SqlQuotaStore
from storage.teams.store import SqlTeamStore
from tests.contracts.test_memory_exchange import MemoryStores
from tests.doubles import a_problem
from tests.web_services import web_services
from web.app import create_app
from web.cookies import SESSION

PROBLEM = {"name": "relu", "source": a_problem().source, "path": "relu.py"}
ADDRESS = "http://127.0.0.1:8000"


class TeamServer:
    """An app over a database, and what tests do to it behind its back."""

    def __init__(self, database: Database, runtime: Path, **settings: Any) -> None:
        self.database = database
        self.stores = MemoryStores(database)
        clock = self.clock = self.stores.clock
        self.access = AccessService(
            SqlTeamStore(database, clock), SqlKeyStore(database, clock), SqlAuditLog(database, clock), clock
        )
        known = Catalogue(
            backends=("cpp",), devices=("cpu",), strategies=("greedy",), models=("playbook",), resolve_model=str
        )
        quotas = self.quotas = QuotaService(SqlQuotaStore(database, clock), clock)
        jobs = JobService(self.stores.jobs, SqlCandidateStore(database, clock), known, clock, quotas)
        own = {
            "events": SqlEventLog(database, clock),
            "experiences": self.stores.service,
            "requests": RequestService(SqlRequestStore(database, clock), lambda *_: None, clock),
            "trajectories": TrajectoryService(jobs, self.stores.records),
            "artefacts": SqlArtefactStore(database, clock),
            "access": self.access,
            "quotas": quotas,
            "open_here": False,
        }
        self.services = web_services(clock, jobs, runtime, **{**own, **settings})
        self.app = create_app(self.services)
        self._transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)

    def client(self, **headers: str) -> httpx.AsyncClient:
        """Somebody without anything but headers."""
        return httpx.AsyncClient(transport=self._transport, base_url=f"{ADDRESS}/api/v1", headers=headers)

    async def member(self, team: str, login: str, role: Role) -> None:
        """A member; the team is made where it is new."""
        if team not in {known.id for known in await self.access.teams()}:
            await self.access.create_team(team, "test")
        await self.access.add_member(team, login, role, "test")

    async def token(
        self, team: str, login: str | None = None, scopes: Collection[TokenScope] = ALL_SCOPES
    ) -> httpx.AsyncClient:
        """A client with a token of a member, or of the team."""
        owner = None if login is None else (await self.access.member(team, login)).user
        maker = Principal(team_id=team, actor="test", role=Role.ADMIN, scopes=ALL_SCOPES)
        made = await self.access.create_token(maker, "test", scopes, days=None, owner=owner)
        return self.client(Authorization=f"Bearer {made.text}")

    async def browser(self, login: str, subject: str = "1") -> httpx.AsyncClient:
        """A browser in which a member has signed in, asking from our own pages."""
        identity = Identity(issuer="https://id.example", subject=subject, name=login, email=login)
        secret = await self.access.sign_in(identity)
        return self.client(Cookie=f"{SESSION}={secret}", **{"Sec-Fetch-Site": "same-origin"})
