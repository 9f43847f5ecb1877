"""How long requests on a kept connection take: with TCP_NODELAY, as the API listens, and without.

    python -m benchmarks.keep_alive [--requests 100]

Starts the API twice on SQLite, on its own listener; once with the option taken off again, as it was before. Requests
follow one another on one connection that reads an answer's head before its body, as browsers and proxies do: with
Nagle's algorithm the body waits for the client's delayed acknowledgement of the head. Prints both latencies and their
difference, which does not depend on the machine's speed.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import multiprocessing
import os
import socket
import statistics
import tempfile
import time
from collections.abc import Iterator

from kernelwright.cli import server
from kernelwright.cli.server import listening
from tests.ports import a_free_port

PATHS = ("/healthz", "/api/v1/me")
START_S = 60.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=100)
    given = parser.parse_args()
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n")
    print("| request | TCP_NODELAY | p50 ms | p90 ms | p99 ms |\n|---|---|---|---|---|")
    medians: dict[bool, list[float]] = {False: [], True: []}
    for nodelay in (False, True):
        with served(nodelay=nodelay) as port:
            for path in PATHS:
                taken = latencies(port, path, given.requests)
                p50, p90, p99 = (statistics.quantiles(taken, n=100)[rank - 1] for rank in (50, 90, 99))
                medians[nodelay].append(p50)
                print(f"| GET {path} | {'yes' if nodelay else 'no'} | {p50:.1f} | {p90:.1f} | {p99:.1f} |")
    for path, before, after in zip(PATHS, medians[False], medians[True], strict=True):
        print(f"\nGET {path}: {before - after:.1f} ms less at the median, a ratio of {before / after:.1f}")
    return 0


@contextlib.contextmanager
def served(*, nodelay: bool) -> Iterator[int]:
    """The API in a process of its own; its port."""
    port = a_free_port()
    with tempfile.TemporaryDirectory() as home:
        process = multiprocessing.get_context("spawn").Process(target=_serve, args=(home, port, nodelay), daemon=True)
        process.start()
        try:
            _wait_for(port)
            yield port
        finally:
            process.terminate()
            process.join()


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + START_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            if time.monotonic() > deadline:
                raise TimeoutError(f"the API did not begin within {START_S:.0f} s") from None
        else:
            return
        time.sleep(0.1)


def latencies(port: int, path: str, count: int) -> list[float]:
    """Milliseconds of requests on one connection, without the first two."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    taken = []
    for _ in range(count + 2):
        began = time.perf_counter()
        connection.request("GET", path)
        answer = connection.getresponse()
        answer.read()
        taken.append(1e3 * (time.perf_counter() - began))
        if answer.status != 200:
            raise RuntimeError(f"GET {path} answered {answer.status}")
    connection.close()
    return taken[2:]


def _serve(home: str, port: int, nodelay: bool) -> None:
    """The API as `kernelwright api` starts it, with or without the option of its listener."""
    os.environ["KERNELWRIGHT_HOME"] = home
    os.environ["KERNELWRIGHT_LOG_LEVEL"] = "ERROR"
    if not nodelay:
        server.listening = _listening_as_before
    server.api(port=port, host="127.0.0.1")


@contextlib.contextmanager
def _listening_as_before(host: str, port: int) -> Iterator[socket.socket]:
    with listening(host, port) as listener:
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 0)
        yield listener


if __name__ == "__main__":
    raise SystemExit(main())
