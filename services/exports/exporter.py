"""Writes a job's results into folders and archives."""

from __future__ import annotations

import asyncio
import io
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from services.domain.errors import ConflictError, StorageError, UserError
from services.domain.jobs import ExportFormat
from services.exports.evidence import KERNEL, PAGE, REPORT, TRAJECTORY, evidence_files
from services.exports.gpu_mode import submission
from services.exports.operators import operator_package
from services.exports.packages import kernel_builder_tree, python_package
from services.exports.static_report import static_report
from services.exports.winner import Winner, check_proven, exported_source, lineage
from services.jobs.service import JobService

_EPOCH = (1980, 1, 1, 0, 0, 0)
"""Of every file in an archive, so that the same job gives the same bytes."""


_FORMATS: dict[ExportFormat, Callable[[Winner], dict[str, str]]] = {
    ExportFormat.PACKAGE: python_package,
    ExportFormat.KERNEL_BUILDER: kernel_builder_tree,
    ExportFormat.GPU_MODE: submission,
}


@dataclass(frozen=True, kw_only=True)
class Export:
    """Where an export put what; absolute paths, None where the job has no accepted kernel."""

    folder: Path
    kernel: Path | None
    report: Path | None
    trajectory: Path


class Exporter:
    """Writes a job's results into folders and archives."""

    def __init__(self, service: JobService, runtime_module: Path) -> None:
        """The folder of `kernelwright_op` lies beside the runtime module."""
        self._service = service
        self._runtime_module = runtime_module
        self._operator_modules = runtime_module.parent / "kernelwright_op"

    async def contents(self, team_id: str, job_id: str, form: ExportFormat = ExportFormat.BUNDLE) -> dict[str, str]:
        """File name to text. A bundle of a job without an accepted kernel holds its trajectory and the page only; other
        formats raise `ConflictError` there. Raises `NotFoundError`, and `ConflictError` for a kernel that only an older
        referee accepted, or that is self-attested."""
        winner = await self._winner(team_id, job_id)
        if form is not ExportFormat.BUNDLE:
            if winner is None:
                raise ConflictError(f"job {job_id} has no accepted kernel to export as {form.value}")
            return _FORMATS[form](winner)
        return await self._bundle(team_id, job_id, winner)

    async def to_package(self, team_id: str, job_ids: Sequence[str], name: str, folder: Path) -> tuple[str, ...]:
        """Write a pip-installable package of several jobs' kernels as operators into a folder that is new or empty, and
        return the operators' names. Raises `NotFoundError`, `ConflictError`, `UserError`, `StorageError`."""
        winners = []
        for job_id in dict.fromkeys(job_ids):
            winner = await self._winner(team_id, job_id)
            if winner is None:
                raise ConflictError(f"job {job_id} has no accepted kernel to export")
            winners.append(winner)
        modules = {path.name: path.read_text() for path in sorted(self._operator_modules.glob("*.py"))}
        package = operator_package(winners, name, modules)
        await asyncio.to_thread(_write_new_tree, folder, package.files)
        return package.operators

    async def to_page(self, team_id: str, job_id: str) -> str:
        """The job's report as one HTML file that loads nothing and runs nothing. Raises `NotFoundError`."""
        job = await self._service.get(team_id, job_id)
        return static_report(
            job, await self._service.digests(team_id, job_id), await self._service.best(team_id, job_id)
        )

    async def to_folder(self, team_id: str, job_id: str, folder: Path) -> Export:
        """Write the bundle into a folder, made where it is missing; without the kernel where that is self-attested.
        Raises `NotFoundError`, `ConflictError` for one that only an older referee accepted, `StorageError`."""
        best = await self._service.best(team_id, job_id)
        attested = best is not None and best.report is not None and best.report.self_attested is not None
        winner = None if attested else await self._winner(team_id, job_id)
        return await asyncio.to_thread(_write_all, folder, await self._bundle(team_id, job_id, winner))

    async def to_archive(self, team_id: str, job_id: str, form: ExportFormat = ExportFormat.BUNDLE) -> bytes:
        """The files as a zip archive in one folder named after the job. Raises `NotFoundError`, `ConflictError`."""
        files = await self.contents(team_id, job_id, form)
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, text in sorted(files.items()):
                entry = zipfile.ZipInfo(f"{job_id}/{name}", _EPOCH)
                entry.external_attr = 0o644 << 16
                archive.writestr(entry, text, zipfile.ZIP_DEFLATED)
        return buffer.getvalue()

    async def _bundle(self, team_id: str, job_id: str, winner: Winner | None) -> dict[str, str]:
        lines = [line async for line in await self._service.trajectory(team_id, job_id)]
        files = {TRAJECTORY: "".join(lines), PAGE: await self.to_page(team_id, job_id)}
        return files | (evidence_files(winner) if winner is not None else {})

    async def _winner(self, team_id: str, job_id: str) -> Winner | None:
        best = await self._service.best(team_id, job_id)
        if best is None or best.report is None:
            return None
        check_proven(best)
        known = {entry.candidate.id: entry for entry in await self._service.candidates(team_id, job_id)}
        return Winner(
            job=await self._service.get(team_id, job_id),
            candidate=best.candidate,
            report=best.report,
            source=exported_source(best),
            lineage=lineage(best.candidate, known),
            runtime=self._runtime_module.read_text(),
        )


def _write_new_tree(folder: Path, files: dict[str, str]) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder} is not an empty folder: name a new one")
    _write_tree(folder, files)


def _write_tree(folder: Path, files: dict[str, str]) -> None:
    try:
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            _write(folder / name, text)
    except OSError as error:
        raise StorageError(f"cannot write the results to {folder}: {error.strerror or error}") from None


def _write_all(folder: Path, files: dict[str, str]) -> Export:
    folder = folder.absolute()
    _write_tree(folder, files)
    return Export(
        folder=folder,
        kernel=folder / KERNEL if KERNEL in files else None,
        report=folder / REPORT if REPORT in files else None,
        trajectory=folder / TRAJECTORY,
    )


def _write(path: Path, text: str) -> None:
    """Write a file so that it is there whole or not at all."""
    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_text(text)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
