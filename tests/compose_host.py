"""The whole deployment of docker-compose.yml, brought up on the tests' Docker host where no image can be pulled.

The compose file is used as it is, but for one line that Debian's Compose does not know. Its images have their own
names: the databases are stand-ins made by `docker/local-images.sh`, ours are that script's base, shown this machine's
Python, packages and sources read-only. What the Dockerfiles build is tried by `make compose-test`: it installs torch.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from kernelwright.distribution import version
from tests.docker_host import PLACE, ROOT, docker_address
from tests.e2e.programs import give_a_sheet
from tests.ports import a_free_port

USER = 65532
MAKE_TIMEOUT_S = 600.0
UP_TIMEOUT_S = 240.0
BASE = "kernelwright/local-base:1"
UNCOVERED = "    - systempaths=unconfined\n"
DOCKERFILE = f"""FROM {BASE}
ARG PYTHON
ARG ROOT
ARG VERSION
RUN mkdir -m 0700 /var/lib/kernelwright /var/lib/kernelwright-compiled \\
    && chown {USER}:{USER} /var/lib/kernelwright /var/lib/kernelwright-compiled
LABEL kernelwright.version=$VERSION
ENV PYTHONPATH=$ROOT PYTHONDONTWRITEBYTECODE=1 KERNELWRIGHT_HOME=/var/lib/kernelwright PATH=$PYTHON/bin:/usr/bin:/bin
USER {USER}:{USER}
VOLUME /var/lib/kernelwright
ENTRYPOINT ["python", "-m", "kernelwright"]
"""


@dataclass(frozen=True, kw_only=True)
class Deployment:
    """A deployment that runs."""

    folder: Path
    address: str
    token: str
    environment: dict[str, str]

    def compose(self, *arguments: str, timeout_s: float = 60.0) -> subprocess.CompletedProcess[str]:
        """One command of Compose."""
        return subprocess.run(
            ["docker-compose", "--no-ansi", *arguments],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )


@contextmanager
def deployed(folder: Path, *, built: bool = False) -> Iterator[Deployment]:
    """The compose file's services, healthy as far as they depend on one another. `built`: with images that the
    Dockerfiles make. Skips where something is missing."""
    if shutil.which("docker-compose") is None:
        pytest.skip("no docker-compose: apt-get install docker-compose")
    docker = docker_address()
    make_images(docker, built=built)
    subprocess.run([ROOT / "docker" / "secrets.sh", folder / "secrets"], check=True, capture_output=True)
    (folder / "docker").mkdir()
    shutil.copy(ROOT / "docker" / "worker-seccomp.json", folder / "docker")
    (folder / "docker-compose.yml").write_text(_for_old_compose((ROOT / "docker-compose.yml").read_text()))
    home = folder / "home"
    home.mkdir()
    give_a_sheet(home)  # measuring the device takes a minute, and others measure it
    subprocess.run(["chown", "-R", f"{USER}:{USER}", home], check=True)
    (folder / "docker-compose.override.yml").write_text(json.dumps(_override(home, built=built)))
    port = a_free_port()
    deployment = Deployment(
        folder=folder,
        address=f"http://127.0.0.1:{port}/api/v1",
        token=(folder / "secrets" / "token").read_text(),
        environment={
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "DOCKER_HOST": docker,
            "COMPOSE_PROJECT_NAME": f"kernelwright-test-{port}",
            "KERNELWRIGHT_VERSION": version(),
            "KERNELWRIGHT_PORT": str(port),
            "KERNELWRIGHT_ORCHESTRATOR_METRICS_PORT": str(a_free_port()),
        },
    )
    try:
        up = deployment.compose("up", "--detach", "--no-build", timeout_s=UP_TIMEOUT_S)
        assert up.returncode == 0, up.stderr[-3000:] + deployment.compose("logs", "--tail", "20").stdout[-6000:]
        yield deployment
    finally:
        deployment.compose("down", "--volumes", "--timeout", "3", timeout_s=120)


def make_images(docker: str, *, built: bool) -> None:
    """Every image that the compose file names."""
    environment = {**os.environ, "DOCKER_HOST": docker}
    if built:
        environment.pop("ONLY", None)
    else:
        environment["ONLY"] = "databases"
    made = subprocess.run(
        [ROOT / "docker" / "local-images.sh", PLACE / "images"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=None if built else MAKE_TIMEOUT_S,
        check=False,
    )
    if made.returncode != 0:
        pytest.skip(f"docker/local-images.sh makes no images here: {made.stderr.strip()[-500:]}")
    if built:
        return
    tags = [f"--tag=kernelwright/{name}:{version()}" for name in ("server", "worker", "sandbox")]
    values = {"PYTHON": sys.prefix, "ROOT": str(ROOT), "VERSION": version()}
    arguments = [f"--build-arg={name}={value}" for name, value in values.items()]
    subprocess.run(
        ["docker", "build", "--quiet", "--network=none", *tags, *arguments, "-"],
        input=DOCKERFILE,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )


def _for_old_compose(text: str) -> str:
    """Compose 1 gives a container its uncovered /proc in another way: the kernel asks only that there is one.

    `systempaths=unconfined` takes Compose 2.15, which is none of Debian's packages here."""
    assert text.count(UNCOVERED) == 1
    return text.replace(UNCOVERED, "")


def _override(home: Path, *, built: bool) -> dict[str, object]:
    """What differs here: whose Python is used, and how /proc is seen whole."""
    shown = [] if built else [f"{path}:{path}:ro" for path in dict.fromkeys((sys.base_prefix, sys.prefix, str(ROOT)))]
    seen = [*shown, "/proc:/run/proc"]
    worker: dict[str, object] = {"volumes": seen}
    services: dict[str, object] = {name: {"volumes": shown} for name in ("migrate", "api", "orchestrator") if shown}
    services["worker-compile"] = worker
    services["worker-cpu"] = {"volumes": [*seen, f"{home}:/var/lib/kernelwright"]}
    return {"version": "3.8", "services": services}
