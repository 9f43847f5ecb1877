"""Which devices and backends a job may ask for, and who does its work."""

from __future__ import annotations

import dataclasses
from typing import cast

import pytest

from kernelwright.wiring.workbench import WorkbenchPool
from services.domain.errors import ConfigurationError, InfrastructureError
from services.domain.jobs import JobSpec
from services.jobs.catalogue import Catalogue
from tests.doubles.builders import a_job
from workers.evaluation.evaluator import Evaluator

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
    def gone(device: str) -> Evaluator:
        raise ConfigurationError(f"unknown device {device!r}")

    with pytest.raises(InfrastructureError, match="unknown device"):
        WorkbenchPool(gone).of("h200")


def test_a_worker_is_made_once_for_a_device() -> None:
    made: list[str] = []

    class Worker:
        def close(self) -> None:
            made.append("closed")

    def make(device: str) -> Evaluator:
        made.append(device)
        return cast("Evaluator", Worker())

    with WorkbenchPool(make, "cpu") as workbenches:
        assert workbenches.of("cpu") is workbenches.of("cpu")
        assert workbenches.of("h200") is not workbenches.of("cpu")
    assert made == ["cpu", "h200", "closed", "closed"]
