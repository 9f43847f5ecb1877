"""A small client of the REST API: httpx, JSON in and out, problem documents raised as errors."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx
from httpx_sse import EventSource

from services.client.faults import checked_address, not_ours, refusal, unreachable
from services.domain.errors import (
    InfrastructureError,
    UserError,
)

TIMEOUT_S = 30.0
_RETRY_S = (0.2, 0.5, 1.0, 2.0, 5.0)
"""Waits before the client connects again to a stream that broke off; the last one repeats."""


@dataclass(frozen=True, kw_only=True)
class Sent:
    """One Server-Sent Event."""

    id: int
    kind: str
    data: dict[str, Any]
    """The event's JSON document: job_id, seq, kind, data, at."""


class Client:
    """Talks to one server. Raises `UserError`s for 4xx answers, `InfrastructureError` when the server cannot answer."""

    def __init__(
        self,
        server: str,
        *,
        token: str | None = None,
        transport: httpx.BaseTransport | None = None,
        give_up_s: float = 60,
    ) -> None:
        """`give_up_s`: how long a broken event stream is tried again before that is an error."""
        self._server = checked_address(server)
        self._give_up_s = give_up_s
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._http = httpx.Client(
            base_url=f"{self._server}/api/v1", headers=headers, timeout=httpx.Timeout(TIMEOUT_S), transport=transport
        )

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def submit(self, body: Mapping[str, Any], *, idempotency_key: str | None = None) -> dict[str, Any]:
        """Submit a job; its view."""
        headers = {"Idempotency-Key": idempotency_key} if idempotency_key else {}
        return self._json("POST", "/jobs", has="id", json=dict(body), headers=headers)

    def evaluate(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Have a candidate judged; the evaluation's view, whose id `evaluation` takes."""
        return self._json("POST", "/evaluations", json=dict(body))

    def evaluation(self, evaluation_id: str) -> dict[str, Any]:
        """One evaluation's view; its report is None until it is there."""
        return self._json("GET", f"/evaluations/{evaluation_id}")

    def job(self, job_id: str) -> dict[str, Any]:
        """One job's view."""
        return self._json("GET", f"/jobs/{job_id}", has="id")

    def jobs(self, *, status: str | None = None, limit: int = 50, cursor: str | None = None) -> dict[str, Any]:
        """One page of jobs: `items`, and `next_cursor` for the following one."""
        given = {"status": status, "limit": limit, "cursor": cursor}
        params = {name: value for name, value in given.items() if value is not None}
        page = self._json("GET", "/jobs", has="next_cursor", params=params)
        return page if "items" in page else {**page, "items": page["jobs"]}

    def steer(self, job_id: str, action: str) -> dict[str, Any]:
        """`cancel`, `pause` or `resume` a job."""
        return self._json("POST", f"/jobs/{job_id}/{action}", has="id")

    def delete(self, job_id: str) -> dict[str, Any]:
        """Remove a job that has ended; what went with it. Raises `ConflictError` while it goes on."""
        return self._json("DELETE", f"/jobs/{job_id}")

    def resume(self, job_id: str, *, model: str | None = None, rounds: int | None = None) -> dict[str, Any]:
        """Let a paused or failed job go on, with another model or more rounds where given."""
        return self._json("POST", f"/jobs/{job_id}/resume", has="id", json={"model": model, "rounds": rounds})

    def best(self, job_id: str) -> dict[str, Any]:
        """The best accepted candidate with source and report. Raises `NotFoundError` while there is none."""
        return self._json("GET", f"/jobs/{job_id}/best")

    def candidate(self, candidate_id: str) -> dict[str, Any]:
        """One candidate with source and report."""
        return self._json("GET", f"/candidates/{candidate_id}")

    def profiler_file(self, candidate_id: str) -> bytes:
        """The profiler's own file of a candidate (`.ncu-rep`). Raises `NotFoundError`, which says why there is none."""
        return self._answer("GET", f"/candidates/{candidate_id}/profile").content

    def candidates(self, job_id: str) -> list[dict[str, Any]]:
        """A job's candidates in order of their steps, without sources and reports."""
        return self._list(f"/jobs/{job_id}/candidates")

    def requests(
        self, *, job_id: str | None = None, role: str | None = None, limit: int = 50, wait_s: float = 0
    ) -> list[dict[str, Any]]:
        """Open requests of manual models, oldest first; waits up to `wait_s` (25 at most) until there is one."""
        given = {"job": job_id, "role": role, "limit": limit, "wait_s": wait_s}
        chosen = {name: value for name, value in given.items() if value is not None}
        return self._list("/requests", formerly="requests", params=chosen, timeout=_waiting(wait_s))

    def request(self, request_id: str) -> dict[str, Any]:
        """One request with its prompt and schema."""
        return self._json("GET", f"/requests/{request_id}")

    def answer(self, request_id: str, answer: str | Mapping[str, Any], by: str) -> dict[str, Any]:
        """Answer a request. Raises `UserError` where the answer does not fit, `ConflictError` where it is too late."""
        document = answer if isinstance(answer, str) else dict(answer)
        return self._json("POST", f"/requests/{request_id}/answer", json={"answer": document, "by": by})

    def evaluations(self, ids: Sequence[str], *, wait_s: float = 0) -> list[dict[str, Any]]:
        """Evaluations with report and reward; waits up to `wait_s` (25 at most) until all have ended."""
        params: dict[str, Any] = {"id": list(ids), "wait_s": wait_s}
        return self._list("/evaluations", formerly="evaluations", params=params, timeout=_waiting(wait_s))

    def search_memory(self, text: str, limit: int = 20) -> list[dict[str, Any]]:
        """The nearest experiences to a text."""
        return self._list("/experiences/search", params={"q": text, "limit": limit})

    def result(self, job_id: str) -> dict[str, Any]:
        """The job's result document."""
        return self._json("GET", f"/jobs/{job_id}/result")

    def save_bundle(self, job_id: str, path: Path, form: str = "bundle") -> None:
        """Write the job's archive to a file. Raises `ConflictError` where there is nothing of that form to export."""
        answer = self._answer("GET", f"/jobs/{job_id}/bundle", params={"format": form})
        if not answer.headers.get("content-type", "").startswith("application/zip"):
            raise not_ours(self._server, "no archive came back")
        _write(path, answer.content)

    def save_report(self, job_id: str, path: Path) -> None:
        """Write the job's report, one HTML file, to a file."""
        _write(path, self._answer("GET", f"/jobs/{job_id}/report").content)

    def share(self, job_id: str, days: float = 7) -> dict[str, Any]:
        """Make a link to the job's report; `url` is told this once."""
        made = self._json("POST", f"/jobs/{job_id}/shares", json={"days": days})
        return {**made, "url": self._server + str(made["path"])}

    def shares(self, job_id: str) -> list[dict[str, Any]]:
        """The job's links, newest first, without their addresses."""
        return self._list(f"/jobs/{job_id}/shares")

    def revoke_share(self, job_id: str, share_id: str) -> dict[str, Any]:
        """Close a link at once."""
        return self._json("DELETE", f"/jobs/{job_id}/shares/{share_id}")

    def create_webhook(
        self, url: str, kinds: Sequence[str] | None = None, conditions: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Tell an address of events (`job.finished` unless named), all or those under `conditions` (`statuses`,
        `min_speedup`, `first_place`, `tags`); `secret` is told this once."""
        body: dict[str, Any] = {"url": url} if not kinds else {"url": url, "kinds": list(kinds)}
        if conditions:
            body["conditions"] = dict(conditions)
        return self._json("POST", "/webhooks", json=body)

    def webhooks(self) -> list[dict[str, Any]]:
        """The team's webhooks, oldest first."""
        return self._list("/webhooks")

    def switch_webhook(self, webhook_id: str, *, enabled: bool) -> dict[str, Any]:
        """Switch a webhook on or off."""
        return self._json("PATCH", f"/webhooks/{webhook_id}", json={"enabled": enabled})

    def remove_webhook(self, webhook_id: str) -> None:
        """Remove a webhook with its log."""
        self._answer("DELETE", f"/webhooks/{webhook_id}")

    def test_webhook(self, webhook_id: str) -> dict[str, Any]:
        """Send a message of type `webhook.test`."""
        return self._json("POST", f"/webhooks/{webhook_id}/test")

    def deliveries(self, webhook_id: str, limit: int = 50) -> list[dict[str, Any]]:
        """What was sent to a webhook or is to be sent, newest first."""
        return self._list(f"/webhooks/{webhook_id}/deliveries", params={"limit": limit})

    def resend_delivery(self, webhook_id: str, delivery_id: str) -> dict[str, Any]:
        """Send a message once more, under its own id."""
        return self._json("POST", f"/webhooks/{webhook_id}/deliveries/{delivery_id}/resend")

    def events(self, job_id: str, after: int = 0) -> Iterator[Sent]:
        """The job's events, each once and in order, until `job.finished`; connects again where the stream breaks off.

        Raises `NotFoundError`, and `InfrastructureError` when the server stays away."""
        failures, broken_since = 0, None
        while True:
            try:
                for event in self._stream(job_id, after):
                    if event.id <= after:
                        continue
                    after, failures, broken_since = event.id, 0, None
                    yield event
                    if event.kind == "job.finished":
                        return
                if self._is_over(job_id, after):
                    return
            except (httpx.TransportError, InfrastructureError) as error:
                broken_since = broken_since or time.monotonic()
                if time.monotonic() - broken_since > self._give_up_s:
                    raise unreachable(self._server, error) from None
            time.sleep(_RETRY_S[min(failures, len(_RETRY_S) - 1)])
            failures += 1

    def _is_over(self, job_id: str, after: int) -> bool:
        """Whether the stream ended because there is nothing left: the server answers 204 to that."""
        with self._http.stream("GET", f"/jobs/{job_id}/events", headers={"Last-Event-ID": str(after)}) as answer:
            return answer.status_code == 204

    def _stream(self, job_id: str, after: int) -> Iterator[Sent]:
        headers = {"Last-Event-ID": str(after), "Accept": "text/event-stream"}
        timeout = httpx.Timeout(TIMEOUT_S, read=45.0)  # heartbeats come every 15 s
        with self._http.stream("GET", f"/jobs/{job_id}/events", headers=headers, timeout=timeout) as answer:
            if answer.status_code >= 300:
                answer.read()
                raise refusal(self._server, answer)
            if answer.status_code == 204:
                return
            for event in EventSource(answer).iter_sse():
                # A heartbeat comes with the number of the event before it and no data; what has no number cannot be
                # resumed from.
                if event.id and event.data:
                    yield Sent(id=int(event.id), kind=event.event, data=event.json())

    def _json(self, method: str, path: str, *, has: str = "", **options: Any) -> dict[str, Any]:
        """An answer that is one document, with the field `has`."""
        document = self._parsed(self._answer(method, path, **options))
        if not isinstance(document, dict) or (has and has not in document):
            raise not_ours(self._server, "unexpected JSON came back")
        return document

    def _list(self, path: str, *, formerly: str = "", **options: Any) -> list[dict[str, Any]]:
        """The documents of a list; from servers of the last release they come without an envelope."""
        answered = self._parsed(self._answer("GET", path, **options))
        documents = answered.get("items", answered.get(formerly)) if isinstance(answered, dict) else answered
        if not isinstance(documents, list):
            raise not_ours(self._server, "unexpected JSON came back")
        return documents

    def _parsed(self, answer: httpx.Response) -> Any:
        try:
            return answer.json()
        except ValueError:
            raise not_ours(self._server, "no JSON came back") from None

    def _answer(self, method: str, path: str, **options: Any) -> httpx.Response:
        try:
            answer = self._http.request(method, path, **options)
        except (httpx.TransportError, httpx.UnsupportedProtocol) as error:
            raise unreachable(self._server, error) from None
        if answer.status_code >= 300:
            raise refusal(self._server, answer)
        return answer


def _waiting(seconds: float) -> httpx.Timeout:
    """For a request that the server answers after so many seconds at most, and after more where it is busy."""
    return httpx.Timeout(TIMEOUT_S, read=TIMEOUT_S + seconds)


def _write(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror or error}") from None
