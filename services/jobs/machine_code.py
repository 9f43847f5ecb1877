"""Keeps what came with a report as artefacts (machine code, the profiler's file), so that reports stay small."""

from __future__ import annotations

import base64
import binascii
import logging
from dataclasses import replace

from services.domain.errors import InfrastructureError, NotFoundError
from services.domain.evaluations import EvaluationReport, EvaluationRequest
from services.domain.profiles import Disassembly, ProfilerFile
from services.ports.jobs import ArtefactStore

log = logging.getLogger(__name__)
NOT_KEPT = "nothing keeps machine code here: it is kept for candidates of jobs"
FILE_NOT_KEPT = "nothing keeps profiles here: they are kept for candidates of jobs"
EXPIRED = "the {} has expired: this installation keeps artefacts for a time only"


async def with_machine_code_kept(
    report: EvaluationReport, request: EvaluationRequest, artefacts: ArtefactStore | None
) -> EvaluationReport:
    """The report with its texts and the profiler's file moved into the store, until the request's job is deleted.

    A store that fails costs what it should keep, never the report."""
    if report.listing is not None and report.listing.text:
        report = replace(report, listing=await _kept(report.listing, request, artefacts))
    profile = report.profile
    if profile is not None and profile.file is not None and profile.file.content:
        report = replace(report, profile=replace(profile, file=await _kept_file(profile.file, request, artefacts)))
    return report


def without_text(report: EvaluationReport, why: str | None = None) -> EvaluationReport:
    """The report where nothing keeps machine code, or where it cannot be kept for a reason."""
    listing, profile = report.listing, report.profile
    if listing is not None and listing.text:
        report = replace(report, listing=replace(listing, text="", ptx="", note=why or NOT_KEPT))
    if profile is not None and profile.file is not None and profile.file.content:
        file = replace(profile.file, content="", note=why or FILE_NOT_KEPT)
        report = replace(report, profile=replace(profile, file=file))
    return report


async def read_listing(
    team_id: str, report: EvaluationReport | None, artefacts: ArtefactStore, *, ptx: bool = False
) -> str:
    """The machine code of a report, or its PTX. Raises `NotFoundError`, which says why there is none."""
    listing = report.listing if report is not None else None
    if listing is None:
        raise NotFoundError("no machine code was kept of this candidate: it was not built, or is still being judged")
    if listing.hash is None:
        raise NotFoundError(listing.note)
    if ptx and listing.ptx_hash is None:
        raise NotFoundError("this candidate has no PTX: it is kept of Triton's kernels")
    content = await _read(team_id, (listing.ptx_hash if ptx else None) or listing.hash, artefacts, "machine code")
    return content.decode(errors="replace")


async def read_profiler_file(
    team_id: str, report: EvaluationReport | None, artefacts: ArtefactStore
) -> tuple[str, bytes]:
    """Name and content of the profiler's own file. Raises `NotFoundError`, which says why there is none."""
    file = report.profile.file if report is not None and report.profile is not None else None
    if file is None:
        raise NotFoundError(
            "no profiler's file was kept of this candidate: Nsight Compute writes one where a GPU worker has it, for "
            "candidates that are timed (`kernelwright doctor` there says whether it works)"
        )
    if file.hash is None:
        raise NotFoundError(file.note)
    return file.name, await _read(team_id, file.hash, artefacts, "profile")


async def _read(team_id: str, key: str, artefacts: ArtefactStore, what: str) -> bytes:
    try:
        return await artefacts.get(team_id, key)
    except NotFoundError:
        raise NotFoundError(EXPIRED.format(what)) from None


async def _kept(listing: Disassembly, request: EvaluationRequest, artefacts: ArtefactStore | None) -> Disassembly:
    bare = replace(listing, text="", ptx="")
    if artefacts is None:
        return replace(bare, note=NOT_KEPT)
    try:
        key = await _put(listing.text, request, artefacts)
        ptx = await _put(listing.ptx, request, artefacts) if listing.ptx else None
    except InfrastructureError as error:
        log.warning("the machine code of %s is not kept: %s", request.candidate_id, error)
        return replace(bare, note=f"it could not be kept: {error}")
    return replace(bare, hash=key, ptx_hash=ptx)


async def _kept_file(file: ProfilerFile, request: EvaluationRequest, artefacts: ArtefactStore | None) -> ProfilerFile:
    bare = replace(file, content="")
    if artefacts is None:
        return replace(bare, note=FILE_NOT_KEPT)
    try:
        content = base64.b64decode(file.content, validate=True)
        key = await artefacts.put(request.team_id, content, job_id=request.job_id)
    except (InfrastructureError, binascii.Error) as error:
        log.warning("the profile of %s is not kept: %s", request.candidate_id, error)
        return replace(bare, note=f"it could not be kept: {error}")
    return replace(bare, hash=key, bytes=len(content))


async def _put(text: str, request: EvaluationRequest, artefacts: ArtefactStore) -> str:
    return await artefacts.put(request.team_id, text.encode(errors="replace"), job_id=request.job_id)
