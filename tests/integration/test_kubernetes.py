"""The Kubernetes manifests: rendered by kubectl, valid, hardened, in step with the program. No cluster is needed."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from kernelwright.distribution import version
from kernelwright.settings import Settings
from tests.docker_host import ROOT

pytestmark = pytest.mark.integration

MANIFESTS = ROOT / "docker" / "kubernetes"
VERSION = "1.33.1"
"""Of Kubernetes; the oldest with user namespaces for pods by default, which the worker needs."""
KEDA = Path(__file__).with_name("data") / "keda_scaledobject.schema.json"


def rendered(name: str) -> str:
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        pytest.skip("no kubectl: apt-get install kubernetes-client")
    done = subprocess.run([kubectl, "kustomize", MANIFESTS / name], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def documents(name: str) -> list[dict[str, Any]]:
    yaml = pytest.importorskip("yaml")
    return list(yaml.safe_load_all(rendered(name)))


@pytest.fixture(scope="module")
def workloads() -> dict[str, dict[str, Any]]:
    """The containers' pods, by name."""
    found = [one for one in documents("base") if one["kind"] in ("Deployment", "Job")]
    return {one["metadata"]["name"]: one["spec"]["template"]["spec"] for one in found}


def test_kubernetes_knows_every_field(tmp_path: Path) -> None:
    file = tmp_path / "base.yaml"
    file.write_text(rendered("base"))
    checker = Path(sys.executable).with_name("kubernetes-validate")
    command: list[str | Path] = [checker, "--kubernetes-version", VERSION, "--strict", file]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_keda_scales_the_worker_that_there_is(tmp_path: Path) -> None:
    found = documents("keda")
    (scaled,) = (one for one in found if one["kind"] == "ScaledObject")
    file = tmp_path / "scaled.json"
    file.write_text(json.dumps(scaled))
    checker = Path(sys.executable).with_name("check-jsonschema")
    done = subprocess.run([checker, "--schemafile", KEDA, file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    target = scaled["spec"]["scaleTargetRef"]["name"]
    assert [one["kind"] for one in found if one["metadata"]["name"] == target] == ["Deployment", "ScaledObject"]
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("no promtool for the queries: apt-get install prometheus")
    for trigger in scaled["spec"]["triggers"]:
        rules = {"groups": [{"name": "keda", "rules": [{"record": "q", "expr": trigger["metadata"]["query"]}]}]}
        (tmp_path / "rules.yml").write_text(json.dumps(rules))
        done = subprocess.run(
            [promtool, "check", "rules", tmp_path / "rules.yml"], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_images_are_of_this_version(workloads: dict[str, dict[str, Any]]) -> None:
    images = {container["image"] for pod in workloads.values() for container in pod["containers"]}
    assert images == {f"kernelwright/server:{version()}", f"kernelwright/worker:{version()}"}


def test_every_setting_is_one_of_the_program(workloads: dict[str, dict[str, Any]]) -> None:
    named = {item["name"] for pod in workloads.values() for part in pod["containers"] for item in part["env"]}
    known = {f"KERNELWRIGHT_{field.upper()}" for field in Settings.model_fields}
    assert {name.removesuffix("_FILE") for name in named} - known == set()
    assert {name for name in named if name.endswith(("_URL", "TOKEN"))} == set(), "secrets come from files"


def test_servers_are_hardened_and_the_worker_has_no_right_on_its_node(workloads: dict[str, dict[str, Any]]) -> None:
    for name, pod in workloads.items():
        assert pod["automountServiceAccountToken"] is False, name
        assert "hostPath" not in json.dumps(pod), name
        security = pod["containers"][0]["securityContext"]
        assert security["capabilities"]["drop"] == ["ALL"], name
        if name == "worker-gpu":
            assert pod["hostUsers"] is False
            assert "privileged" not in security
        else:
            assert pod["securityContext"]["runAsNonRoot"] is True, name
            assert security["readOnlyRootFilesystem"] is True, name
            assert security["allowPrivilegeEscalation"] is False, name


def test_the_worker_has_a_nodes_token_and_reaches_the_api_only(workloads: dict[str, dict[str, Any]]) -> None:
    pod = workloads["worker-gpu"]
    (secrets,) = (volume["secret"] for volume in pod["volumes"] if "secret" in volume)
    assert secrets["secretName"] == "kernelwright-node"
    named = {item["name"] for item in pod["containers"][0]["env"]}
    assert "KERNELWRIGHT_TOKEN_FILE" in named
    assert not {name for name in named if "DATABASE" in name or "REDIS" in name}
    server = urlsplit(pod["containers"][0]["args"][2])
    (api,) = (one for one in documents("base") if one["kind"] == "Service" and one["metadata"]["name"] == "api")
    assert (server.hostname, server.port or 80) == ("api", api["spec"]["ports"][0]["port"])
    ways = [one["spec"] for one in documents("base") if one["kind"] == "NetworkPolicy"]
    own = [one["egress"] for one in ways if "worker-gpu" in json.dumps(one["podSelector"]) and "egress" in one]
    assert [rule["to"][0]["podSelector"]["matchLabels"] for rule in own[0]] == [{"app": "api"}]
    stores = [one for one in ways if "5432" in json.dumps(one)]
    assert [one["podSelector"]["matchExpressions"][0]["values"] for one in stores] == [
        ["api", "orchestrator", "migrate"]
    ]


def test_probes_ask_for_what_the_program_answers(workloads: dict[str, dict[str, Any]]) -> None:
    api = workloads["api"]["containers"][0]
    assert (api["livenessProbe"]["httpGet"]["path"], api["readinessProbe"]["httpGet"]["path"]) == (
        "/healthz",
        "/readyz",
    )
    asked = workloads["orchestrator"]["containers"][0]["livenessProbe"]["exec"]["command"]
    help_text = subprocess.run(
        [sys.executable, "-m", "kernelwright", "doctor", "--help"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert asked == ["kernelwright", "doctor", "--check-orchestrator"]
    assert asked[2] in help_text


def test_all_traffic_is_denied_unless_named() -> None:
    policies = [one["spec"] for one in documents("base") if one["kind"] == "NetworkPolicy"]
    closed = [one for one in policies if one["podSelector"] == {} and not {"ingress", "egress"} & set(one)]
    assert [one["policyTypes"] for one in closed] == [["Ingress", "Egress"]]
    open_to_the_web = [one for one in policies if "0.0.0.0/0" in json.dumps(one)]
    assert ["worker-gpu" in json.dumps(one) for one in open_to_the_web] == [False]
