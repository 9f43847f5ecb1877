"""What people read while a job runs, and the card at its end."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console, RenderableType
from rich.panel import Panel

from kernelwright.cli.card import file_lines, report_card, result_card
from kernelwright.progress import MARGIN, Progress, figures_line
from services.domain.evaluations import EvaluationReport, Verdict
from services.domain.gates import ErrorCheck, GateName, OutputError, WorstElement
from services.domain.jobs import Budget, JobStatus
from services.domain.measurements import Passes, PassTimes, Speedup
from services.domain.profiles import Roofline
from services.exports import Export
from tests.doubles import a_job, a_report

LONG = "tune: neighbouring parameters: " + ", ".join(f"parameter_{number} 1 → 2" for number in range(30))


def a_screen(width: int) -> Console:
    return Console(
        file=io.StringIO(), width=width, force_terminal=True, color_system=None, highlight=False, legacy_windows=False
    )


def a_pipe() -> Console:
    return Console(file=io.StringIO(), highlight=False, soft_wrap=True)


def written(console: Console) -> list[str]:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def shown(kind: str, data: dict[str, object], report: EvaluationReport | None = None, *, width: int = 80) -> list[str]:
    console = a_screen(width)
    Progress(console).show(kind, data, report)
    return written(console)


def drawn(card: RenderableType, width: int = 80) -> str:
    console = a_screen(width)
    console.print(card)
    return "\n".join(written(console))


@pytest.mark.parametrize("width", [80, 120])
def test_what_an_agent_says_is_cut_to_two_aligned_lines_of_a_terminal(width: int) -> None:
    lines = shown("agent.finished", {"agent": "planner", "summary": LONG, "tokens": 0}, width=width)
    assert len(lines) == 2
    assert lines[0].startswith("  planner   tune: neighbouring")
    assert lines[1].startswith(" " * MARGIN + "parameter_")
    assert lines[1].endswith("…")
    assert all(len(line) <= width for line in lines)


def test_a_program_that_reads_gets_every_word_in_one_line() -> None:
    console = a_pipe()
    Progress(console).show("agent.finished", {"agent": "planner", "summary": LONG, "tokens": 12})
    assert written(console) == [f"  planner   {LONG} (12 tokens)"]


def test_a_kernel_that_no_agent_wrote_says_whose_it_is() -> None:
    console = a_pipe()
    progress = Progress(console)
    for step, agent in ((0, None), (1, "coder")):
        progress.show("step.started", {"step": step, "stage": "draft"})
        if agent is not None:
            progress.show("agent.finished", {"agent": agent, "summary": "fuse"})
        progress.show("candidate.created", {"step": step, "summary": "the compiler's own code"})
    assert [line for line in written(console) if "own code" in line] == ["  kernel    the compiler's own code"]


def test_the_compilers_kernel_is_no_round_of_the_budget() -> None:
    job = a_job(budget=Budget(rounds=3))
    assert "3, besides the compiler's own kernel" in drawn(result_card(replace(job, steps_done=4), a_report()))
    assert "besides" not in drawn(result_card(replace(job, steps_done=3), a_report()))


def test_brackets_in_words_of_models_are_no_markup() -> None:
    assert shown("agent.finished", {"agent": "coder", "summary": "[bold]x[/bold] a[0]"}) == [
        "  coder     [bold]x[/bold] a[0]"
    ]


@pytest.mark.parametrize("width", [80, 120])
def test_an_accepted_candidate_takes_two_lines(width: int) -> None:
    report = replace(
        a_report(median_us=2057.0),
        speedup=Speedup(eager=12.95, compile=11.34, best_baseline=11.34),
        roofline=Roofline(bytes=33_600_000, flops=1, floor_us=1720.0, fraction=0.836, bound="compute"),
    )
    lines = shown("evaluation.finished", {"verdict": "accepted", "detail": None}, report, width=width)
    assert lines == [
        f"  referee   accepted: {len(report.gates)} gates passed",
        "            2.06 ms, 12.95× eager, 11.34× compile, 84 % of the compute roof",
    ]


def test_a_rejected_candidate_names_its_gate_and_the_evidence() -> None:
    report = a_report(Verdict.REJECTED, failed_gate=GateName.CORRECTNESS, detail="row 3 is wrong")
    lines = shown("evaluation.finished", {"verdict": "rejected", "detail": "correctness: row 3 is wrong\n"}, report)
    assert lines == [
        "  referee   rejected at the gate correctness (gates passed: 3)",
        "            correctness: row 3 is wrong",
    ]


def test_a_suspicious_candidate_names_the_doubting_gate() -> None:
    lines = shown("evaluation.finished", {"verdict": "suspicious", "detail": None}, a_report(Verdict.SUSPICIOUS))
    assert lines[0].startswith("  referee   suspicious at ")


def test_a_step_without_a_candidate_says_why_and_what_is_best_so_far() -> None:
    reason = "no plan: the playbook has tried every variant it knows"
    assert shown("step.finished", {"failure": reason, "best_speedup": 1.34}) == [
        f"  stopped   {reason}",
        "  best      1.34× the fastest baseline",
    ]


def test_words_that_were_just_said_are_not_said_again() -> None:
    console = a_screen(80)
    progress = Progress(console)
    progress.show("agent.finished", {"agent": "planner", "summary": "no template for aten.conv2d"})
    progress.show("step.finished", {"failure": "no plan: no template for aten.conv2d", "best_speedup": None})
    assert written(console) == ["  planner   no template for aten.conv2d"]


def test_an_event_of_a_kind_from_the_future_is_passed_over() -> None:
    assert shown("candidate.praised", {}) == []


def test_validation_shows_the_problem_and_the_figures_to_beat() -> None:
    baselines = {"eager": {"median_us": 12400.0}, "compile": {"median_us": 4210.0}, "compile_max": None}
    data = {"family": "norm", "operators": ["a"] * 6, "bytes": 33.6e6, "floor_us": 1720.0, "baselines": baselines}
    assert shown("job.validated", data) == [
        "validated  norm: 6 operators, 33.6 MB, roofline floor 1.72 ms",
        "            to beat: eager 12.4 ms, compile 4.21 ms",
    ]


def test_figures_without_a_roofline_are_only_times() -> None:
    report = replace(a_report(), roofline=None, speedup=Speedup())
    assert figures_line(report) == "100 µs"


def test_the_fastest_baseline_is_told_where_it_is_another_on_each_input_set() -> None:
    report = replace(a_report(), roofline=None, speedup=Speedup(eager=2.27, compile=2.72, best_baseline=1.36))
    assert figures_line(report) == "100 µs, 2.27× eager, 2.72× compile, 1.36× the fastest"


def test_the_card_says_what_the_roofline_fraction_is_a_fraction_of() -> None:
    report = replace(
        a_report(median_us=2057.0),
        roofline=Roofline(bytes=33_600_000, flops=1, floor_us=1720.0, fraction=0.836, bound="memory"),
    )
    text = drawn(result_card(a_job(), report), 120)
    assert "84 % of the best possible speed (memory bound: moving 33.6 MB takes this device 1.72 ms at least)" in text
    assert "accepted" in text


def test_the_card_of_an_unsolved_job_gives_the_reason() -> None:
    job = replace(
        a_job(), status=JobStatus.UNSOLVED, message="no template for aten.convolution: configure a chat model"
    )
    text = drawn(result_card(job, None), 100)
    assert "no accepted candidate (unsolved)" in text
    assert "no template for aten.convolution: configure a chat model" in text


def test_paths_are_whole_lines_however_long_they_are() -> None:
    folder = Path("/a/very/long/path") / ("x" * 100)
    export = Export(folder=folder, kernel=folder / "kernel.py", report=None, trajectory=folder / "trajectory.jsonl")
    assert file_lines(export) == [f"kernel      {folder}/kernel.py", f"trajectory  {folder}/trajectory.jsonl"]


def test_the_card_of_an_evaluation_has_a_line_per_gate() -> None:
    report = a_report(Verdict.REJECTED, failed_gate=GateName.LOAD, detail="ModelNew has no parameter [weight]")
    text = drawn(report_card(report), 100)
    for gate in report.gates:
        assert gate.name.value in text
    assert "ModelNew has no parameter [weight]" in text
    assert "rejected" in text


def an_error(draw: str, share: float | None, gate: GateName = GateName.CORRECTNESS) -> OutputError:
    worst = WorstElement(at=(3,), absolute=2.4e-6, relative=1e-6, ulp=5, allowed=5e-4, share=0.0048)
    known = worst if share is not None else None
    check = ErrorCheck.WHOLE if share is not None else ErrorCheck.FINITE
    return OutputError(
        gate=gate,
        draw=draw,
        tensor="output",
        dtype="float32",
        max_abs=2.4e-6 if known else None,
        worst=known,
        relative=1e-6,
        bound=1e-4,
        share=share,
        check=check,
    )


def test_the_card_says_how_close_the_worst_error_came() -> None:
    report = replace(a_report(), errors=(an_error("tied values", 0.0104), an_error("own values", 0.001)))
    text = drawn(result_card(a_job(), report), 120)
    assert "1.0 % of the allowance: 2.4e-06 absolute, 5 ULP (correctness, tied values)" in text


def test_the_card_of_an_older_report_says_that_errors_were_not_recorded() -> None:
    assert "not recorded" in drawn(result_card(a_job(), a_report()), 120)
    assert "no outputs were compared" in drawn(result_card(a_job(), replace(a_report(), errors=())), 120)


def test_the_card_of_an_evaluation_lists_the_draws_that_came_closest() -> None:
    report = a_report(Verdict.REJECTED, failed_gate=GateName.CORRECTNESS)
    errors = (
        an_error("wide values", None),
        an_error("tiny values", 2.5),
        *[an_error(f"{n} values", 0.1) for n in range(6)],
    )
    text = drawn(report_card(replace(report, errors=errors)), 120)
    assert "wide values" in text
    assert "not finite" in text
    assert "250 %" in text
    assert "5 values" not in text
    assert "and 2 more, none closer to its allowance" in text


def test_the_card_of_a_problem_with_a_backward_pass_divides_the_call() -> None:
    def times(forward: float, backward: float, interval: tuple[float, float]) -> PassTimes:
        return PassTimes(
            forward_us=forward,
            forward_ci95_us=(0.9 * forward, 1.1 * forward),
            backward_us=backward,
            backward_ci95_us=interval,
            both_us=forward + backward,
        )

    passes = Passes(
        candidate=times(40, 60, (55, 65)), eager=times(100, 250, (240, 260)), compile=times(90, -5, (-20, 30))
    )
    text = drawn(report_card(replace(a_report(), passes=passes)), 120)
    assert re.search(r"forward +40 µs +36 µs to 44 µs \(95 %\)", text)
    assert re.search(r"backward +60 µs +55 µs to 65 µs \(95 %\)", text)
    assert re.search(r"of eager +forward 100 µs, backward 250 µs", text)
    assert re.search(r"of torch.compile +forward 90 µs, backward at most 30 µs", text)
    assert "forward" not in drawn(report_card(a_report()), 120)


@pytest.mark.parametrize(
    ("low", "high", "colour", "word"),
    [(1.01, 1.2, "green", "faster"), (0.98, 1.2, "yellow", "within noise"), (0.4, 0.5, "yellow", "slower")],
)
def test_only_a_kernel_that_is_surely_faster_is_green(low: float, high: float, colour: str, word: str) -> None:
    report = a_report(median_us=100, eager_us=110)
    report = replace(report, speedup=replace(report.speedup, ci95=(low, high)))
    for card in (result_card(a_job(), report), report_card(report)):
        assert isinstance(card, Panel)
        assert card.border_style == colour
        assert f"gain  {word}" in " ".join(drawn(card, 100).split()).replace("gain ", "gain  ")


@pytest.mark.parametrize("gain", ["surely", "within_noise", "none", None])
def test_a_round_is_green_only_where_its_kernel_is_surely_faster(gain: str | None) -> None:
    console = Console(file=io.StringIO(), force_terminal=True, color_system="standard", highlight=False)
    Progress(console).show("evaluation.finished", {"verdict": "accepted", "gain": gain}, a_report())
    assert any("\x1b[32maccepted" in line for line in written(console)) is (gain == "surely")
