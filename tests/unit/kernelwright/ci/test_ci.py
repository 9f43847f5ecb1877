"""`kernelwright ci` without a machine that judges: settings, rules, the table, the comment."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from kernelwright.ci.comment import MARK, keep_comment
from kernelwright.ci.plan import Task, read_plan, with_budgets
from kernelwright.ci.rules import Colour, Judged, Result, decide, exit_code
from kernelwright.ci.summary import markdown, workflow_commands
from kernelwright.cli import execute
from services.domain.errors import ConfigurationError
from services.domain.evaluations import Verdict
from services.domain.jobs import Budget
from tests.doubles import a_report

ROOT = Path(__file__).resolve().parents[4]
SETTINGS = """
[ci]
min_speedup = 1.5
[[kernels]]
problem = "p.py"
kernel = "k.py"
[[kernels]]
problem = "p.py"
min_speedup = 2.0
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    for name in ("p.py", "k.py"):
        (tmp_path / name).write_text("")
    (tmp_path / "kernelwright.toml").write_text(SETTINGS)
    return tmp_path


def test_json_names_the_files_and_is_all_that_standard_output_gets(
    repository: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    settings, nobody = str(repository / "kernelwright.toml"), "http://127.0.0.1:9"
    assert execute(["ci", "--json", "--config", settings, "--server", nobody]) == 2
    printed = capsys.readouterr()
    evaluation, search = json.loads(printed.out)
    assert evaluation["task"]["problem"] == str(repository / "p.py")
    assert (evaluation["task"]["kernel"], search["task"]["kernel"]) == (str(repository / "k.py"), None)
    assert (evaluation["colour"], evaluation["judged"]["failed"]) == ("unknown", True)
    assert "::warning file=k.py" in printed.err


def a_task(repository: Path, **changes: object) -> Task:
    return replace(read_plan(repository / "kernelwright.toml").tasks[0], **changes)  # type: ignore[arg-type]


def test_entries_take_what_they_do_not_say_from_the_defaults(repository: Path) -> None:
    first, second = read_plan(repository / "kernelwright.toml").tasks
    assert (first.min_speedup, first.kernel) == (1.5, repository / "k.py")
    assert (second.min_speedup, second.kernel, second.shown) == (2.0, None, "p.py")


def test_budgets_of_the_command_line_go_before_the_files(repository: Path) -> None:
    text = SETTINGS.replace("min_speedup = 1.5", "min_speedup = 1.5\ntokens = 5000\ndollars = 2.5\nrounds = 3")
    (repository / "kernelwright.toml").write_text(text)

    plan = with_budgets(read_plan(repository / "kernelwright.toml"), tokens=900, dollars=None, device_s=60.0)

    assert [task.budget for task in plan.tasks] == [Budget(rounds=3, tokens=900, dollars=2.5, device_s=60.0)] * 2


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[ci]\nmin_speedup = 'fast'\n[[kernels]]\nproblem = 'p.py'\n", "ci.min_speedup"),
        ("[[kernels]]\nproblem = 'p.py'\nspeed = 2\n", "kernels.0.speed"),
        ("[ci]\n", "kernels: Field required"),
        ("[ci\n", "cannot be read"),
        ("[[kernels]]\nproblem = 'missing.py'\n", "missing.py: no such file"),
        ("[[kernels]]\nproblem = 'p.py'\n[[kernels]]\nproblem = 'p.py'\n", "name the same file"),
    ],
)
def test_settings_with_a_fault_are_refused_with_the_place(repository: Path, text: str, complaint: str) -> None:
    (repository / "kernelwright.toml").write_text(text)
    with pytest.raises(ConfigurationError, match=complaint.replace(".", r"\.")):
        read_plan(repository / "kernelwright.toml")


def test_a_record_that_is_none_is_refused(repository: Path) -> None:
    (repository / "kernelwright.lock.json").write_text('{"kernels": [1]}')
    with pytest.raises(ConfigurationError, match="not a record"):
        read_plan(repository / "kernelwright.toml")


def test_a_kernel_below_its_threshold_is_red(repository: Path) -> None:
    result = decide(a_task(repository, min_speedup=2.5), Judged(report=a_report(median_us=100, eager_us=200)))
    assert result.colour is Colour.RED
    assert "2.00× the fastest baseline is below the threshold 2.50×" in result.reason


def bounded(low: float, high: float) -> Judged:
    report = a_report(median_us=100, eager_us=110)
    return Judged(report=replace(report, speedup=replace(report.speedup, ci95=(low, high))))


@pytest.mark.parametrize(
    ("least", "bounds", "colour", "words"),
    [
        (1.0, (1.01, 1.2), Colour.GREEN, "accepted"),
        (1.0, (0.99, 1.2), Colour.RED, "may be below the threshold 1.00×: the interval starts at 0.99×"),
        (0.9, (0.92, 1.2), Colour.HOLDS, "not surely faster"),
        (0.9, (0.85, 1.2), Colour.RED, "may be below"),
        (0.9, (1.01, 1.2), Colour.GREEN, "accepted"),
    ],
)
def test_the_lower_end_of_the_interval_decides(
    repository: Path, least: float, bounds: tuple[float, float], colour: Colour, words: str
) -> None:
    result = decide(a_task(repository, min_speedup=least), bounded(*bounds))
    assert (result.colour, exit_code([result])) == (colour, int(colour is Colour.RED))
    assert words in result.reason
    assert ("✅" in markdown([result])) is (bounds[0] > 1)
    assert len(workflow_commands([result])) == int(colour is Colour.RED)


def test_a_kernel_that_lost_more_than_noise_and_tolerance_is_red(repository: Path) -> None:
    task = a_task(repository, recorded=3.0)
    assert decide(task, Judged(report=a_report(median_us=100, eager_us=200))).reason.startswith("regressed: 2.00×")
    assert decide(replace(task, recorded=2.1), Judged(report=a_report(eager_us=200))).colour is Colour.GREEN


@pytest.mark.parametrize(
    ("verdict", "colour", "code"),
    [
        (Verdict.ACCEPTED, Colour.GREEN, 0),
        (Verdict.REJECTED, Colour.RED, 1),
        (Verdict.SUSPICIOUS, Colour.RED, 1),
        (Verdict.INFRASTRUCTURE_ERROR, Colour.UNKNOWN, 2),
    ],
)
def test_the_verdict_decides_first(repository: Path, verdict: Verdict, colour: Colour, code: int) -> None:
    result = decide(a_task(repository), Judged(report=a_report(verdict)))
    assert (result.colour, exit_code([result])) == (colour, code)


def test_a_server_that_fails_is_nobodys_fault(repository: Path) -> None:
    assert decide(a_task(repository), Judged(report=None, message="no answer", failed=True)).colour is Colour.UNKNOWN


def a_red(repository: Path, detail: str) -> Result:
    return decide(a_task(repository), Judged(report=a_report(Verdict.REJECTED, detail=detail)))


def test_hostile_text_stays_inside_its_cell_and_its_annotation(repository: Path) -> None:
    result = a_red(repository, "a | b\n<script>\n::error::forged")
    table = markdown([result]).splitlines()
    row = next(line for line in table if "k.py" in line)
    assert r"a \| b &lt;script>" in row
    assert len(workflow_commands([result])) == 1
    assert "\n" not in workflow_commands([result])[0]


def test_only_what_is_not_green_is_annotated(repository: Path) -> None:
    green = decide(a_task(repository), Judged(report=a_report()))
    lines = workflow_commands([green, a_red(repository, "wrong values")])
    assert len(lines) == 1
    assert lines[0].startswith("::error file=k.py,line=1,title=Kernelwright%3A k::rejected at correctness")


class GitHub:
    """Keeps comments the way GitHub's REST API does."""

    def __init__(self) -> None:
        self.comments = [{"id": number, "body": "hello"} for number in range(1, 131)]

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.headers["Authorization"] != "Bearer token":
            return httpx.Response(401)
        if request.method == "GET":
            page = int(request.url.params["page"])
            return httpx.Response(200, json=self.comments[(page - 1) * 100 : page * 100])
        body = json.loads(request.content)["body"]
        if request.method == "POST":
            assert request.url.path == "/repos/o/r/issues/7/comments"
            self.comments.append({"id": 1000, "body": body})
            return httpx.Response(201, json={})
        next(one for one in self.comments if one["id"] == int(request.url.path.rsplit("/", 1)[1]))["body"] = body
        return httpx.Response(200, json={})


def test_one_comment_is_made_and_then_kept() -> None:
    github = GitHub()
    environment = {"GITHUB_TOKEN": "token", "GITHUB_REPOSITORY": "o/r", "GITHUB_REF": "refs/pull/7/merge"}
    for text in ("first", "second"):
        keep_comment(text, environment, httpx.MockTransport(github))
    assert [one["body"] for one in github.comments if str(one["body"]).startswith(MARK)] == [f"{MARK}\nsecond"]


def test_outside_a_pull_request_the_comment_says_so() -> None:
    environment = {"GITHUB_TOKEN": "token", "GITHUB_REPOSITORY": "o/r", "GITHUB_REF": "refs/heads/main"}
    with pytest.raises(ConfigurationError, match="pull requests only"):
        keep_comment("text", environment, httpx.MockTransport(GitHub()))
