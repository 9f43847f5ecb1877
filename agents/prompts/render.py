"""Prompts: files rendered with Jinja2, with everything that came from outside fenced as data.

A prompt has two messages: `system` is stable for a job and a role, so that providers can cache it, `user` holds what
changes from step to step.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import jinja2

from agents.prompts import describe, history, predictions
from agents.prompts.hardware import device_sheet
from agents.prompts.schema_text import schema_text
from agents.prompts.token_budget import SectionTokens, cut, keep, tokens
from services.domain import constraints
from services.domain.candidates import content_hash
from services.domain.chat import AgentRole, AttemptFact, ChatMessage, Facts, ModelLimits
from services.domain.errors import ModelError
from services.domain.evaluations import EvaluationReport, Verdict
from services.domain.events import JsonValue
from services.domain.experiences import RecalledExperience
from services.domain.jobs import AgentsMode, Stage
from services.team_memory.reward import TELLS_OUTCOME, beside_parent, describe_outcome
from services.team_memory.seeds import evidence_of

FOLDER = Path(__file__).parent
PRACTICES = "practices"
"""The task of a Judge who is asked at a job's end what it taught."""
SECTIONS = SectionTokens()
"""What each section of a prompt may take."""
TOLERANCES = {
    "float64": (1e-8, 1e-8, 1e-12),
    "float32": (1e-4, 1e-4, 2e-5),
    "float16": (1e-2, 1e-2, 1.5e-3),
    "bfloat16": (1e-2, 1.6e-2, 1.2e-2),
}
"""(atol, rtol, bound on the whole) by type, as the referee compares; a test holds the two together."""
_PROVEN_IN_REFINE = 1
"""Kernels of other jobs that a Coder reads beside its start point."""
_ALIKE = 2
"""A proven kernel is told as differences where they take at most one part in so many of its text."""
_OUTPUT_SHARE = 4
"""A prompt leaves at least this part of a window to the answer, or as much as the answer may have."""
_UNNAMED = re.compile(r"[^\w ./-]")
"""What the name of a fenced text leaves out: it stands in quotes."""


class Fence:
    """Delimits texts of a job as data.

    The tag is derived from the text itself: whoever writes a text cannot put its own closing tag into it, and the same
    text is always rendered the same, which keeps provider caches and resumed jobs consistent.
    """

    def __init__(self, job_id: str) -> None:
        self._job_id = job_id

    def __call__(self, name: str, text: str) -> str:
        """The text between an opening and a closing tag that it does not contain."""
        tag = self._tag(name, text)
        plain = _UNNAMED.sub("", name)[:160]
        return f'<{tag} name="{plain}">\n{text}\n</{tag}>'

    def _tag(self, name: str, text: str) -> str:
        salt = 0
        while True:
            tag = f"data-{content_hash(f'{self._job_id}/{name}/{salt}/{text}')[:8]}"
            if tag not in text:
                return tag
            salt += 1


def render_system(role: AgentRole, facts: Facts, schema: dict[str, JsonValue]) -> ChatMessage:
    """The part of a role's prompt that is stable for a job."""
    values = {
        "backend": facts.backend,
        "backend_file": _backend_file(facts.backend),
        "device": device_sheet(facts.device),
        "problem": facts.problem,
        "problem_source": facts.problem.source,
        "guidance": facts.guidance.strip(),
        "analysis": "\n".join((cut(describe.analysis(facts.analysis), SECTIONS.analysis), *_constraints(facts))),
        "schema": schema_text(schema),
        "tolerances": _tolerances(facts),
        "backward": facts.analysis.backward,
        "fence": Fence(facts.job_id),
    }
    return ChatMessage(role="system", content=_block(role, "system", values))


def render_user(role: AgentRole, facts: Facts, task: str = "", sections: SectionTokens = SECTIONS) -> ChatMessage:
    """The part of a role's prompt that changes from step to step; `task` where the role does not do its usual work."""
    if role is AgentRole.CODER and facts.plan is not None and facts.stage is Stage.REFINE:
        sections = sections.for_planned_code()
    values = {**_user_values(facts, sections), "task": task}
    if task == PRACTICES:
        values["contrasts"] = history.proven_contrasts(facts.attempts)
    return ChatMessage(role="user", content=_block(role, "user", values))


def render_fitting(
    role: AgentRole, facts: Facts, task: str, limits: ModelLimits, beside: Sequence[ChatMessage]
) -> tuple[ChatMessage, int]:
    """The changing part, with as much of the older matter as the model's window holds, and how many tokens the answer
    may have. `beside` are the prompt's other messages. Raises `ModelError` where the window is too small for what
    cannot be left out."""
    taken = sum(tokens(message.content) for message in beside)
    room = limits.window_tokens - min(limits.output_tokens, limits.window_tokens // _OUTPUT_SHARE)
    for sections in SECTIONS.leaner():
        message = render_user(role, facts, task, sections)
        used = taken + tokens(message.content)
        if used <= room:
            return message, min(limits.output_tokens, limits.window_tokens - used)
    raise ModelError(_too_long(role, facts, limits, used), retryable=False)


def _too_long(role: AgentRole, facts: Facts, limits: ModelLimits, used: int) -> str:
    """What to shorten, the longest part first."""
    start = facts.start_point.source if facts.start_point is not None else None
    parts = {
        "the problem's source": facts.problem.source,
        "the start point's source": start or "",
        "the candidate's source": facts.source or "",
    }
    longest = max(parts, key=lambda name: len(parts[name]))
    return (
        f"the {role.value}'s prompt takes about {used} tokens and the model's window holds {limits.window_tokens} with "
        f"its answer: shorten {longest} (about {tokens(parts[longest])} tokens), or take a model with a larger window "
        "(window_tokens in the provider's settings says how large it is)"
    )


def _tolerances(facts: Facts) -> str:
    """The tolerances of the problem's own types, of float32 where it names none."""
    named = [spec.dtype for item in facts.analysis.operators for spec in item.outputs]
    named += [spec.dtype for spec in facts.analysis.inputs]
    used = [name for name in TOLERANCES if name in named] or ["float32"]
    return "; ".join("{}: atol {:g}, rtol {:g}, bound {:g}".format(name, *TOLERANCES[name]) for name in used)


def _constraints(facts: Facts) -> tuple[str, ...]:
    """What a kernel may rely on; nothing where the problem states nothing."""
    try:
        found, _ = constraints.of_source(facts.problem.source)
    except constraints.ConstraintError:
        return ()
    promised = "; ".join(constraints.sentences(found))
    return (f"constraints, which every call keeps and a kernel may rely on: {promised}",) if promised else ()


@functools.cache
def template_hash(role: AgentRole, backend: str) -> str:
    """Hash of the files that a role's prompt is rendered from."""
    names = (f"{role.value}.md.j2", "frame.md.j2", "rules.md.j2", _backend_file(backend))
    return content_hash("\x1f".join((FOLDER / name).read_text() for name in names))


def _user_values(facts: Facts, sections: SectionTokens) -> dict[str, object]:
    start = facts.start_point
    report = describe.report(facts.report, facts.metrics) if facts.report is not None else None
    return {
        "facts": facts,
        "baselines": describe.baselines(facts.baselines),
        "experiences": _experiences(facts, sections),
        "proven": _proven(facts, sections),
        "brief": cut(facts.brief.text, sections.brief),
        "inspirations": _inspirations(facts, sections),
        "variants": history.variants(facts, sections),
        "contrast": history.contrast(facts, sections),
        "predictions": predictions.describe(predictions.predictions(facts.attempts)),
        "start_source": start.source if start is not None else None,
        "start_report": _start_report(facts, sections, diagnosed=bool(facts.plan and facts.plan.diagnosis)),
        "start_critique": _bounded(_diagnosis(facts), sections.critique),
        "diagnoses": facts.agents is AgentsMode.LEAN,
        "plan": _bounded(describe.plan(facts.plan) if facts.plan is not None else None, sections.plan),
        "source": facts.source or "",
        "report": _bounded(report, _evaluation_room(facts.report, sections)),
        "fence": Fence(facts.job_id),
    }


def _diagnosis(facts: Facts) -> str | None:
    """What is known to be wrong with the start point or to limit it: the plan's word, else the Judge's."""
    if facts.plan is not None and facts.plan.diagnosis:
        return facts.plan.diagnosis
    return facts.start_point.critique if facts.start_point is not None else None


def _experiences(facts: Facts, sections: SectionTokens) -> list[tuple[str, str]]:
    """(name, text) of the recalled experiences in their order; those of least value are left out first."""
    fence = Fence(facts.job_id)
    kept = keep(
        facts.experiences,
        sections.experiences,
        lambda item: fence(_experience_name(item), _experience_text(item)),
        _worth,
    )
    return [(_experience_name(item), cut(_experience_text(item), sections.experiences)) for item in kept]


def _proven(facts: Facts, sections: SectionTokens) -> list[tuple[str, str]]:
    """(name, source) of the accepted kernels that were recalled, whole or not at all, the first that fits of
    each job; none whose text the start point or the trajectory has anyway. In refine it is one: the job has a kernel of
    its own by then, and every other costs as much as that."""
    most = _PROVEN_IN_REFINE if facts.stage is Stage.REFINE else len(facts.experiences)
    shown = {item.source for item in facts.attempts}
    left, found, jobs = sections.proven, list[tuple[str, str]](), set[str | None]()
    for item in facts.experiences:
        code = item.experience.code
        fits = code is not None and item.experience.verdict is Verdict.ACCEPTED and tokens(code) <= left
        if code is None or not fits or code in shown or item.experience.job_id in jobs or len(found) == most:
            continue
        if _outrun(facts, item):
            continue
        jobs.add(item.experience.job_id)
        shown.add(code)
        left -= tokens(code)
        found.append(_proven_text(facts, item, code))
    return found


def _proven_text(facts: Facts, item: RecalledExperience, code: str) -> tuple[str, str]:
    """(name, source) of a proven kernel; where it is much like the start point, the lines that differ instead."""
    start, name = facts.start_point, _proven_name(facts, item)
    if start is not None and start.source:
        changes = history.changes(start.source, code)
        if tokens(changes) * _ALIKE <= tokens(code):
            return f"from the start point to the {name}", changes
    return name, code


def _outrun(facts: Facts, item: RecalledExperience) -> bool:
    """Whether the start point is a faster kernel for the same problem on the same device: then there is nothing to take
    over that its words do not say."""
    start = facts.start_point.report if facts.start_point is not None else None
    own = start.speedup.best_baseline if start is not None and start.accepted else None
    there = facts.device is not None and item.experience.device == facts.device.name
    return there and _same_problem(facts, item) and own is not None and own >= (item.experience.speedup or 0.0)


def _same_problem(facts: Facts, item: RecalledExperience) -> bool:
    return item.experience.text.startswith(facts.analysis.subject)


def _proven_name(facts: Facts, item: RecalledExperience) -> str:
    found = item.experience
    speedup = f" {found.speedup:.2f} times the best baseline" if found.speedup is not None else ""
    where = "this very problem" if _same_problem(facts, item) else f"another {found.family} problem"
    language = f" in {found.backend} not {facts.backend}" if found.backend != facts.backend else ""
    return f"kernel of {_experience_name(item)}{speedup} {where}{language}"


def _worth(item: RecalledExperience) -> tuple[float, float]:
    return (item.value if item.value is not None else 0.0, item.similarity)


def _experience_name(item: RecalledExperience) -> str:
    value = f" value {item.value:.2f}" if item.value is not None else ""
    return f"experience {item.experience.id}{value}"


def _experience_text(item: RecalledExperience) -> str:
    """Title and text; the text alone where it tells a candidate's moves and outcome with the figure of its title."""
    found = item.experience
    figure = "" if found.speedup is None else f"{found.speedup:.2f}×"
    told = TELLS_OUTCOME in found.text and figure in found.text
    text = found.text if told else f"{found.title}\n{found.text}"
    known = evidence_of(found)
    return text if known is None else f"{text}\n({known})"


def _inspirations(facts: Facts, sections: SectionTokens) -> list[tuple[str, str]]:
    """(name, source) of other candidates that the strategy shows; the last ones are left out first."""
    room = sections.inspirations // max(1, len(facts.brief.inspirations))
    return [
        (f"{item.candidate_id} {_outcome(item)}", cut(item.source, room))
        for item in facts.brief.inspirations
        if item.source is not None and room
    ]


def _outcome(item: AttemptFact) -> str:
    return describe_outcome(item.report) if item.report is not None else "not judged"


def _start_report(facts: Facts, sections: SectionTokens, *, diagnosed: bool) -> str | None:
    """The start point's evaluation; where the plan says what its figures mean, an accepted one without its counters."""
    start = facts.start_point
    if start is None or start.report is None:
        return None
    parent = next((item for item in facts.attempts if item.candidate_id == start.parent_id), None)
    beside = beside_parent(start.report, parent.report if parent is not None else None)
    shown = replace(start.report, profile=None) if diagnosed and start.report.accepted else start.report
    text = describe.report(shown) + (f"\n{beside}" if beside else "")
    return cut(text, _evaluation_room(start.report, sections))


def _evaluation_room(report: EvaluationReport | None, sections: SectionTokens) -> int:
    return sections.evaluation if report is None or report.accepted else sections.failure


def _bounded(text: str | None, limit: int) -> str | None:
    return None if text is None else cut(text, limit)


def _block(role: AgentRole, name: str, values: dict[str, object]) -> str:
    template = _environment().get_template(f"{role.value}.md.j2")
    return "".join(template.blocks[name](template.new_context(values))).strip() + "\n"


@functools.cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER),
        auto_reload=False,
        autoescape=False,  # noqa: S701 -- prompts are not HTML: text from outside is fenced
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@functools.cache
def _backend_file(backend: str) -> str:
    name = f"backends/{backend}.md"
    known = backend.isidentifier() and (FOLDER / name).is_file()
    return name if known else "backends/any.md"
