"""The Judge's second opinion: does an accepted candidate cheat? It may only make a verdict stricter."""

from __future__ import annotations

from dataclasses import replace

from agents.roles.replies import InspectionReply, parse_reply
from services.domain.chat import Facts
from services.domain.errors import ReplyError
from services.domain.evaluations import EvaluationReport, Verdict
from services.domain.gates import GateName, GateResult, GateStatus

_MOST_CHARACTERS = 600
"""The evidence travels in the state."""


def read_inspection(text: str, facts: Facts) -> InspectionReply:
    """The opinion in a reply. Raises `ReplyError`, also where an accusation quotes nothing that the source holds: an
    opinion without evidence convicts nobody."""
    reply = parse_reply(InspectionReply, text)
    if reply.cheating and not _quoted(reply.quote, facts.source or ""):
        raise ReplyError("quote: it must be a passage of the candidate's source that shows the cheat, word for word")
    return reply


def doubt_of(reply: InspectionReply | None) -> str | None:
    """Why the candidate is doubted; None where it is not, or nobody could say."""
    if reply is None or not reply.cheating:
        return None
    return " ".join(f"{reply.reason} ({reply.quote})".split())[:_MOST_CHARACTERS]


def inspection_in_brief(reply: InspectionReply) -> str:
    """What people who watch are told."""
    return f"cheating: {reply.reason}" if reply.cheating else "no sign of cheating"


def doubted(report: EvaluationReport, doubt: str) -> EvaluationReport:
    """An accepted report as suspicious, with the doubt as evidence of the integrity gate; any other stays as it is."""
    if not report.accepted:
        return report
    detail = f"second opinion of the Judge: {doubt}"
    gates = tuple(_doubted_gate(gate, detail) if gate.name is GateName.INTEGRITY else gate for gate in report.gates)
    return replace(report, verdict=Verdict.SUSPICIOUS, gates=gates)


def _doubted_gate(gate: GateResult, detail: str) -> GateResult:
    whole = f"{gate.detail}\n{detail}" if gate.detail else detail
    return replace(gate, status=GateStatus.SUSPICIOUS, detail=whole)


def _quoted(quote: str, source: str) -> bool:
    """Whether a passage stands in the source, whatever its white space."""
    wanted = " ".join(quote.split())
    return bool(wanted) and wanted in " ".join(source.split())
