"""A `--server` that is none of ours: exit code 2 and one line that says what to do."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kernelwright import cli
from services.client import client
from tests.unit.kernelwright.servers import Reply, answering

CLIENTS = (("jobs",), ("webhooks", "list"), ("watch", "job-1"), ("pause", "job-1"))
FRAMEWORK = Reply(document={"detail": "Not Found"}, status=404)
TLS_ALERT = b"\x15\x03\x01\x00\x02\x02\x46"
"""What a server that speaks TLS says to a plain request."""


def line_of(capsys: pytest.CaptureFixture[str], address: str, *command: str) -> str:
    assert cli.execute([*(command or ("jobs",)), "--server", address]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("kernelwright: ")
    assert printed.err.count("\n") == 1
    return printed.err.removeprefix("kernelwright: ").rstrip()


@contextmanager
def a_tls_server() -> Iterator[str]:
    """As far as a client that speaks plain HTTP comes with one."""

    def refuse() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(1024)
            connection.sendall(TLS_ALERT)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=refuse, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread.join(10)


@pytest.mark.parametrize("command", CLIENTS)
def test_nobody_there_is_told_at_once(capsys: pytest.CaptureFixture[str], command: tuple[str, ...]) -> None:
    line = line_of(capsys, "http://127.0.0.1:9", *command)
    assert line.startswith("no Kernelwright server answers at http://127.0.0.1:9 ")
    assert line.endswith(": start one with `kernelwright serve`, or name another with --server")


@pytest.mark.parametrize("command", CLIENTS)
@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (Reply(text="<html>"), "no JSON came back"),
        (Reply(document="pong"), "unexpected JSON came back"),
        (FRAMEWORK, "it answered 404"),
        (Reply(text="no", status=403), "it answered 403"),
    ],
)
def test_a_server_of_another_kind_is_called_one(
    capsys: pytest.CaptureFixture[str], command: tuple[str, ...], reply: Reply, why: str
) -> None:
    with answering({}, otherwise=reply) as server:
        line = line_of(capsys, server.address, *command)
    assert line == f"{server.address} is not a Kernelwright server ({why}): name another with --server"


def test_a_path_too_much_is_to_be_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    with answering({}, otherwise=FRAMEWORK) as server:
        line = line_of(capsys, f"{server.address}/api/v1/")
    assert line.endswith("(it answered 404): leave the path /api/v1 out of --server")


def test_https_to_a_server_that_speaks_http_names_the_right_address(capsys: pytest.CaptureFixture[str]) -> None:
    with answering({}) as server:
        address = server.address.replace("http:", "https:")
        assert line_of(capsys, address) == f"{address} does not speak HTTPS: try --server {server.address}"


def test_http_to_a_server_that_speaks_https_names_the_right_address(capsys: pytest.CaptureFixture[str]) -> None:
    with a_tls_server() as address:
        line = line_of(capsys, address)
    assert line.startswith(f"{address} broke off (")
    assert line.endswith(f"if it speaks HTTPS, use --server {address.replace('http:', 'https:')}")


def test_a_proxy_that_wants_https_is_understood(capsys: pytest.CaptureFixture[str]) -> None:
    page = Reply(text="<h1>The plain HTTP request was sent to HTTPS port</h1>", status=400)
    with answering({}, otherwise=page) as server:
        line = line_of(capsys, server.address)
    assert line == f"{server.address} speaks HTTPS: use --server {server.address.replace('http:', 'https:')}"


@pytest.mark.parametrize(
    ("location", "words"),
    [
        ("https://host.example/api/v1/jobs", "redirects to https://host.example: use --server https://host.example"),
        ("/login", "is not a Kernelwright server (it redirects to /login): name another with --server"),
    ],
)
def test_a_redirection_is_not_followed_but_told(capsys: pytest.CaptureFixture[str], location: str, words: str) -> None:
    with answering({}, otherwise=Reply(status=301, headers={"Location": location})) as server:
        assert line_of(capsys, server.address) == f"{server.address} {words}"


def test_a_proxy_without_its_server_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    with answering({}, otherwise=Reply(text="<h1>Bad Gateway</h1>", status=502)) as server:
        line = line_of(capsys, server.address)
    assert line.endswith("answers 502: the server behind it is down; start it, or name another with --server")


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("127.0.0.1:8000", "--server needs a URL with a scheme, e.g. http://127.0.0.1:8000"),
        ("localhost:8000", "--server needs a URL with a scheme, e.g. http://localhost:8000"),
        ("https:/host", "--server needs a URL with a scheme, e.g. http://host"),
        ("", "--server needs a URL with a scheme, e.g. http://127.0.0.1:8000"),
        ("http://", "not a server address: 'http://': write http://HOST:PORT or https://HOST"),
        ("http://host:99999", "not a server address: 'http://host:99999': write http://HOST:PORT or https://HOST"),
        ("http://my host", "not a server address: 'http://my host': write http://HOST:PORT or https://HOST"),
    ],
)
def test_what_is_no_address_is_refused(capsys: pytest.CaptureFixture[str], address: str, words: str) -> None:
    assert line_of(capsys, address) == words


def test_a_server_that_is_busy_is_not_said_to_be_away(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "TIMEOUT_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:  # the kernel accepts, and nobody answers
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        line = line_of(capsys, address, "requests", "list")
    assert line.startswith(f"{address} took the request and did not answer in time: it is busy")
    assert line.endswith("Look before you repeat it (kernelwright jobs)")
