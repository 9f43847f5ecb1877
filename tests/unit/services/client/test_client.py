"""The REST client against a scripted transport."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from services.client import Client
from services.client import client as client_module
from services.domain.errors import ConflictError, InfrastructureError, NotFoundError, UserError

Handler = Callable[[httpx.Request], httpx.Response]


def a_client(handler: Handler, **options: Any) -> Client:
    return Client("http://server", transport=httpx.MockTransport(handler), **options)


def stream(*seqs: int, last: str = "step.started") -> httpx.Response:
    """A stream of events; the last one is of the kind given."""
    text = ": ping\n\n"
    for seq in seqs:
        kind = last if seq == seqs[-1] else "step.started"
        text += f"event: {kind}\ndata: {json.dumps({'seq': seq, 'data': {}})}\nid: {seq}\n\n"
    return httpx.Response(200, text=text, headers={"content-type": "text/event-stream"})


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "_RETRY_S", (0.0,))


@pytest.mark.parametrize(
    ("status", "kind"),
    [(404, NotFoundError), (409, ConflictError), (422, UserError), (401, UserError), (503, InfrastructureError)],
)
def test_problem_documents_become_errors_with_their_detail(status: int, kind: type[Exception]) -> None:
    def handler(_request: httpx.Request) -> httpx.Response:
        return httpx.Response(status, json={"detail": "say what to change"})

    with a_client(handler) as client, pytest.raises(kind, match="say what to change"):
        client.job("job-1")


def test_an_answer_that_is_no_json_names_the_server() -> None:
    with (
        a_client(lambda _: httpx.Response(200, text="<html>")) as client,
        pytest.raises(InfrastructureError, match="http://server is not a Kernelwright server"),
    ):
        client.job("job-1")


def test_a_server_that_is_not_there_is_one_clear_line() -> None:
    def handler(_request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    with a_client(handler) as client, pytest.raises(InfrastructureError, match="kernelwright serve"):
        client.jobs()


def test_a_certificate_that_is_not_trusted_is_told_with_what_to_do() -> None:
    def handler(_request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate")

    with a_client(handler) as client, pytest.raises(InfrastructureError, match=r"is not trusted: .* SSL_CERT_FILE"):
        client.jobs()


def test_a_bundle_that_is_no_archive_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "job-1.zip"
    with (
        a_client(lambda _: httpx.Response(200, text="<html>")) as client,
        pytest.raises(InfrastructureError, match="no archive came back"),
    ):
        client.save_bundle("job-1", path)
    assert not path.exists()


def test_the_token_travels_as_bearer() -> None:
    seen: list[str | None] = []

    def handler(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers.get("authorization"))
        return httpx.Response(200, json={"id": "job-1"})

    with a_client(handler, token="t0ken") as client:
        client.job("job-1")
    assert seen == ["Bearer t0ken"]


def test_a_broken_stream_is_taken_up_after_the_last_event_without_doubles() -> None:
    asked: list[str] = []
    answers: Iterator[Callable[[], httpx.Response]] = iter(
        [
            lambda: stream(1, 2),
            lambda: httpx.Response(200, text=""),  # the look whether the job is over: it is not
            lambda: httpx.Response(503, json={"detail": "restarting"}),
            lambda: stream(2, 3, 4, last="job.finished"),
        ]
    )

    def handler(request: httpx.Request) -> httpx.Response:
        asked.append(request.headers["last-event-id"])
        return next(answers)()

    with a_client(handler) as client:
        assert [event.id for event in client.events("job-1")] == [1, 2, 3, 4]
    assert asked == ["0", "2", "2", "2"]


def test_watching_a_job_that_is_over_ends_at_once() -> None:
    with a_client(lambda _: httpx.Response(204)) as client:
        assert list(client.events("job-1", after=9)) == []


def test_a_server_that_stays_away_is_given_up() -> None:
    def handler(_request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    with (
        a_client(handler, give_up_s=0.05) as client,
        pytest.raises(InfrastructureError, match="no Kernelwright server"),
    ):
        list(client.events("job-1"))


def test_an_unknown_job_is_not_tried_again() -> None:
    asked: list[str] = []

    def handler(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path)
        return httpx.Response(404, json={"detail": "no job job-1"})

    with a_client(handler) as client, pytest.raises(NotFoundError):
        list(client.events("job-1"))
    assert len(asked) == 1


def test_an_event_cut_off_at_the_end_is_asked_for_again() -> None:
    asked: list[str] = []

    def handler(request: httpx.Request) -> httpx.Response:
        asked.append(request.headers["last-event-id"])
        if len(asked) == 1:
            cut = 'id: 1\ndata: {"seq": 1}\n\nid: 2\ndata: {"se'
            return httpx.Response(200, text=cut, headers={"content-type": "text/event-stream"})
        return httpx.Response(204) if len(asked) == 2 else stream(2, last="job.finished")

    with a_client(handler) as client:
        assert [event.id for event in client.events("job-1")] == [1]
    assert asked == ["0", "1"]


def test_line_separators_inside_a_document_do_not_cut_it() -> None:
    """JSON leaves U+2028 and U+0085 as they are; only CR and LF end a line of a stream."""
    said = "one\u2028two\u0085three"
    document = json.dumps({"text": said}, ensure_ascii=False)
    text = f"id: 1\nevent: job.finished\ndata: {document}\n\n"
    answer = httpx.Response(200, content=text.encode(), headers={"content-type": "text/event-stream; charset=utf-8"})
    with a_client(lambda _: answer) as client:
        assert [event.data["text"] for event in client.events("job-1")] == [said]
