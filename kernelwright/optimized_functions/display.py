"""How notebooks and prompts show a job, a kernel and an evaluation. Everything from outside is escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from pathlib import Path

from services.domain.evaluations import EvaluationReport, Verdict
from services.domain.gates import GateStatus
from services.domain.jobs import Job, JobStatus
from services.domain.measurements import Gain, gain_of
from services.domain.texts import interval, microseconds, ratio

_GREEN, _AMBER, _RED, _GREY = "#1a7f37", "#9a6700", "#cf222e", "#6e7781"
_VERDICTS = {Verdict.SUSPICIOUS: _AMBER, Verdict.REJECTED: _RED}
_GATES = {GateStatus.PASSED: _GREEN, GateStatus.SUSPICIOUS: _AMBER, GateStatus.FAILED: _RED}
_STATES = {JobStatus.SOLVED: _GREEN, JobStatus.NO_GAIN: _AMBER, JobStatus.FAILED: _RED, JobStatus.REFUSED: _RED}
_GAINS = {
    Gain.SURELY: ("faster", _GREEN),
    Gain.WITHIN_NOISE: ("within noise", _AMBER),
    Gain.NONE: ("slower", _RED),
}


def solution_line(job: Job, report: EvaluationReport | None) -> str:
    """A job in one line."""
    found = "no correct kernel" if report is None else evidence_line(report)
    return f"{job.spec.problem.name}: {job.status.value}, {found} ({job.id})"


def evidence_line(report: EvaluationReport) -> str:
    """A report in one line."""
    bounds = report.speedup.ci95
    spread = f" {interval(bounds)}" if bounds else ""
    return f"{report.verdict.value}, {ratio(report.speedup.best_baseline)}{spread} the best baseline"


def solution(job: Job, report: EvaluationReport | None, folder: Path) -> str:
    """A job as HTML: state, verdict and gain as three marks, figures, where its files are."""
    state = _STATES.get(job.status, _GREY)
    if job.status is JobStatus.SOLVED and not _gains(report):  # it only judged a kernel
        state = _GREY
    marks = [_mark(job.status.value.replace("_", " "), state)]
    rows = [("Job", escape(job.id)), ("Rounds", str(job.steps_done))]
    if report is not None:
        marks += _marks(report)
        rows = [*_figures(report), *rows]
    if job.message:
        rows.append(("Outcome", escape(job.message)))
    rows.append(("Files", escape(str(folder))))
    return _card(job.spec.problem.name, marks, _table(rows))


def kernel(source: str, report: EvaluationReport) -> str:
    """A kernel as HTML: its marks, figures and source."""
    text = f"<details><summary>Source</summary><pre>{escape(source)}</pre></details>"
    return _card("Kernel", _marks(report), _table(_figures(report)) + text)


def evidence(report: EvaluationReport) -> str:
    """An evaluation as HTML: its marks, figures and gates."""
    gates = "".join(
        f"<tr><td>{escape(gate.name.value)}</td><td>{_mark(gate.status.value, _GATES.get(gate.status, _GREY))}</td>"
        f'<td style="text-align:left">{escape(gate.detail)}</td></tr>'
        for gate in report.gates
    )
    return _card("Evaluation", _marks(report), _table(_figures(report)) + f"<table>{gates}</table>")


def _marks(report: EvaluationReport) -> list[str]:
    """The verdict (correct and honest), and the gain apart from it; green is for what is surely faster."""
    verdict = _GREEN if report.accepted and _gains(report) else _VERDICTS.get(report.verdict, _GREY)
    marks = [_mark(report.verdict.value.replace("_", " "), verdict)]
    gain = gain_of(report.speedup)
    return marks if gain is None or not report.accepted else [*marks, _mark(*_GAINS[gain])]


def _gains(report: EvaluationReport | None) -> bool:
    return report is not None and gain_of(report.speedup) is Gain.SURELY


def _figures(report: EvaluationReport) -> list[tuple[str, str]]:
    speedup = report.speedup
    rows = [] if report.latency is None else [("Latency", microseconds(report.latency.median_us))]
    for label, value in (("vs eager", speedup.eager), ("vs torch.compile", speedup.compile)):
        if value is not None:
            rows.append((label, ratio(value)))
    if speedup.best_baseline is not None:
        rows.append(("vs the best baseline", f"{ratio(speedup.best_baseline)} {interval(speedup.ci95)}".strip()))
    return rows


def _card(title: str, marks: Iterable[str], body: str) -> str:
    return f"<div><b>{escape(title)}</b> {' '.join(marks)}{body}</div>"


def _table(rows: Iterable[tuple[str, str]]) -> str:
    cells = "".join(f'<tr><th style="text-align:left">{name}</th><td>{value}</td></tr>' for name, value in rows)
    return f"<table>{cells}</table>"


def _mark(text: str, colour: str) -> str:
    style = f"color:{colour};border:1px solid {colour};border-radius:1em;padding:0 .5em"
    return f'<span style="{style}">{escape(text)}</span>'
