"""The compose file: pinned, without passwords, hardened, and accepted by Compose."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from storage.teams.encryption import SecretSealer
from workers.sandboxes import seccomp

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[2]
FILE = ROOT / "docker-compose.yml"
VERSIONS = {"KERNELWRIGHT_VERSION": "1.2.3"}
DOCKER = ROOT / "docker-compose.docker-sandboxes.yml"
SOCKET = "/var/run/docker.sock"


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    yaml = pytest.importorskip("yaml")
    found: dict[str, Any] = yaml.safe_load(FILE.read_text())["services"]
    return found


def test_every_image_is_pinned(services: dict[str, Any]) -> None:
    for name, service in services.items():
        tag = service["image"].partition(":")[2]
        assert tag.startswith("${KERNELWRIGHT_VERSION") or re.search(r"\d+\.\d+", tag), name
        assert "latest" not in tag


def test_no_password_is_written_down_and_none_has_a_default(services: dict[str, Any]) -> None:
    for name, service in services.items():
        for variable, value in service.get("environment", {}).items():
            if re.search(r"PASSWORD|TOKEN|KEY|SECRET|_URL", variable):
                assert variable.endswith("_FILE"), f"{name}: {variable}"
                assert value.startswith("/run/secrets/")
    assert not re.search(r"\$\{[A-Z_]*(PASSWORD|TOKEN|KEY)[A-Z_]*:?-", FILE.read_text())


def test_our_own_services_are_hardened(services: dict[str, Any]) -> None:
    for name, service in services.items():
        if service["image"].startswith("kernelwright/"):
            assert service["read_only"] is True, name
            assert service["cap_drop"] == ["ALL"], name
            assert "no-new-privileges:true" in service["security_opt"], name
            assert "privileged" not in service, name


def test_our_own_services_are_bounded(services: dict[str, Any]) -> None:
    for name, service in services.items():
        if service["image"].startswith("kernelwright/"):
            assert re.fullmatch(r"\$\{KERNELWRIGHT_(SERVER|WORKER)_MEMORY:-\d+g\}", service["mem_limit"]), name
            assert service["pids_limit"] <= 4096, name


def test_no_service_holds_the_docker_socket_unless_it_was_asked_for(services: dict[str, Any]) -> None:
    holders = {name for name, service in services.items() if any(SOCKET in one for one in service.get("volumes", ()))}
    assert holders == {"worker-gpu"}
    assert services["worker-gpu"]["profiles"] == ["gpu"]
    for name in ("worker-cpu", "worker-compile"):
        assert "pid" not in services[name]
        assert services[name]["environment"]["KERNELWRIGHT_SANDBOX"] == "process"
        assert services[name]["security_opt"] == [
            "no-new-privileges:true",
            "seccomp=docker/worker-seccomp.json",
            "apparmor=unconfined",
            "systempaths=unconfined",
        ]


def test_docker_sandboxes_are_another_file_and_change_the_sandbox_only() -> None:
    yaml = pytest.importorskip("yaml")
    changed = yaml.safe_load(DOCKER.read_text())["services"]
    assert list(changed) == ["worker-compile", "worker-cpu"]
    for service in changed.values():
        assert set(service) == {"group_add", "pid", "environment", "volumes"}
        assert service["environment"]["KERNELWRIGHT_SANDBOX"] == "docker"
        assert f"{SOCKET}:{SOCKET}" in service["volumes"]


def test_the_workers_system_calls_are_those_of_a_sandbox_container() -> None:
    assert json.loads((ROOT / "docker" / "worker-seccomp.json").read_text()) == json.loads(seccomp.profile())


def test_the_api_and_metrics_are_published_and_only_on_loopback(services: dict[str, Any]) -> None:
    published = {name: service["ports"] for name, service in services.items() if "ports" in service}
    assert list(published) == ["api", "orchestrator"]
    assert all(port.startswith("127.0.0.1:") for ports in published.values() for port in ports)
    orchestrator = services["orchestrator"]
    port = str(orchestrator["environment"]["KERNELWRIGHT_METRICS_PORT"])
    assert orchestrator["ports"][0].endswith(f":{port}")
    assert orchestrator["environment"]["KERNELWRIGHT_HOST"] == "0.0.0.0", "reachable from outside of the container"


def test_webhook_secrets_are_encrypted_wherever_they_are_read(services: dict[str, Any]) -> None:
    for name in ("api", "orchestrator"):
        assert "KERNELWRIGHT_SECRETS_KEY_FILE" in services[name]["environment"]
        assert "secrets_key" in services[name]["secrets"]


def test_workers_are_healthy_when_a_task_has_run(services: dict[str, Any]) -> None:
    workers = [service for name, service in services.items() if name.startswith("worker")]
    assert len(workers) == 4
    assert all("--check-worker" in worker["healthcheck"]["test"] for worker in workers)


def test_compiled_libraries_are_written_by_the_compile_worker_only(services: dict[str, Any]) -> None:
    shown = {
        name: [volume for volume in service.get("volumes", ()) if volume.startswith("compiled:")]
        for name, service in services.items()
    }
    for name in ("worker-compile", "worker-compile-gpu"):
        assert shown.pop(name) == ["compiled:/var/lib/kernelwright-compiled"]
    assert {name: volumes for name, volumes in shown.items() if volumes} == {
        name: ["compiled:/var/lib/kernelwright-compiled:ro"] for name in ("worker-cpu", "worker-gpu")
    }


def test_workers_on_gpus_and_their_sandboxes_have_the_images_with_cuda(services: dict[str, Any]) -> None:
    for name in ("worker-gpu", "worker-compile-gpu"):
        service = services[name]
        assert service["profiles"] == ["gpu"]
        assert service["image"].startswith("kernelwright/worker:")
        assert service["image"].endswith("}-cuda"), "both have the same compilers"
    assert services["worker-gpu"]["environment"]["KERNELWRIGHT_SANDBOX_IMAGE"].endswith("}-cuda")
    assert services["worker-gpu"]["command"] == ["worker", "--device", "all"]
    assert services["worker-gpu"]["deploy"]["resources"]["reservations"]["devices"][0]["count"] == "all"


def test_secrets_are_drawn_once_and_kept(tmp_path: Path) -> None:
    def draw() -> dict[str, str]:
        subprocess.run([ROOT / "docker" / "secrets.sh", tmp_path / "secrets"], check=True, capture_output=True)
        return {path.name: path.read_text() for path in (tmp_path / "secrets").iterdir()}

    first = draw()
    assert draw() == first
    assert len(first["postgres_password"]) >= 32
    assert first["postgres_password"] in first["database_url"]
    assert first["redis_password"] in first["redis.conf"]
    assert "appendfsync everysec" in first["redis.conf"]
    assert "maxmemory-policy noeviction" in first["redis.conf"]
    assert stat.S_IMODE((tmp_path / "secrets").stat().st_mode) == 0o700
    sealer = SecretSealer([first["secrets_key"].strip()])
    assert sealer.open(sealer.seal("whsec")) == "whsec"
    secrets = set(re.findall(r"file: \./secrets/([\w.]+)", FILE.read_text()))
    assert secrets <= set(first), "every secret of the compose file is drawn"


def test_images_are_built_with_the_description_that_the_ui_is_made_from() -> None:
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert "docs" not in ignored
    assert "!docs/openapi.json" in ignored


def test_compose_accepts_the_file_and_refuses_to_guess(tmp_path: Path) -> None:
    compose = shutil.which("docker-compose")
    if compose is None:
        pytest.skip("no docker-compose: apt-get install docker-compose")
    subprocess.run([ROOT / "docker" / "secrets.sh", tmp_path / "secrets"], check=True, capture_output=True)
    for file in (FILE, DOCKER):
        shutil.copy(file, tmp_path)
    (tmp_path / "docker").mkdir()
    shutil.copy(ROOT / "docker" / "worker-seccomp.json", tmp_path / "docker")

    def check(*files: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [compose, *(f"--file={file}" for file in files), "config", "--quiet"],
            cwd=tmp_path,
            env={"PATH": os.environ["PATH"], **environment},
            capture_output=True,
            text=True,
            check=False,
        )

    accepted = check(**VERSIONS)
    assert accepted.returncode == 0, accepted.stderr
    refused = check()
    assert refused.returncode != 0
    assert "KERNELWRIGHT_VERSION" in refused.stderr
    both = check(FILE.name, DOCKER.name, **VERSIONS, DOCKER_GID="999")
    assert both.returncode == 0, both.stderr
    assert "DOCKER_GID" in check(FILE.name, DOCKER.name, **VERSIONS).stderr


@pytest.mark.parametrize("file", [FILE, DOCKER], ids=lambda file: file.name)
def test_the_file_fits_the_schema_of_the_compose_specification(file: Path) -> None:
    checker = Path(sys.executable).with_name("check-jsonschema")
    command: list[str | Path] = [checker, "--builtin-schema", "vendor.compose-spec", file]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
