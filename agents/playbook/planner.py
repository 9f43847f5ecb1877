"""The Planner's and Coder's decisions: which move next, and the candidate it gives."""

from __future__ import annotations

import functools
import math
import re
from dataclasses import replace

from agents.playbook.errors import NoTemplateError
from agents.playbook.generate import generate
from agents.playbook.lowering import lowered
from agents.playbook.module import write
from agents.playbook.moves import MoveTemplate, path, repertoire
from agents.playbook.remembered import experienced
from agents.playbook.schedule import Schedule, read
from agents.playbook.search import gap, latency, options, size, start
from agents.playbook.triton import planner as triton
from agents.roles.replies import CoderReply, Move, PlannerReply
from services.domain.chat import AttemptFact, Facts
from services.domain.evaluations import Verdict
from services.domain.problems import ProblemAnalysis
from services.domain.texts import microseconds

DRAFT = "a plain and correct draft: one loop nest per operator, one thread"


def plan(facts: Facts) -> PlannerReply:
    """The next step: the first moves that give a kernel not yet tried, else other parameters."""
    if facts.backend == triton.BACKEND:
        return triton.plan(facts)
    reason = unable(facts)
    if reason is not None:
        return PlannerReply(hypothesis=reason, unable=reason)
    facts = replace(facts, start_point=start(facts))
    tried = {kernels(attempt.source) for attempt in facts.attempts} - {None}
    base = read(facts.start_point.source if facts.start_point else None)
    proven = facts.start_point is not None and facts.start_point.from_compiler
    plain = _failed(facts.start_point) or (base is None and experienced(facts) is None and not proven)
    if plain and not facts.branch and source_of(facts.analysis, Schedule()) not in tried:
        return _reply(facts, DRAFT, path(base or Schedule(), Schedule(), repertoire(facts.device)), 1.0)
    moves = choose(facts, base or Schedule(), tried)
    if not moves:
        reason = "the playbook has tried every variant it knows"
        return PlannerReply(hypothesis=reason, unable=reason)
    return _reply(facts, _hypothesis(facts, moves), moves, math.prod(move.gain for move in moves))


def choose(facts: Facts, base: Schedule, tried: set[str | None]) -> tuple[MoveTemplate, ...]:
    """The next moves from a schedule, whose kernels differ from every candidate so far; none when all are tried.

    In a beam the branches take the first such moves, the second, and so on, so that their kernels differ too."""
    ahead = facts.branch
    for moves in options(facts, base):
        schedule = base.apply([move.fact() for move in moves])
        source = source_of(facts.analysis, schedule)
        if schedule == base or source in tried:
            continue
        if not ahead:
            return moves
        ahead -= 1
        tried = tried | {source}
    return ()


def _failed(attempt: AttemptFact | None) -> bool:
    """Whether a candidate was judged and refused: then the plain draft is the repair."""
    return attempt is not None and attempt.report is not None and attempt.report.verdict is Verdict.REJECTED


def code(facts: Facts) -> CoderReply:
    """The candidate: the start point's schedule with the plan's moves applied."""
    if facts.backend == triton.BACKEND:
        return triton.code(facts)
    steps = facts.plan.moves if facts.plan else ()
    start = facts.start_point.source if facts.start_point else None
    schedule = (read(start) or Schedule()).apply(steps)
    names = [*_moves_of(start), *(_words(step.name, step.parameters) for step in steps)]
    title = f"{facts.problem.name}: {facts.analysis.family} kernels for the CPU, written by the playbook."
    source = write(facts.analysis, schedule, title, names)
    summary = ", ".join(_words(step.name, step.parameters) for step in steps) or "plain draft"
    return CoderReply(summary=summary[:500], source=source)


def unable(facts: Facts) -> str | None:
    """Why the playbook cannot help with a problem, or None."""
    return no_template(facts.backend, facts.analysis)


def no_template(backend: str, analysis: ProblemAnalysis) -> str | None:
    """Why no template fits a problem, or None."""
    if backend == triton.BACKEND:
        return triton.no_template(analysis)
    if backend != "cpp":
        return f"the playbook has no templates for the backend {backend}: configure a chat model"
    try:
        source_of(analysis, Schedule())
    except NoTemplateError as error:
        return f"no template for {error}: configure a chat model"
    return None


@functools.lru_cache(maxsize=512)
def source_of(analysis: ProblemAnalysis, schedule: Schedule) -> str:
    """The C++ of a schedule. Raises `NoTemplateError`."""
    return generate(lowered(analysis), schedule)[0].strip()


def kernels(source: str | None) -> str | None:
    """The C++ in a candidate of ours."""
    found = re.search(r'^SOURCE = r"""\n(.*?)"""$', source or "", re.MULTILINE | re.DOTALL)
    return found.group(1).strip() if found else None


def _reply(facts: Facts, hypothesis: str, moves: tuple[MoveTemplate, ...], gain: float) -> PlannerReply:
    return PlannerReply(
        start_point=facts.start_point.candidate_id if facts.start_point else None,
        hypothesis=hypothesis,
        moves=tuple(Move(name=move.name, parameters=dict(move.parameters)) for move in moves),
        expected_gain=gain,
    )


def _hypothesis(facts: Facts, moves: tuple[MoveTemplate, ...]) -> str:
    """The reasons, with the numbers they rest on."""
    parts = [f"{move.name}: {move.reason}" for move in moves]
    if any(move.name == "fuse" for move in moves):
        passed = sum(size(spec) for item in facts.analysis.operators for spec in item.outputs)
        operators, needed = len(facts.analysis.operators), facts.analysis.bytes_moved / 1e6
        parts.append(f"{operators} operators write {passed / 1e6:.0f} MB in all, {needed:.0f} MB would do")
    known = experienced(facts)
    if known is not None and read(facts.start_point.source if facts.start_point else None) is None:
        parts.append("a remembered kernel of this family was made so")
    distance = gap(facts)
    if distance is not None:
        report = facts.start_point.report if facts.start_point else None
        of = " of the first input set" if report is not None and len(report.shapes) > 1 else ""
        now = microseconds(latency(facts.start_point) or 0.0)
        parts.append(f"now {now}, {distance:.1f} times the roofline floor{of}")
    return "; ".join(parts)[:2000]


def _moves_of(source: str | None) -> list[str]:
    """The moves that a start point's docstring lists."""
    found = re.search(r"^moves: (.*?)\nschedule: ", source or "", re.MULTILINE | re.DOTALL)
    text = " ".join(found.group(1).split()) if found else "none"
    return [] if text.startswith("none") else re.findall(r"\w+\([^)]*\)", text)


def _words(name: str, parameters: tuple[tuple[str, object], ...]) -> str:
    return f"{name}({', '.join(f'{key}={value}' for key, value in parameters)})"
