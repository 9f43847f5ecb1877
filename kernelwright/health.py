"""What health checks ask: not whether a process is up, but whether it does its work."""

from __future__ import annotations

from kernelwright.diagnosis import Finding
from kernelwright.settings import Settings
from services.domain.errors import QueueError

WORKER_ANSWER_S = 20.0
API_ANSWER_S = 8.0


def worker_answers(settings: Settings, device: str, timeout_s: float = WORKER_ANSWER_S) -> Finding:
    """Sends a task that does nothing to the workers of a device and waits for the answer."""
    from kernelwright.worker_wiring import celery_settings
    from workers.proof import ask
    from workers.tasks import create_app

    name = f"worker {device}"
    if settings.queue != "celery":
        return Finding(name=name, state="missing", detail="no queue", remedy="Set KERNELWRIGHT_QUEUE=celery.")
    try:
        worker = ask(create_app(celery_settings(settings)), device, timeout_s)
    except QueueError as error:
        remedy = "Start Redis, or set KERNELWRIGHT_REDIS_URL."
        return Finding(name=name, state="missing", detail=str(error), remedy=remedy)
    if worker is None:
        detail = f"no worker did a task within {timeout_s:g} s, and none is at work"
        return Finding(name=name, state="missing", detail=detail, remedy=f"kernelwright worker --device {device}")
    return Finding(name=name, state="ok", detail=f"{worker} does tasks")


def api_answers(url: str, timeout_s: float = API_ANSWER_S) -> Finding:
    """Asks an API whether it reaches its database."""
    import httpx

    try:
        answer = httpx.get(f"{url.rstrip('/')}/readyz", timeout=timeout_s)
    except httpx.HTTPError as error:
        return Finding(name="api", state="missing", detail=f"{url}: {error}", remedy="kernelwright api")
    if answer.status_code != 200:
        detail = f"{url}: HTTP {answer.status_code}: {answer.text[:300]}"
        return Finding(name="api", state="missing", detail=detail, remedy="Make its database reachable.")
    return Finding(name="api", state="ok", detail=f"{url} reaches its database")
