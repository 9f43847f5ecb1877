"""Which devices and backends a job may ask for, and who does its work."""

from __future__ import annotations

import dataclasses
from typing import cast

import pytest

from kernelwright.wiring.workbench import EveryDevice, LocalWorkbench
from services.catalogue import Catalogue
from services.domain.errors import ConfigurationError, InfrastructureError
from services.domain.jobs import JobSpec
from services.testing.builders import a_candidate, a_job, an_evaluation_request

CATALOGUE = Catalogue(
    backends=("cpp", "triton", "cuda"),
    devices=("cpu", "h200"),
    strategies=("greedy", "value_driven"),
    models=("playbook",),
    resolve_model=lambda _name: None,
    backends_of={"cpu": ("cpp",), "h200": ("triton", "cuda")},
)


def spec(device: str, backend: str) -> JobSpec:
    return dataclasses.replace(a_job().spec, device=device, backend=backend)


@pytest.mark.parametrize(("device", "backend"), [("cpu", "cpp"), ("h200", "triton"), ("h200", "cuda")])
def test_a_device_runs_its_backends(device: str, backend: str) -> None:
    CATALOGUE.check(spec(device, backend))


@pytest.mark.parametrize(("device", "backend"), [("cpu", "triton"), ("h200", "cpp")])
def test_a_backend_of_another_device_is_refused_with_those_that_fit(device: str, backend: str) -> None:
    with pytest.raises(ConfigurationError, match=f"does not run on the device {device}, which runs"):
        CATALOGUE.check(spec(device, backend))


def test_a_device_that_has_gone_is_the_machine_s_failure() -> None:
    def gone(device: str) -> LocalWorkbench:
        raise ConfigurationError(f"unknown device {device!r}")

    workbench = EveryDevice({}, gone)
    with pytest.raises(InfrastructureError, match="unknown device"):
        workbench.evaluate(an_evaluation_request(a_candidate()), lambda: False)


def test_a_worker_is_made_once_for_a_device() -> None:
    made: list[str] = []

    class Worker:
        def evaluate(self, request: object, cancelled: object) -> str:
            return "judged"

        def close(self) -> None:
            made.append("closed")

    def make(device: str) -> LocalWorkbench:
        made.append(device)
        return cast("LocalWorkbench", Worker())

    workbench = EveryDevice({}, make)
    for _ in range(2):
        workbench.evaluate(an_evaluation_request(a_candidate()), lambda: False)
    workbench.close()
    assert made == [an_evaluation_request(a_candidate()).device, "closed"]
