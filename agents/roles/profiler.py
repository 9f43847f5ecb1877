"""The Profiler: a reading of an evaluation's figures."""

from __future__ import annotations

from dataclasses import dataclass

from agents.roles.replies import ProfilerReply, parse_reply
from services.domain.chat import Facts
from services.domain.evaluations import EvaluationReport

_MOST_CHARACTERS = 80
"""A bottleneck's class is a word or two; it travels in the state."""


_MOST_EVIDENCE = 600
_MOST_METRICS = 8
"""The Judge reads a selection."""


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """What the Profiler made of an evaluation."""

    bottleneck: str
    """A class of limits, in a word or two."""
    metrics: tuple[str, ...] = ()
    """Names of the counters that matter."""
    evidence: str = ""
    """What it rests on."""


def measured_diagnosis(report: EvaluationReport | None) -> Diagnosis | None:
    """What the measurement says by itself where there are no counters to choose from; None where there are: then the
    Profiler is asked."""
    profile = report.profile if report is not None else None
    if profile is None:
        return Diagnosis(bottleneck="")
    if len(profile.metrics) > _MOST_METRICS:
        return None
    return Diagnosis(bottleneck=profile.bottleneck, evidence=profile.reason)


def read_diagnosis(text: str, facts: Facts) -> Diagnosis:
    """The diagnosis in a reply, with those of its metrics that were measured. Raises `ReplyError`."""
    reply = parse_reply(ProfilerReply, text)
    profile = facts.report.profile if facts.report is not None else None
    known = profile.metrics if profile is not None else {}
    metrics = tuple(dict.fromkeys(name for name in reply.metrics if name in known))
    return Diagnosis(
        bottleneck=" ".join(reply.bottleneck.split())[:_MOST_CHARACTERS],
        metrics=metrics[:_MOST_METRICS],
        evidence=" ".join(reply.evidence.split())[:_MOST_EVIDENCE],
    )
