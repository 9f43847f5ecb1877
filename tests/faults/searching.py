"""A program that looks everywhere for what is not its own, in a sandbox on a machine where ten secrets lie about."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import redis

from services.ports.sandboxes import SandboxLimits
from tests.docker_host import PLACE
from tests.faults.containment import benches

if TYPE_CHECKING:
    from tests.faults.installation import Installation
    from tests.faults.rows import Fault, Tally

METADATA = "169.254.169.254"
LIMITS = SandboxLimits(wall_s=120.0)

SEARCH = '''
import os, socket, stat, time

def files(root, since):
    """Every readable file below a folder that was changed since."""
    pending = [root]
    while pending:
        try:
            entries = list(os.scandir(pending.pop()))
        except OSError:
            continue
        for entry in entries:
            try:
                about = entry.stat(follow_symlinks=False)
                if stat.S_ISDIR(about.st_mode):
                    if entry.path not in ("/proc", "/sys"):
                        pending.append(entry.path)
                elif stat.S_ISREG(about.st_mode) and about.st_ctime >= since and about.st_size < 1 << 20:
                    yield entry.path, open(entry.path, "rb").read()
            except OSError:
                continue

def processes():
    for number in os.listdir("/proc"):
        for name in ("environ", "cmdline", "maps", "mountinfo"):
            try:
                if number.isdecimal():
                    yield f"/proc/{number}/{name}", open(f"/proc/{number}/{name}", "rb").read()
            except OSError:
                continue
        try:
            for descriptor in os.listdir(f"/proc/{number}/fd") if number.isdecimal() else ():
                yield f"/proc/{number}/fd", os.readlink(f"/proc/{number}/fd/{descriptor}").encode()
        except OSError:
            continue

def heard(family, address, words=b""):
    """What a server says; None where it cannot be reached."""
    try:
        with socket.socket(family) as connection:
            connection.settimeout(2)
            connection.connect(address)
            if words:
                connection.sendall(words)
            return connection.recv(4096)
    except OSError:
        return None

def search(roots, since, needle, sockets, redis_port, key):
    needle, found, reached = needle.encode(), [], []
    for root in roots:
        found += [path for path, content in files(root, since) if needle in content]
    found += [path for path, content in processes() if needle in content]
    for name, path in sockets.items():
        said = heard(socket.AF_UNIX, chr(0) + path[1:] if path.startswith("@") else path)
        reached += [name] if said is not None else []
        found += [name] if said and needle in said else []
    said = heard(socket.AF_INET, ("127.0.0.1", redis_port), f"GET {key}\\r\\n".encode())
    reached += ["the host's Redis"] if said is not None else []
    found += ["redis"] if said and needle in said else []
    return found, reached

def writable_mounts():
    """Places of this process's file system that it could write to and that are no tmpfs of its own."""
    places = []
    for line in open("/proc/self/mountinfo"):
        fields = line.split()
        kind, place = fields[fields.index("-") + 1], fields[4]
        if kind not in ("tmpfs", "proc", "devpts", "mqueue") and os.path.isdir(place) and os.access(place, os.W_OK):
            places.append(f"{place} ({kind})")
    return places
'''

KEEPS_A_SECRET = """
import os, time
with open(os.environ["TMPDIR"] + "/secret.txt", "w") as file:
    file.write(needle)
os.chmod(file.name, 0o644)
channel.send({"result": 1})
time.sleep(600)
"""
"""Another candidate, in a sandbox of its own."""

IN_SANDBOX = (
    SEARCH
    + """
interfaces = [line.split(":")[0].strip() for line in open("/proc/self/net/dev") if ":" in line]
found, reached = search(["/"], since, needle, sockets, redis_port, key)
if interfaces in ([], ["lo"]):  # else the question would leave this machine
    reached += ["metadata"] if heard(socket.AF_INET, (metadata, 80)) is not None else []
else:
    reached.append(f"network interfaces {interfaces}")
reached += writable_mounts()
result = [found, reached]
"""
)
ON_HOST = SEARCH + "import json, sys\nprint(json.dumps(search(**json.load(sys.stdin))))\n"


@dataclass(frozen=True, kw_only=True)
class Planted:
    """Where the secrets are."""

    needle: str
    since: float
    folders: tuple[str, ...]
    sockets: dict[str, str]
    redis_port: int

    def question(self, roots: tuple[str, ...]) -> dict[str, Any]:
        """The arguments of a search."""
        return {
            "roots": list(roots),
            "since": self.since,
            "needle": self.needle,
            "sockets": self.sockets,
            "redis_port": self.redis_port,
            "key": self.needle[:4],
        }


def searched(sandbox: str) -> Fault:
    """A program searches network, processes, files, sockets and environment for secrets."""

    def fault(place: Installation, times: int, tally: Tally) -> str:
        del tally
        for _ in range(times):
            with planted(place) as secrets_, benches(sandbox) as bench:
                other = bench.run(f"needle = {secrets_.needle!r}\n{KEEPS_A_SECRET}", LIMITS)
                other.answer(60.0)
                _check_that_the_search_sees(secrets_)
                question = secrets_.question(("/",)) | {"metadata": METADATA}
                given = "\n".join(f"{name} = {value!r}" for name, value in question.items())
                found, reached = bench.run(given + IN_SANDBOX, LIMITS).answer(120.0)
                assert found == [], f"found: {found}"
                assert reached == [], f"reached: {reached}"
        return "nothing reached, nothing found; the same search outside finds them"

    return fault


def _check_that_the_search_sees(secrets_: Planted) -> None:
    """A blind search would find nothing anywhere."""
    question = json.dumps(secrets_.question(secrets_.folders))
    done = subprocess.run(
        [sys.executable, "-c", ON_HOST], input=question, capture_output=True, text=True, timeout=120, check=True
    )
    found, _reached = json.loads(done.stdout)
    places = {path.split("/")[-1] if path.startswith("/proc/") else path for path in found}
    wanted = {"redis", "environ", "cmdline", *secrets_.sockets} - {"Docker's socket", "the tests' Docker socket"}
    assert wanted <= places, f"the search sees only {places}"
    files = [path for path in found if path.endswith("/secret.txt")]
    assert len(files) == len(secrets_.folders), files


@contextlib.contextmanager
def planted(place: Installation) -> Iterator[Planted]:
    """Ten secrets for the time of the context."""
    needle = secrets.token_hex(12)
    with contextlib.ExitStack() as stack:
        folders = []
        for base in (Path.home(), Path("/tmp"), Path("/var/tmp"), Path("/dev/shm")):
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="planted-", dir=base)))
            folder.chmod(0o755)
            (folder / "secret.txt").write_text(f"password={needle}")
            (folder / "secret.txt").chmod(0o644)
            folders.append(str(folder))
        since = (Path(folders[0]) / "secret.txt").stat().st_ctime - 1
        path = f"{folders[1]}/daemon.sock"
        _answering(stack, path, needle)
        _answering(stack, f"\0planted-{needle[:6]}", needle)
        client = stack.enter_context(redis.Redis.from_url(place.redis.url))
        client.set(needle[:4], needle)
        stack.callback(client.delete, needle[:4])
        _processes(stack, needle)
        yield Planted(
            needle=needle,
            since=since,
            folders=tuple(folders),
            sockets={
                "a daemon's socket": path,
                "an abstract socket": f"@planted-{needle[:6]}",
                "Docker's socket": "/var/run/docker.sock",
                "the tests' Docker socket": f"{PLACE}/docker.sock",
            },
            redis_port=place.redis.port,
        )


def _processes(stack: contextlib.ExitStack, needle: str) -> None:
    """One process with a secret in its environment, one with a secret among its arguments."""
    sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
    for arguments, more in (([], {"AWS_SECRET_ACCESS_KEY": needle}), ([f"--password={needle}"], {})):
        process = stack.enter_context(
            subprocess.Popen([*sleep, *arguments], env={**os.environ, **more}, start_new_session=True)
        )
        stack.callback(process.kill)


def _answering(stack: contextlib.ExitStack, address: str, secret: str) -> None:
    """A server on a Unix socket that tells everyone."""
    listener = stack.enter_context(socket.socket(socket.AF_UNIX))
    listener.bind(address)
    if not address.startswith("\0"):
        Path(address).chmod(0o666)
    listener.listen(8)

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection, contextlib.suppress(OSError):
                connection.sendall(secret.encode())

    threading.Thread(target=serve, daemon=True).start()
    stack.callback(listener.shutdown, socket.SHUT_RDWR)
