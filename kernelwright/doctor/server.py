"""Checks of an installation: a server elsewhere over its REST API, or this machine's place in one."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx

from kernelwright.admission import MOST_SKEW_S, broker_time, check_clock, check_version
from kernelwright.doctor.findings import Finding, missing, ok, warning
from kernelwright.orchestrator_names import host_of
from kernelwright.settings import Settings
from services.domain.errors import KernelwrightError, QueueError

WAITING = re.compile(r'^kernelwright_orders\{device="([^"]+)",status="queued"\} ([0-9.e+]+)$', re.MULTILINE)
START_AGAIN = "Do what it says on that node, then start its worker again."
_TIMEOUT_S = 10.0
WORKER_ANSWER_S = 20.0
API_ANSWER_S = 8.0


def diagnose_remote(
    url: str, token: str | None, own_version: str, transport: httpx.BaseTransport | None = None
) -> tuple[Finding, ...]:
    """What can be found out about a server from here."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        with httpx.Client(base_url=url.rstrip("/"), headers=headers, timeout=_TIMEOUT_S, transport=transport) as client:
            health = client.get("/healthz")
            checks: tuple[Callable[[httpx.Client], Finding], ...] = (_ready, _access, _workers, _queues)
            return (
                _reached(url, health),
                _clock(health),
                *(check(client) for check in checks),
                _version(client, own_version),
            )
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return (missing("server", f"{url}: {error}", "Check the address, the server and any firewall in between."),)
    except (ValueError, KeyError, TypeError):
        detail = f"{url} answers, but not as a Kernelwright server does"
        return (missing("server", detail, "Check the address and its port."),)


def _reached(url: str, health: httpx.Response) -> Finding:
    if health.status_code == 200:
        return ok("server", f"{url} answers")
    detail = f"{url}/healthz answers {health.status_code}: is that a Kernelwright server?"
    return missing("server", detail, "Check the address and its port.")


def _clock(health: httpx.Response) -> Finding:
    date = health.headers.get("date")
    if date is None:
        return warning("clock", "the server sends no Date header")
    skew_s = (datetime.now(UTC) - parsedate_to_datetime(date)).total_seconds()
    detail = f"{abs(skew_s):.0f} s apart"
    if abs(skew_s) > MOST_SKEW_S + 1:  # the header has whole seconds
        return warning("clock", detail, "Set both clocks (NTP).")
    return ok("clock", detail)


def _ready(client: httpx.Client) -> Finding:
    answer = client.get("/readyz")
    if answer.status_code == 200:
        return ok("database", "the server's database answers, schema is current")
    return missing("database", _detail(answer), "See the server's log.")


def _access(client: httpx.Client) -> Finding:
    answer = client.get("/api/v1/me")
    if answer.status_code == 200:
        return ok("access", f"as team {answer.json()['team']}")
    return missing("access", _detail(answer), "Set KERNELWRIGHT_TOKEN.")


def _workers(client: httpx.Client) -> Finding:
    answer = client.get("/api/v1/workers")
    if answer.status_code != 200:
        return warning("workers", _detail(answer))
    found = _items(answer)
    if not found:
        return warning("workers", "none connected; jobs will wait", "Start one: kernelwright worker --device NAME")
    refused = [f"{worker['name']}: {worker['node']['fault']}" for worker in found if _has_fault(worker)]
    if refused:
        return warning("workers", "; ".join(refused), START_AGAIN)
    names = ", ".join(f"{worker['name']} ({worker['device']}: {'+'.join(worker['backends'])})" for worker in found)
    return ok("workers", names)


def _has_fault(worker: dict[str, Any]) -> bool:
    return bool((worker.get("node") or {}).get("fault"))


def _takes_orders(worker: dict[str, Any]) -> bool:
    return (worker.get("node") or {}).get("state") != "refused"


def _items(answer: httpx.Response) -> list[dict[str, Any]]:
    """The documents of a list; from servers of the last release they come without an envelope."""
    document = answer.json()
    found: list[dict[str, Any]] = document["items"] if isinstance(document, dict) else document
    return found


def _queues(client: httpx.Client) -> Finding:
    answer, workers = client.get("/metrics"), client.get("/api/v1/workers")
    if answer.status_code != 200 or workers.status_code != 200:
        return warning("queues", _detail(answer))
    waiting = {device: int(float(count)) for device, count in WAITING.findall(answer.text)}
    return unserved(waiting, {worker["device"] for worker in _items(workers) if _takes_orders(worker)})


def unserved(waiting: dict[str, int], served: set[str]) -> Finding:
    """Whether orders wait for devices that no worker serves."""
    alone = {device: count for device, count in waiting.items() if count and device not in served}
    if not alone:
        return ok("queues", f"{sum(waiting.values())} evaluations queued")
    shown = ", ".join(f"{count} for {device}" for device, count in sorted(alone.items()))
    remedy = f"Start a worker: kernelwright worker --device {min(alone)}"
    return warning("queues", f"queued without a worker: {shown}", remedy)


def _version(client: httpx.Client, own: str) -> Finding:
    answer = client.get("/api/v1/me")
    theirs = answer.json()["version"] if answer.status_code == 200 else None
    if theirs is None:
        return warning("version", "the server does not report its version")
    if theirs == own:
        return ok("version", own)
    remedy = "Install the server's version here; workers of another version are refused."
    return warning("version", f"{own} here, {theirs} there", remedy)


def _detail(answer: httpx.Response) -> str:
    try:
        return f"{answer.status_code}: {answer.json()['detail']}"
    except (ValueError, KeyError, TypeError):
        return f"{answer.status_code}"


def check_membership(settings: Settings) -> Finding:
    """Whether this machine's worker would be let into the installation: clock, version, and queues that wait."""
    if settings.queue != "celery":
        return ok("installation", "single process (queue: in-process)")
    try:
        if (told := broker_time(settings.broker, attempts_s=0)) is not None:
            check_clock(datetime.now(UTC), told, "the message broker's")
        return asyncio.run(_member(settings))
    except KernelwrightError as error:
        return missing("installation", str(error))


async def _member(settings: Settings) -> Finding:
    from kernelwright.distribution import version
    from kernelwright.wiring.database import open_database
    from services.domain.nodes import NodeRole, NodeState
    from services.runtime.clock import SystemClock
    from storage.jobs.work_orders import SqlWorkStore
    from storage.nodes import SqlNodeRegistry

    clock = SystemClock()
    async with open_database(settings) as database:
        await database.check()
        nodes = await SqlNodeRegistry(database, clock).living()
        waiting = dict(await SqlWorkStore(database, clock).waiting())
    orchestrators = [node for node in nodes if node.role is NodeRole.ORCHESTRATOR]
    check_version(version(), orchestrators)
    workers = [node for node in nodes if node.role is NodeRole.WORKER and node.state is not NodeState.REFUSED]
    queues = unserved(waiting, {node.device or "" for node in workers})
    if queues.state != "ok":
        return queues
    if refused := [f"{node.name}: {node.fault}" for node in nodes if node.state is NodeState.REFUSED]:
        return warning("installation", "; ".join(refused), START_AGAIN)
    return ok("installation", f"{len(orchestrators)} orchestrators, {len(workers)} workers, {queues.detail}")


def worker_answers(settings: Settings, device: str) -> Finding:
    """Sends a task that does nothing to the workers of a device and waits for the answer."""
    from kernelwright.wiring.workers import celery_settings
    from workers.queue.health_check import ask
    from workers.queue.tasks import create_app

    name = f"worker {device}"
    if settings.queue != "celery":
        return missing(name, "no queue", "Set KERNELWRIGHT_QUEUE=celery.")
    try:
        worker = ask(create_app(celery_settings(settings)), device, WORKER_ANSWER_S)
    except QueueError as error:
        remedy = "Start the message broker, or set KERNELWRIGHT_REDIS_URL or KERNELWRIGHT_BROKER_URL."
        return missing(name, str(error), remedy)
    if worker is None:
        detail = f"no worker did a task within {WORKER_ANSWER_S:g} s, and none is at work"
        return missing(name, detail, f"kernelwright worker --device {device}")
    return ok(name, f"{worker} does tasks")


def api_answers(url: str) -> Finding:
    """Asks an API whether it reaches its database."""
    import httpx

    try:
        answer = httpx.get(f"{url.rstrip('/')}/readyz", timeout=API_ANSWER_S)
    except httpx.HTTPError as error:
        return missing("api", f"{url}: {error}", "kernelwright api")
    if answer.status_code != 200:
        return missing("api", f"{url}: HTTP {answer.status_code}: {answer.text[:300]}", "Make its database reachable.")
    return ok("api", f"{url} reaches its database")


def orchestrator_lives(settings: Settings) -> Finding:
    """Whether an orchestrator on this host still says that it is there: one that hangs does not."""
    host = socket.gethostname()
    try:
        names = asyncio.run(_orchestrators(settings))
    except KernelwrightError as error:
        return missing("orchestrator", str(error), "Make its database reachable.")
    own = [name for name in names if host_of(name) == host]
    if not own:
        return missing("orchestrator", f"no orchestrator on {host} was seen lately", "kernelwright orchestrator")
    return ok("orchestrator", f"{own[0]} is there")


async def _orchestrators(settings: Settings) -> list[str]:
    from kernelwright.wiring.workers import open_registry
    from services.domain.nodes import NodeRole

    async with open_registry(settings) as registry:
        return [node.name for node in await registry.living(NodeRole.ORCHESTRATOR)]
