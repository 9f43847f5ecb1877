"""Reads the designs of each family and says what became of one before the real evaluator."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from services.domain.evaluations import EvaluationReport, EvaluationRequest, Verdict
from services.domain.gates import GateStatus
from services.domain.problems import Problem
from tests.adversary.frame import rendered
from tests.repeated import evaluated
from workers.evaluation.evaluator import Evaluator

ROOT = Path(__file__).parent
KINDS = ("cheats", "honest")
HANG_LIMIT_S = 60.0
HEADER = re.compile(r"^# (problem|gate|expect|about|remark): *(.*)$", re.MULTILINE)
AT_MOST = re.compile(r"at most ([\d.]+)x")


@dataclass(frozen=True, kw_only=True)
class Design:
    """One candidate of a family, and what may become of it."""

    family: str
    name: str
    kind: str
    """`cheats` or `honest`."""
    problem: Path
    gates: tuple[str, ...]
    """The gates that may reject a cheat; empty for any of them."""
    expect: str
    """`rejected`, `not accepted` (or suspicious), `at most 1.2x` (or accepted, not surely better), `accepted`,
    `remark …` (or accepted, and the report has this text)."""
    about: str
    remark: str
    """What the generalization gate has to say of a design that is accepted; empty for nothing in particular."""
    source: str
    """The whole candidate: what is in the file, with the frame around it."""

    @property
    def id(self) -> str:
        """How tests and tables call it."""
        return f"{self.family}/{self.name}"


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What the referee made of a design."""

    right: bool
    """Whether that is what has to become of it."""
    text: str
    """Verdict, gate or figure, and the referee's words."""


def designs(kind: str, family: str = "*") -> list[Design]:
    """Every design of a kind, those on the same problem one after the other: they share a referee."""
    found = [read(path, kind) for path in ROOT.glob(f"{family}/{kind}/*.py")]
    return sorted(found, key=lambda one: (str(one.problem), one.family, one.name))


def read(path: Path, kind: str) -> Design:
    """The design in a file. Raises `ValueError` that names the file and says what to change where it is not one."""
    text = path.read_text()
    header = dict(HEADER.findall(text))
    family = path.parent.parent
    if "problem" not in header or "about" not in header:
        raise ValueError(f"{path}: a design begins with `# problem: NAME` and `# about: …`")
    try:
        source = rendered(text)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    own = family / "problems" / f"{header['problem']}.py"
    return Design(
        family=family.name,
        name=path.stem,
        kind=kind,
        problem=own if own.exists() else ROOT / "problems" / own.name,
        gates=tuple(gate.strip() for gate in header["gate"].split(",")) if "gate" in header else (),
        expect=header.get("expect", "rejected" if kind == "cheats" else "accepted"),
        about=header["about"],
        remark=header.get("remark", ""),
        source=source,
    )


def judged(evaluator: Evaluator, design: Design) -> EvaluationReport:
    """The report on a design by every gate; where the machine was too busy, another, as in a job."""
    request = EvaluationRequest(
        evaluation_id=f"eval-{design.name}",
        job_id="adversary",
        team_id="local",
        candidate_id=f"cand-{design.name}",
        problem=Problem(name=design.problem.stem, source=design.problem.read_text()),
        source=design.source,
        device="cpu",
        backend="cpp",
        baselines=("eager",),
        timeout_s=HANG_LIMIT_S,
    )
    return evaluated(evaluator, request)


def outcome(design: Design, report: EvaluationReport) -> Outcome:
    """Whether the report is right about the design."""
    if report.verdict is Verdict.REJECTED:
        assert report.failed_gate is not None
        gate = report.gate(report.failed_gate)
        right = design.kind == "cheats" and (not design.gates or report.failed_gate.value in design.gates)
        text = f"rejected by {report.failed_gate.value}: {gate.detail if gate else ''}"
    elif report.verdict is Verdict.ACCEPTED:
        figure = report.speedup.best_baseline or 0.0
        surely = report.speedup.ci95[0] if report.speedup.ci95 else figure  # a busy machine widens the interval
        remark = design.remark or design.expect.removeprefix("remark ")
        is_told = any(remark in gate.detail for gate in report.gates)
        if design.remark:
            right = is_told and (design.expect == "accepted" or surely <= _bearable(design.expect))
        else:
            right = (is_told and remark != design.expect) or design.expect == "accepted"
            right = right or surely <= _bearable(design.expect)
        text = f"accepted at {figure:.2f}x" + (
            f", without the remark {remark!r}" if design.remark and not is_told else ""
        )
    else:
        right = report.verdict is Verdict.SUSPICIOUS and design.kind == "cheats" and design.expect != "rejected"
        kind = GateStatus.SUSPICIOUS if report.verdict is Verdict.SUSPICIOUS else GateStatus.SKIPPED
        hints = list(dict.fromkeys(gate.detail for gate in report.gates if gate.status is kind))
        text = f"{report.verdict.value}: {'; '.join(hints)}"
    return Outcome(right=right, text=text)


def _bearable(expect: str) -> float:
    """The figure up to which a design that was made harmless may be accepted; below every figure for other designs."""
    found = AT_MOST.fullmatch(expect)
    return float(found[1]) if found else -1.0
