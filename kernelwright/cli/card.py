"""The closing card of a job, and of one evaluation."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table

from kernelwright.cli.output import GAINS
from services.domain.error_words import allowance, number, tensor_of, units, worst_error
from services.domain.evaluations import EvaluationReport
from services.domain.gates import OutputError
from services.domain.jobs import Job, JobStatus
from services.domain.measurements import Gain, Latency, Passes, PassTimes, gain_of
from services.domain.objectives import described as of_input_sets
from services.domain.profiles import Roofline
from services.domain.ratios import baseline_bounds
from services.domain.texts import interval, microseconds, percent, ratio
from services.domain.tunables import described
from services.exports import Export

ERRORS_SHOWN = 6
"""Rows of an evaluation's card: the rest is in its report."""


def result_card(job: Job, report: EvaluationReport | None) -> RenderableType:
    """What came of a job: verdict, speedups with intervals, roofline. `file_lines` go below it."""
    table = facts_table()
    if report is None:
        table.add_row("result", f"[red]no accepted candidate[/] ({job.status.value})")
        if job.message:
            table.add_row("reason", escape(job.message))
    else:
        _add_figures(table, report)
    if job.status is JobStatus.NO_GAIN:
        table.add_row("outcome", f"[yellow]no gain[/]: {escape(job.message or '')}")
    asked = job.spec.budget.rounds
    rounds = str(job.steps_done) if job.steps_done <= asked else f"{asked}, besides the compiler's own kernel"
    table.add_row("rounds", rounds)
    return Panel(table, title=f"{escape(job.spec.problem.name)}  {job.id}", border_style=_colour(report))


def file_lines(export: Export) -> list[str]:
    """Where the files are, a line each: outside the card, so that no path is broken and each can be copied."""
    files = (("kernel", export.kernel), ("report", export.report), ("trajectory", export.trajectory))
    return [f"{name:11} {path}" for name, path in files if path is not None]


def report_card(report: EvaluationReport) -> RenderableType:
    """One evaluation: its gates and figures."""
    gates = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("gate", "status", "seconds", "detail"):
        gates.add_column(name, overflow="fold")
    for gate in report.gates:
        gates.add_row(gate.name.value, gate.status.value, f"{gate.seconds:.2f}", escape(gate.detail))
    figures = facts_table()
    _add_figures(figures, report)
    parts = [gates, "", *([_errors(report.errors), ""] if report.errors else []), figures]
    return Panel(Group(*parts), border_style=_colour(report))


def _errors(errors: Sequence[OutputError]) -> RenderableType:
    """The draws that came closest to their allowance."""
    table = Table(box=None, padding=(0, 2, 0, 0), title=None)
    for name in ("errors", "gate", "dtype", "max abs", "ULP", "rel", "allowance used"):
        table.add_column(name, overflow="fold", justify="left" if name in ("errors", "gate", "dtype") else "right")
    for error in errors[:ERRORS_SHOWN]:
        relative = error.worst.relative if error.worst is not None else None
        figures = (number(error.max_abs), units(error), number(relative), allowance(error.share))
        table.add_row(escape(tensor_of(error)), error.gate.value, error.dtype, *figures)
    rest = len(errors) - ERRORS_SHOWN
    note = f"[dim]and {rest} more, none closer to its allowance (--json has them all)[/]"
    return Group(table, note) if rest > 0 else table


def _colour(report: EvaluationReport | None) -> str:
    """Green is for what is surely faster: a correct kernel that gains nothing is yellow."""
    if report is None or not report.accepted:
        return "red"
    return "green" if gain_of(report.speedup) is Gain.SURELY else "yellow"


def facts_table() -> Table:
    """An empty table of names and what they say."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    return table


def _add_objective(table: Table, report: EvaluationReport) -> None:
    told = report.objective
    if report.self_attested:
        table.add_row("self-attested", f"[yellow]{escape(report.self_attested)}[/]")
    if of := of_input_sets(told):
        table.add_row("figures", escape(of))
    if told is not None and told.collapse is not None:
        table.add_row("collapse", f"[red]{escape(told.collapse)}[/]")


def _add_figures(table: Table, report: EvaluationReport) -> None:
    table.add_row("result", f"[{_colour(report)}]{report.verdict.value}[/]")
    if report.latency is not None:
        table.add_row("latency", f"{microseconds(report.latency.median_us)}  {_spread(report.latency)}")
    _add_objective(table, report)
    if report.passes is not None:
        _add_passes(table, report.passes)
    speedup = report.speedup
    rows = (
        ("vs eager", "eager", speedup.eager),
        ("vs torch.compile", "compile", speedup.compile),
        ("vs max-autotune", "compile_max", speedup.compile_max),
    )
    for label, name, value in rows:
        if value is not None:
            table.add_row(label, f"{ratio(value)}  {interval(baseline_bounds(report, name))}")
    if speedup.best_baseline is not None:
        table.add_row("vs the fastest", f"{ratio(speedup.best_baseline)}  {interval(speedup.ci95)} (95 %, interleaved)")
    if report.accepted and (gain := gain_of(speedup)) is not None:
        table.add_row("gain", GAINS[gain])
    if speedup.seed is not None:
        table.add_row("vs the seed", f"{ratio(speedup.seed)}  {interval(speedup.seed_ci95)}")
    if report.roofline is not None:
        table.add_row("roofline", _roof(report.roofline, len(report.shapes)))
    if report.tuned is not None:
        table.add_row("tuned", f"{escape(described(report.tuned.parameters))} ({report.tuned.tried} settings tried)")
    table.add_row("largest error", escape(worst_error(report)))
    table.add_row("isolation", report.environment.isolation)


def _add_passes(table: Table, passes: Passes) -> None:
    """How a call divides into forward and backward, the baselines' below the candidate's."""
    table.add_row("forward", _pass(passes.candidate.forward_us, passes.candidate.forward_ci95_us))
    table.add_row("backward", _pass(passes.candidate.backward_us, passes.candidate.backward_ci95_us))
    for name, label in (("eager", "eager"), ("compile", "torch.compile"), ("compile_max", "max-autotune")):
        times: PassTimes | None = getattr(passes, name)
        if times is not None:
            forward, backward = microseconds(times.forward_us), _above_zero(times.backward_us, times.backward_ci95_us)
            table.add_row(f"of {label}", f"forward {forward}, backward {backward}")


def _pass(value_us: float, ci95_us: tuple[float, float]) -> str:
    low, high = (microseconds(max(0.0, end)) for end in ci95_us)
    return f"{_above_zero(value_us, ci95_us)}  [dim]{low} to {high} (95 %)[/]"


def _above_zero(value_us: float, ci95_us: tuple[float, float]) -> str:
    """A time; where a busy machine leaves it below zero, how much it can be."""
    return microseconds(value_us) if value_us > 0 else f"at most {microseconds(max(0.0, ci95_us[1]))}"


def _roof(roof: Roofline, sets: int) -> str:
    """The fraction, and what it is a fraction of: the first input set's time where there are several."""
    work = f"{roof.flops / 1e6:.3g} MFLOP" if roof.bound == "compute" else f"{roof.bytes / 1e6:.3g} MB"
    act = "computing" if roof.bound == "compute" else "moving"
    floor = f"{act} {work} takes this device {microseconds(roof.floor_us)} at least"
    of = ", first input set" if sets > 1 else ""
    return f"{percent(roof.fraction)} of the best possible speed{of} ({roof.bound} bound: {floor})"


def _spread(latency: Latency) -> str:
    low, high = latency.ci95_us
    return f"[dim]{microseconds(low)} to {microseconds(high)} (95 %, {latency.samples} calls)[/]"
