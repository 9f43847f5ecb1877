"""Lists of candidates that are judged out of a spool, without a job or a server: orders for them, and what became of
those."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from services.adapters.spool.layout import order_name
from services.adapters.spool.orders import SpoolAnswer, SpooledOrders, SpoolPlace
from services.domain.candidate_text import candidate_source
from services.domain.candidates import content_hash
from services.domain.codec import dumps
from services.domain.evaluations import EvaluationReport, EvaluationRequest
from services.domain.jobs import LOCAL_TEAM
from services.domain.problems import Problem
from services.domain.validations import ValidationReport, ValidationRequest
from services.jobs.machine_code import without_text
from services.problems.lint import lint_problem


@dataclass(frozen=True, kw_only=True)
class SpooledRow:
    """What is known of one order."""

    order: str
    label: str
    """`PROBLEM/CANDIDATE`, or the problem of a validation."""
    state: str
    """`waiting`, `claimed`, `judged`, `failed` (the machine could not) or `refused` (in the spool)."""
    verdict: str | None = None
    """Of a judged candidate; of a problem `usable` or `refused`."""
    detail: str = ""
    """Why it was rejected, refused or not judged."""
    node: str | None = None
    """The process that judged it."""
    seconds: float | None = None
    """What that took it."""
    report: EvaluationReport | None = None
    """Of a judged candidate."""


def add_candidates(
    orders: SpooledOrders,
    problem: Problem,
    candidates: Sequence[tuple[str, str]],
    *,
    device: str,
    backend: str,
    baselines: Sequence[str],
) -> Mapping[SpoolPlace, int]:
    """Place an order for each candidate, and one for their problem, unless it is there or answered already: how many
    orders are where. One whose node failed is placed again. A candidate is given by its file's name and its text.

    Raises `UserError`, `StorageError`."""
    lint_problem(problem)
    requests = _requests(problem, candidates, device=device, backend=backend, baselines=tuple(baselines))
    orders.open()
    found = dict.fromkeys(SpoolPlace, 0)
    for order_id, label, request in requests:
        name = order_name(order_id, request.job_id)
        place, _ = orders.where(name)
        if place is SpoolPlace.ANSWERED:
            answer = orders.answer(name, request)
            if answer is None or answer.fault is not None:
                orders.forget_answer(name)
                place = SpoolPlace.ABSENT
        if place not in (SpoolPlace.ANSWERED, SpoolPlace.CLAIMED):
            orders.place(request, order_id, label=label)
            place = SpoolPlace.WAITING
        found[place] += 1
    return found


def collected(orders: SpooledOrders) -> tuple[SpooledRow, ...]:
    """What became of every order in a spool, by label: problems first, then their candidates. Raises `StorageError`."""
    answers = {name: orders.answer(name) for name in orders.answered()}
    rows = {name: _answered(answer) for name, answer in answers.items() if answer is not None}
    for name, place, message in orders.orders():
        rows.setdefault(name, SpooledRow(order=message.about, label=message.label, state=place.value))
    for file, reason in orders.refusals():
        folder, _, rest = file.partition(",")
        name = rest.partition(",")[0]
        if folder in ("orders", "claims", "reports") and name not in rows:
            rows[name] = SpooledRow(order=name.partition("@")[0], label=name, state="refused", detail=reason)
    return tuple(sorted(rows.values(), key=lambda row: (row.label, row.order)))


def _requests(
    problem: Problem, candidates: Sequence[tuple[str, str]], *, device: str, backend: str, baselines: tuple[str, ...]
) -> list[tuple[str, str, ValidationRequest | EvaluationRequest]]:
    """Order id, label and request of each. The same files give the same ids, wherever they lie."""
    asked = dumps((problem.source, problem.allow_library, problem.objective, device, backend, baselines))
    job_id = f"local-{content_hash(asked)[:20]}"
    validation = ValidationRequest(
        job_id=job_id, team_id=LOCAL_TEAM, problem=problem, device=device, backend=backend, baselines=baselines
    )
    found: list[tuple[str, str, ValidationRequest | EvaluationRequest]] = [(f"val-{job_id}", problem.name, validation)]
    for name, text in candidates:
        source = candidate_source(text)
        known = content_hash(f"{asked}\n{source}")[:20]
        evaluation = EvaluationRequest(
            evaluation_id=f"eval-{known}",
            job_id=job_id,
            team_id=LOCAL_TEAM,
            candidate_id=f"cand-{known}",
            problem=problem,
            source=source,
            device=device,
            backend=backend,
            baselines=baselines,
            times_held_out=True,
        )
        found.append((evaluation.evaluation_id, f"{problem.name}/{name}", evaluation))
    return found


def _answered(answer: SpoolAnswer) -> SpooledRow:
    message, report = answer.message, answer.report
    row = SpooledRow(
        order=message.about,
        label=message.label,
        state="failed" if answer.fault is not None else "judged",
        detail=answer.fault or "",
        node=message.sender,
        seconds=message.seconds,
    )
    if isinstance(report, ValidationReport):
        return _validated(row, report)
    if report is None:
        return row
    told = next((gate.detail for gate in report.gates if gate.name is report.failed_gate), "")
    return replace(row, verdict=report.verdict.value, detail=told, report=without_text(report))


def _validated(row: SpooledRow, report: ValidationReport) -> SpooledRow:
    refusal = report.refusal
    if refusal is None:
        return replace(row, verdict="usable")
    return replace(row, verdict="refused", detail=f"{refusal.reason}. {refusal.remedy}")
