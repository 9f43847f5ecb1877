"""Results as files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from services.domain.candidates import EvaluatedCandidate
from services.domain.errors import ConflictError, StorageError
from services.domain.evaluations import Tuned
from services.domain.jobs import LOCAL_TEAM, ExportFormat, JobSpec, JobStatus
from services.domain.referees import CURRENT
from services.exports import Exporter, exported_source
from services.jobs.catalogue import Catalogue
from services.jobs.service import JobService
from tests.doubles import (
    FrozenClock,
    InMemoryCandidateStore,
    InMemoryDatabase,
    InMemoryJobStore,
    InMemoryVerdictStore,
    a_candidate,
    a_job,
    a_problem,
    a_report,
    an_evaluation_request,
)

SOURCE = 'import torch\nTUNABLES = {\n    "BLOCK": [128, 256],\n}\nx = TUNABLES["BLOCK"][0]\n'
KNOWN = Catalogue(backends=("cpp",), devices=("cpu",), strategies=("greedy",), models=("playbook",), resolve_model=str)
BEST = a_candidate(source=SOURCE)


def test_the_winners_of_a_search_are_baked_into_the_exported_kernel() -> None:
    report = replace(a_report(), tuned=Tuned(parameters={"BLOCK": 256}, tried=2))
    source = exported_source(EvaluatedCandidate(candidate=a_candidate(source=SOURCE), report=report))
    assert source == 'import torch\nTUNABLES = {\n    "BLOCK": [256],\n}\nx = TUNABLES["BLOCK"][0]\n'


def test_without_a_search_the_source_is_exported_as_it_is() -> None:
    assert exported_source(EvaluatedCandidate(candidate=a_candidate(source=SOURCE), report=a_report())) == SOURCE


async def test_a_kernel_that_only_an_older_referee_accepted_is_not_exported(tmp_path: Path) -> None:
    database = InMemoryDatabase(clock=FrozenClock())
    service = JobService(InMemoryJobStore(database), InMemoryCandidateStore(database), KNOWN, database.clock)
    await InMemoryJobStore(database).create(replace(a_job(status=JobStatus.SOLVED), best_candidate_id=BEST.id))
    database.candidates[BEST.id] = BEST
    report = a_report()
    old = replace(report, environment=replace(report.environment, referee_version=str(CURRENT - 1)))
    await InMemoryCandidateStore(database).finish(an_evaluation_request(BEST), old)
    (tmp_path / "rt.py").write_text("")
    exporter = Exporter(service, tmp_path / "rt.py")
    for form in ExportFormat:
        with pytest.raises(ConflictError, match=f"run `kernelwright reverify {BEST.job_id}` first"):
            await exporter.to_archive(LOCAL_TEAM, BEST.job_id, form)
    with pytest.raises(ConflictError, match="accepted by an older referee only"):
        await exporter.to_package(LOCAL_TEAM, [BEST.job_id], "ours", tmp_path / "ours")
    verdicts = InMemoryVerdictStore(database)
    (stored,) = await verdicts.accepted(LOCAL_TEAM)
    assert await verdicts.verified(stored, report, "ada")
    assert "kernel.py" in await exporter.contents(LOCAL_TEAM, BEST.job_id)


async def test_a_self_attested_kernel_is_in_no_export(tmp_path: Path) -> None:
    database = InMemoryDatabase(clock=FrozenClock())
    service = JobService(InMemoryJobStore(database), InMemoryCandidateStore(database), KNOWN, database.clock)
    await InMemoryJobStore(database).create(replace(a_job(status=JobStatus.SOLVED), best_candidate_id=BEST.id))
    database.candidates[BEST.id] = BEST
    attested = replace(a_report(), self_attested="the problem's TOLERANCE is looser than the referee's for float32")
    await InMemoryCandidateStore(database).finish(an_evaluation_request(BEST), attested)
    (tmp_path / "rt.py").write_text("")
    exporter = Exporter(service, tmp_path / "rt.py")
    for form in ExportFormat:
        with pytest.raises(ConflictError, match="is self-attested: the problem's TOLERANCE is looser"):
            await exporter.to_archive(LOCAL_TEAM, BEST.job_id, form)
    export = await exporter.to_folder(LOCAL_TEAM, BEST.job_id, tmp_path / "out")
    assert export.kernel is None
    assert export.trajectory.exists()


async def test_a_folder_that_cannot_be_written_is_a_clear_error(tmp_path: Path) -> None:
    database = InMemoryDatabase(clock=FrozenClock())
    service = JobService(InMemoryJobStore(database), InMemoryCandidateStore(database), KNOWN, database.clock)
    job, _ = await service.submit(LOCAL_TEAM, JobSpec(problem=a_problem()))
    exporter = Exporter(service, tmp_path / "rt.py")
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot write the results"):
        await exporter.to_folder(LOCAL_TEAM, job.id, tmp_path / "file" / "out")
    export = await exporter.to_folder(LOCAL_TEAM, job.id, tmp_path / "out")
    assert export.kernel is None
    assert export.trajectory.read_text() == ""
