"""A node's token takes and answers the orders of its devices, and opens nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

import httpx
import pytest
import pytest_asyncio
from prometheus_client import REGISTRY

from services.adapters.node_api.claims import ApiClaims
from services.adapters.node_api.connection import NodeConnection
from services.adapters.node_api.presence import ApiPresence
from services.domain.access import Role, TokenScope, local_principal
from services.domain.errors import ConfigurationError, ForbiddenError, StorageError, UserError
from services.domain.nodes import MOST_FAULT, NodeState
from services.domain.profiles import Disassembly
from services.domain.validations import ValidationReport
from services.domain.work import WorkStatus
from tests.contracts.conftest import Stores
from tests.contracts.node_over_rest import ADDRESS, VERSION, NodeServer
from tests.contracts.test_node_registry import a_node
from tests.contracts.test_work_store import EVALUATION, OFFER, VALIDATION
from tests.doubles import a_job, a_report, an_analysis

pytestmark = pytest.mark.parametrize("stores", ["doubles", "sqlite"], indirect=True)
LISTING = Disassembly(
    form="assembly", tool="objdump", functions=(), cut=False, note="", hash=None, text="mov eax, 1\n" * 10
)


@dataclass(frozen=True, kw_only=True)
class Setup:
    """A server with stores behind it, and a node."""

    server: NodeServer
    stores: Stores
    connection: NodeConnection
    claims: ApiClaims
    token: str


@pytest_asyncio.fixture
async def setup(stores: Stores, tmp_path: Path) -> AsyncIterator[Setup]:
    server = NodeServer(stores.orders, stores.nodes, stores, tmp_path)
    token = await server.token("cpu")
    async with server.connection(token) as connection:
        claims = ApiClaims(connection, VERSION)
        yield Setup(server=server, stores=stores, connection=connection, claims=claims, token=token)


async def test_a_nodes_token_opens_nothing_but_its_work(setup: Setup) -> None:
    headers = {"Authorization": f"Bearer {setup.token}"}
    async with httpx.AsyncClient(transport=setup.server.transport, base_url=ADDRESS, headers=headers) as client:
        document = (await client.get("/openapi.json")).json()
        answers = {}
        for path, operations in document["paths"].items():
            if not path.startswith("/api/v1/") or path.startswith("/api/v1/work/"):
                continue
            for method in operations:
                address = path.replace("{", "").replace("}", "")
                answers[f"{method} {path}"] = (await client.request(method, address, json={})).status_code
    opened = {what: status for what, status in answers.items() if status not in (401, 403)}
    assert len(answers) > 50
    assert opened == {}


async def test_only_a_nodes_token_takes_orders(setup: Setup) -> None:
    operator = local_principal("test")
    for scopes in ({TokenScope.READ}, {TokenScope.ADMIN}):
        made = await setup.server.access.create_token(operator, "other", scopes, days=None, owner=None)
        async with setup.server.connection(made.text) as connection:
            with pytest.raises(UserError, match="needs a node's token"):
                await ApiClaims(connection, VERSION).take("one", 30, OFFER)
    await setup.server.access.revoke(operator, setup.token.split("_")[1])
    with pytest.raises(UserError, match="revoked"):
        await setup.claims.take("one", 30, OFFER)


async def test_a_node_takes_no_order_of_a_device_that_is_not_its_tokens(setup: Setup) -> None:
    await setup.stores.orders.place(EVALUATION)
    async with setup.server.connection(await setup.server.token("h200")) as connection:
        with pytest.raises(UserError, match="this token is for h200, not for the device 'cpu'"):
            await ApiClaims(connection, VERSION).take("one", 30, OFFER)
        with pytest.raises(UserError, match="this token is for h200"):
            await ApiPresence(connection).register(a_node(setup.stores.clock))
    assert (await setup.stores.orders.state(EVALUATION.id)).status is WorkStatus.QUEUED
    assert await setup.stores.nodes.living() == ()


async def test_a_claim_cannot_be_answered_kept_or_inherited_with_another_token(setup: Setup) -> None:
    await setup.stores.orders.place(EVALUATION)
    claim = await setup.claims.take("one", 30, OFFER)
    assert claim is not None
    async with setup.server.connection(await setup.server.token("cpu")) as connection:
        thief = ApiClaims(connection, VERSION)
        assert await thief.finish(claim, a_report(median_us=0.1)) is False
        assert await thief.fail(claim, "forged") is False
        assert await thief.renew(claim, 30) is False
        assert await thief.take("one", 30, OFFER) is None, "the same name is another node's under another token"
        await ApiPresence(connection).leave("one")
    assert await setup.claims.finish(claim, a_report()) is True
    assert (await setup.stores.orders.state(EVALUATION.id)).result == a_report()


async def test_a_report_of_another_kind_or_form_is_refused_and_the_claim_stays(setup: Setup) -> None:
    await setup.stores.orders.place(VALIDATION)
    claim = await setup.claims.take("one", 30, OFFER)
    assert claim is not None
    with pytest.raises(UserError, match="another kind of report"):
        await setup.claims.finish(claim, a_report())
    held = {"name": "one", "token": claim.token}
    for report, why in (
        ({"kind": "Principal", "data": {}}, "a report's kind is one of"),
        ({"kind": "EvaluationReport", "data": {"verdict": "accepted"}}, "not a EvaluationReport"),
    ):
        with pytest.raises(UserError, match=why):
            await setup.connection.post(f"/claims/{claim.order.id}/report", {**held, "report": report})
    answer = ValidationReport(analysis=an_analysis(), refusal=None, device=None)
    assert await setup.claims.finish(claim, answer) is True


async def test_a_node_of_another_version_is_refused(setup: Setup) -> None:
    await setup.stores.orders.place(EVALUATION)
    with pytest.raises(UserError, match=r"this node is version 0\.9, and the server 1\.0"):
        await ApiClaims(setup.connection, "0.9").take("one", 30, OFFER)
    with pytest.raises(UserError, match="install the same version"):
        await ApiPresence(setup.connection).register(a_node(setup.stores.clock, version="0.9"))


async def test_a_refused_node_of_any_version_and_device_is_listed_until_it_begins_with_any_token(setup: Setup) -> None:
    clock, presence = setup.stores.clock, ApiPresence(setup.connection)
    await presence.refuse(a_node(clock, device="h200", version="0.9"), "this token is for cpu" + "!" * 2 * MOST_FAULT)
    (node,) = await setup.stores.nodes.living()
    assert node.name == f"kernelwright-cpu-1@here ({setup.token.split('_')[1]})"
    assert (node.state, node.device, node.version) == (NodeState.REFUSED, "h200", "0.9")
    assert str(node.fault).startswith("this token is for cpu!")
    async with setup.server.connection(await setup.server.token("h200")) as connection:
        await ApiPresence(connection).refuse(a_node(clock, "kernelwright-cpu-10@here"), "another node's")
        await ApiPresence(connection).register(a_node(clock, device="h200"))
    found = {node.name.split()[0]: node.state for node in await setup.stores.nodes.living()}
    assert found == {"kernelwright-cpu-1@here": NodeState.READY, "kernelwright-cpu-10@here": NodeState.REFUSED}


async def test_machine_code_that_comes_with_a_report_is_kept_by_the_server(setup: Setup) -> None:
    await setup.stores.jobs.create(a_job("job-1"))
    await setup.stores.orders.place(EVALUATION)
    claim = await setup.claims.take("one", 30, OFFER)
    assert claim is not None
    await setup.claims.finish(claim, replace(a_report(), listing=LISTING))
    state = await setup.stores.orders.state(EVALUATION.id)
    listing = state.result.listing if state.result is not None else None  # type: ignore[union-attr]
    assert listing is not None
    assert listing.text == ""
    assert await setup.stores.artefacts.get("local", str(listing.hash)) == LISTING.text.encode()


async def test_a_report_that_is_too_large_goes_without_its_machine_code(setup: Setup) -> None:
    await setup.stores.orders.place(EVALUATION)
    claim = await setup.claims.take("one", 30, OFFER)
    assert claim is not None
    large = replace(a_report(), listing=replace(LISTING, text="nop\n" * (2 << 20)))
    assert await setup.claims.finish(claim, large) is True
    result = (await setup.stores.orders.state(EVALUATION.id)).result
    assert result.listing.note == "it was too large to be sent to the server"  # type: ignore[union-attr]


async def test_tokens_for_nodes_are_made_by_who_runs_the_installation_and_for_devices(setup: Setup) -> None:
    access, operator = setup.server.access, local_principal("test")
    node = {TokenScope.NODE}
    await access.create_team("red", "test")
    red = replace(operator, team_id="red")
    member = replace(operator, role=Role.MEMBER)
    for caller in (red, member):
        with pytest.raises(ForbiddenError, match="give tokens to nodes"):
            await access.create_token(caller, "n", node, days=1, owner=None, devices=("cpu",))
    with pytest.raises(ConfigurationError, match="must name the devices"):
        await access.create_token(operator, "n", node, days=1, owner=None)
    with pytest.raises(ConfigurationError, match="and no other"):
        await access.create_token(operator, "n", {*node, TokenScope.READ}, days=1, owner=None, devices=("cpu",))
    with pytest.raises(ConfigurationError, match="not a device's name"):
        await access.create_token(operator, "n", node, days=1, owner=None, devices=("a b",))


async def test_jobs_that_have_ended_are_told(setup: Setup) -> None:
    await setup.stores.jobs.create(a_job("job-1"))
    assert await setup.claims.ended([("local", "job-1"), ("local", "job-gone")]) == {"job-gone"}
    assert await setup.claims.ended([]) == frozenset()


async def test_a_server_that_is_away_is_waited_for(stores: Stores) -> None:
    async with NodeConnection("http://127.0.0.1:9", "kw_0_0") as connection:
        with pytest.raises(StorageError, match="no Kernelwright server answers"):
            await ApiClaims(connection, VERSION).take("one", 30, OFFER)


async def test_a_nodes_looks_are_no_slow_requests_and_only_refusals_are_logged(
    setup: Setup, caplog: pytest.LogCaptureFixture
) -> None:
    sample = ("kernelwright_request_seconds_count", {"method": "POST", "status": "2xx"})
    before = REGISTRY.get_sample_value(*sample) or 0.0
    caplog.set_level("INFO", "kernelwright.access")
    assert await setup.claims.take("one", 30, OFFER) is None
    assert (REGISTRY.get_sample_value(*sample) or 0.0) == before
    assert caplog.messages == []
    with pytest.raises(UserError):
        await ApiClaims(setup.connection, "0.9").take("one", 30, OFFER)
    assert [line.split(" in ")[0] for line in caplog.messages if "/work/" in line] == ["POST /api/v1/work/claims 409"]
