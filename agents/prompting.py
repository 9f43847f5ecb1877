"""Prompts: files rendered with Jinja2, with everything that came from outside fenced as data.

A prompt has two messages: `system` is stable for a job and a role, so that providers can cache it, `user` holds what
changes from step to step.
"""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path

import jinja2

from agents import describe, history
from agents.trimming import SectionTokens, cut, keep
from services.domain.candidates import content_hash
from services.domain.chat import AgentRole, AttemptFact, ChatMessage, Facts
from services.domain.events import JsonValue
from services.domain.experiences import RecalledExperience
from services.learning import describe_outcome

FOLDER = Path(__file__).parent / "prompts"
SECTIONS = SectionTokens()
_UNNAMED = re.compile(r"[^\w ./-]")
"""What the name of a fenced text leaves out: it stands in quotes."""
"""What each section of a prompt may take."""


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
        return f'<{tag} name="{_plain(name)}">\n{text}\n</{tag}>'

    def _tag(self, name: str, text: str) -> str:
        salt = 0
        while True:
            tag = f"data-{content_hash(f'{self._job_id}/{name}/{salt}/{text}')[:16]}"
            if tag not in text:
                return tag
            salt += 1


def render_system(role: AgentRole, facts: Facts, schema: dict[str, JsonValue]) -> ChatMessage:
    """The part of a role's prompt that is stable for a job."""
    values = {
        "backend_file": _backend_file(facts.backend),
        "device": describe.device(facts.device),
        "problem": facts.problem,
        "problem_source": cut(facts.problem.source, SECTIONS.problem),
        "analysis": cut(describe.analysis(facts.analysis), SECTIONS.analysis),
        "schema": json.dumps(schema, sort_keys=True),
        "fence": Fence(facts.job_id),
    }
    return ChatMessage(role="system", content=_block(role, "system", values))


def render_user(role: AgentRole, facts: Facts, task: str = "") -> ChatMessage:
    """The part of a role's prompt that changes from step to step; `task` where the role does not do its usual work."""
    values = {**_user_values(facts), "task": task}
    return ChatMessage(role="user", content=_block(role, "user", values))


@functools.cache
def template_hash(role: AgentRole, backend: str) -> str:
    """Hash of the files that a role's prompt is rendered from."""
    names = (f"{role.value}.md.j2", "frame.md.j2", _backend_file(backend))
    return content_hash("\x1f".join((FOLDER / name).read_text() for name in names))


def _plain(name: str) -> str:
    return _UNNAMED.sub("", name)[:80]


def _user_values(facts: Facts) -> dict[str, object]:
    start = facts.start_point
    report = describe.report(facts.report, facts.metrics) if facts.report is not None else None
    return {
        "facts": facts,
        "baselines": describe.baselines(facts.baselines),
        "experiences": _experiences(facts),
        "brief": cut(facts.brief.text, SECTIONS.brief),
        "inspirations": _inspirations(facts),
        "variants": history.variants(facts, SECTIONS),
        "contrast": history.contrast(facts, SECTIONS),
        "predictions": history.record(facts),
        "start_source": _bounded(start.source if start is not None else None, SECTIONS.start_point),
        "start_report": _bounded(_report_of(start), SECTIONS.evaluation),
        "start_critique": _bounded(start.critique if start is not None else None, SECTIONS.critique),
        "plan": _bounded(describe.plan(facts.plan) if facts.plan is not None else None, SECTIONS.plan),
        "source": cut(facts.source or "", SECTIONS.start_point),
        "report": _bounded(report, SECTIONS.evaluation),
        "fence": Fence(facts.job_id),
    }


def _experiences(facts: Facts) -> list[tuple[str, str]]:
    """(name, text) of the recalled experiences in their order; those of least value are left out first."""
    kept = keep(facts.experiences, SECTIONS.experiences, _experience_text, _worth)
    return [(_experience_name(item), cut(_experience_text(item), SECTIONS.experiences)) for item in kept]


def _worth(item: RecalledExperience) -> tuple[float, float]:
    return (item.value if item.value is not None else 0.0, item.similarity)


def _experience_name(item: RecalledExperience) -> str:
    value = f" value {item.value:.2f}" if item.value is not None else ""
    return f"experience {item.experience.id}{value}"


def _experience_text(item: RecalledExperience) -> str:
    return f"{item.experience.title}\n{item.experience.text}"


def _inspirations(facts: Facts) -> list[tuple[str, str]]:
    """(name, source) of other candidates that the strategy shows; the last ones are left out first."""
    room = SECTIONS.inspirations // max(1, len(facts.brief.inspirations))
    return [
        (f"{item.candidate_id} {_outcome(item)}", cut(item.source, room))
        for item in facts.brief.inspirations
        if item.source is not None
    ]


def _outcome(item: AttemptFact) -> str:
    return describe_outcome(item.report) if item.report is not None else "not judged"


def _report_of(start: AttemptFact | None) -> str | None:
    return describe.report(start.report) if start is not None and start.report is not None else None


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
