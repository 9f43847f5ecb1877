"""Keeps the machine code that came with a report as an artefact, so that the report itself stays small."""

from __future__ import annotations

import logging
from dataclasses import replace

from services.domain.errors import InfrastructureError, NotFoundError
from services.domain.evaluations import Disassembly, EvaluationReport, EvaluationRequest
from services.ports.jobs import ArtefactStore

log = logging.getLogger(__name__)
NOT_KEPT = "nothing keeps machine code here: it is kept for candidates of jobs"
EXPIRED = "the machine code has expired: this installation keeps artefacts for a time only"


async def with_machine_code_kept(
    report: EvaluationReport, request: EvaluationRequest, artefacts: ArtefactStore | None
) -> EvaluationReport:
    """The report with its text moved into the store, until the request's job is deleted.

    A store that fails costs the machine code, never the report."""
    listing = report.listing
    if listing is None or not listing.text:
        return report
    return replace(report, listing=await _kept(listing, request, artefacts))


def without_text(report: EvaluationReport) -> EvaluationReport:
    """The report where nothing keeps machine code."""
    listing = report.listing
    if listing is None or not listing.text:
        return report
    return replace(report, listing=replace(listing, text="", note=NOT_KEPT))


async def read_listing(team_id: str, report: EvaluationReport | None, artefacts: ArtefactStore) -> str:
    """The machine code of a report. Raises `NotFoundError`, which says why there is none."""
    listing = report.listing if report is not None else None
    if listing is None:
        raise NotFoundError("no machine code was kept of this candidate: it was not built, or is still being judged")
    if listing.hash is None:
        raise NotFoundError(listing.note)
    try:
        return (await artefacts.get(team_id, listing.hash)).decode(errors="replace")
    except NotFoundError:
        raise NotFoundError(EXPIRED) from None


async def _kept(listing: Disassembly, request: EvaluationRequest, artefacts: ArtefactStore | None) -> Disassembly:
    bare = replace(listing, text="")
    if artefacts is None:
        return replace(bare, note=NOT_KEPT)
    try:
        key = await artefacts.put(request.team_id, listing.text.encode(errors="replace"), job_id=request.job_id)
    except InfrastructureError as error:
        log.warning("the machine code of %s is not kept: %s", request.candidate_id, error)
        return replace(bare, note=f"it could not be kept: {error}")
    return replace(bare, hash=key)
