"""Results as files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from services.catalogue import Catalogue
from services.domain.candidates import EvaluatedCandidate
from services.domain.errors import StorageError
from services.domain.evaluations import Tuned
from services.domain.jobs import LOCAL_TEAM, JobSpec
from services.exports import Exporter, exported_source
from services.jobs import JobService
from services.testing import (
    FrozenClock,
    InMemoryCandidateStore,
    InMemoryDatabase,
    InMemoryJobStore,
    a_candidate,
    a_problem,
    a_report,
)

SOURCE = 'import torch\nTUNABLES = {\n    "BLOCK": [128, 256],\n}\nx = TUNABLES["BLOCK"][0]\n'


def test_the_winners_of_a_search_are_baked_into_the_exported_kernel() -> None:
    report = replace(a_report(), tuned=Tuned(parameters={"BLOCK": 256}, tried=2))
    source = exported_source(EvaluatedCandidate(candidate=a_candidate(source=SOURCE), report=report))
    assert source == 'import torch\nTUNABLES = {\n    "BLOCK": [256],\n}\nx = TUNABLES["BLOCK"][0]\n'


def test_without_a_search_the_source_is_exported_as_it_is() -> None:
    assert exported_source(EvaluatedCandidate(candidate=a_candidate(source=SOURCE), report=a_report())) == SOURCE


async def test_a_folder_that_cannot_be_written_is_a_clear_error(tmp_path: Path) -> None:
    database = InMemoryDatabase(clock=FrozenClock())
    known = Catalogue(
        backends=("cpp",), devices=("cpu",), strategies=("greedy",), models=("playbook",), resolve_model=str
    )
    service = JobService(InMemoryJobStore(database), InMemoryCandidateStore(database), known, database.clock)
    job, _ = await service.submit(LOCAL_TEAM, JobSpec(problem=a_problem()))
    exporter = Exporter(service, tmp_path / "rt.py")
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot write the results"):
        await exporter.to_folder(LOCAL_TEAM, job.id, tmp_path / "file" / "out")
    export = await exporter.to_folder(LOCAL_TEAM, job.id, tmp_path / "out")
    assert export.kernel is None
    assert export.trajectory.read_text() == ""
