"""A memory travels as JSON lines; what is malformed, oversized or forged is refused line by line."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from services.domain.codec import dumps, to_data
from services.domain.evaluations import Verdict
from services.domain.experiences import Experience, ExperienceKind, ExportedValue, MemoryLine
from services.domain.jobs import Stage
from services.memory import exchange
from services.memory.exchange import Header, ImportPlan, ImportRules, export, imported_id, redact

NOW = datetime(2026, 11, 1, tzinfo=UTC)
HEADER = Header(team_id="blue", space="hashing-1-2", dimensions=2, exported_at=NOW)


def rules(team: str = "green", owners: dict[str, str] | None = None, space: str = "hashing-1-2") -> ImportRules:
    return ImportRules(team_id=team, space=space, dimensions=2, owner_of=(owners or {}).get)


def a_line(name: str = "exp-1", **changes: Any) -> MemoryLine:
    fields: dict[str, Any] = {
        "id": name,
        "team_id": "blue",
        "kind": ExperienceKind.TRACE,
        "stage": Stage.DRAFT,
        "family": "softmax",
        "backend": "cpp",
        "device": "cpu",
        "toolchain": "g++ 12.2",
        "title": "online softmax",
        "text": "one pass over the row",
        "code": "int x;",
        "moves": ("online_softmax",),
        "verdict": Verdict.ACCEPTED,
        "speedup": 2.5,
        "median_us": 80.0,
        "job_id": "job-1",
        "candidate_id": "cand-1",
        "used": ("exp-0", "elsewhere"),
        "created_at": NOW,
    }
    values = (ExportedValue(stage=Stage.DRAFT, value=0.4, visits=9.0),)
    return MemoryLine(experience=Experience(**{**fields, **changes}), vector=(0.6, 0.8), values=values)


def read(content: bytes, how: ImportRules | None = None) -> ImportPlan:
    return exchange.read_import(io.BytesIO(content), how or rules())


def a_file(*lines: MemoryLine | bytes | dict[str, Any]) -> bytes:
    made = [dumps(HEADER).encode() + b"\n"]
    for line in lines:
        text = (
            line if isinstance(line, bytes) else (json.dumps(line) if isinstance(line, dict) else dumps(line)).encode()
        )
        made.append(text + b"\n")
    return b"".join(made)


def test_what_a_team_exports_it_can_import_again_unchanged() -> None:
    lines = [a_line("exp-0"), a_line("exp-1")]
    plan = read(b"".join(export(HEADER, lines)), rules(team="blue", owners={"exp-0": "blue"}))
    assert plan.complete
    assert plan.header == HEADER
    assert list(plan.lines) == lines


def test_another_team_gets_ids_of_its_own_and_no_foreign_jobs() -> None:
    plan = read(a_file(a_line("exp-0", used=()), a_line("exp-1")))
    assert plan.complete
    first, second = (line.experience for line in plan.lines)
    assert {first.team_id, second.team_id} == {"green"}
    assert first.id == imported_id("green", "blue", "exp-0") != "exp-0"
    assert second.used == (first.id,)
    assert (second.job_id, second.candidate_id) == (None, None)
    assert read(a_file(a_line("exp-0", used=()), a_line("exp-1"))) == plan


def test_vectors_of_another_space_are_made_anew() -> None:
    plan = read(a_file(a_line()), rules(space="minilm-l6-v2"))
    assert plan.complete
    assert plan.lines[0].vector is None


def test_a_rejected_candidates_figures_do_not_leave_so_that_the_file_can_be_read() -> None:
    rejected = a_line(verdict=Verdict.REJECTED)
    plan = read(b"".join(export(HEADER, [rejected])))
    assert plan.complete
    assert (plan.lines[0].experience.speedup, plan.lines[0].experience.median_us) == (None, None)


def changed(path: str, value: Any) -> dict[str, Any]:
    document: dict[str, Any] = to_data(a_line())
    at: Any = document
    *way, last = path.split(".")
    for part in way:
        at = at[int(part)] if part.isdigit() else at[part]
    at[last] = value
    return document


REFUSED: dict[str, tuple[bytes | dict[str, Any] | MemoryLine, str]] = {
    "bad UTF-8": (b'{"experience": "\xff"}', "not UTF-8 at byte 16"),
    "no JSON": (b"{", "not JSON"),
    "no object": (b"[]", "expected an object"),
    "blank": (b"", "not JSON"),
    "deep": (b'{"a":' * 5000, "nested too deeply|not JSON"),
    "key twice": (b'{"experience": 1, "experience": 2}', "twice"),
    "NaN": (b'{"vector": [NaN]}', "NaN is no JSON number"),
    "huge integer": (b'{"a": ' + b"9" * 5000 + b"}", "not JSON"),
    "too long": (b'{"a": "' + b"x" * exchange.MAX_LINE_BYTES + b'"}', "longer than"),
    "field missing": ({"experience": {"id": "a"}}, "missing"),
    "wrong type": (changed("experience.title", 7), "expected str"),
    "unknown kind": (changed("experience.kind", "virus"), "virus"),
    "long text": (a_line(text="x" * 20_000), "at most 16384"),
    "many moves": (a_line(moves=("a",) * 300), "moves: more than"),
    "NUL": (a_line(text="a\0b"), "NUL"),
    "half a surrogate": (changed("experience.text", "\ud800"), "surrogate"),
    "strange id": (a_line("../../etc/passwd"), "is no id"),
    "strange provenance": (a_line(used=("a b",)), "is no id"),
    "other team": (a_line(team_id="red"), "belongs to team 'red'"),
    "wrong dimensions": (changed("vector", [1.0]), "vector of 1 dimensions, the header says 2"),
    "infinite vector": (changed("vector", [1e999, 0.0]), "not finite|no JSON number"),
    "sneaked infinity": (changed("vector", [{"float": "inf"}, 0.0]), "not finite"),
    "broken float": (changed("vector", [{"float": "abc"}, 0.0]), "abc"),
    "long vector": (changed("vector", [3.0, 4.0]), "length 5 instead of 1"),
    "value beyond the rewards": (changed("values.0.value", 1.5), "not between -1 and 1"),
    "value without visits": (changed("values.0.visits", 0.0), "it is forged"),
    "negative visits": (changed("values.0.visits", -1.0), "visits"),
    "endless visits": (changed("values.0.visits", {"float": "inf"}), "visits"),
    "unknown stage": (changed("values.0.stage", "win"), "win"),
    "two values": (changed("values", [{"stage": "draft", "value": 0.1, "visits": 3.0}] * 2), "two values"),
    "suspicious": (a_line(verdict=Verdict.SUSPICIOUS, speedup=None, median_us=None), "suspicious are not taken"),
    "speed of a rejected one": (a_line(verdict=Verdict.REJECTED, median_us=None), "speedup without verdict"),
    "zero time": (a_line(median_us=0.0), "not above zero"),
    "no time zone": (changed("experience.created_at", "2026-11-01T00:00:00"), "time zone"),
    "no date": (changed("experience.created_at", "yesterday"), "yesterday"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_bad_line_is_refused_with_its_number_and_reason_and_the_rest_is_still_read(case: str) -> None:
    bad, reason = REFUSED[case]
    plan = read(a_file(a_line("good-1"), bad, a_line("good-2")))
    assert [refusal.line for refusal in plan.refusals] == [3]
    assert any(part in plan.refusals[0].reason for part in reason.split("|"))
    assert not plan.complete
    assert len(plan.lines) == 2


def test_an_id_of_another_teams_experience_is_refused() -> None:
    plan = read(a_file(a_line("exp-1")), rules(owners={"exp-1": "red"}))
    assert [refusal.reason for refusal in plan.refusals] == ["exp-1 is the id of another team's experience"]


def test_an_experience_that_is_there_twice_is_refused_once() -> None:
    plan = read(a_file(a_line("a"), a_line("b"), a_line("a")))
    assert [(refusal.line, "twice" in refusal.reason) for refusal in plan.refusals] == [(4, True)]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (b"{}\n", "no header"),
        (b"\xff\n", "not UTF-8"),
        (dumps(a_line()).encode(), "no header"),
        (json.dumps({**to_data(HEADER), "version": 2}).encode(), "version 2"),
        (json.dumps({**to_data(HEADER), "team_id": "../x"}).encode(), "is no id"),
        (json.dumps({**to_data(HEADER), "exported_at": 5}).encode(), "exported_at"),
    ],
)
def test_a_file_without_a_proper_header_brings_nothing(content: bytes, reason: str) -> None:
    plan = read(content + b"\n" + dumps(a_line()).encode() if content else content)
    assert (plan.header, plan.lines, len(plan.refusals)) == (None, (), 1)
    assert reason in plan.refusals[0].reason


def test_reading_stops_after_many_refusals() -> None:
    plan = read(a_file(*[b"{"] * 500))
    assert len(plan.refusals) == exchange.MAX_REFUSALS


def test_a_file_with_too_many_lines_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "MAX_LINES", 3)
    plan = read(a_file(a_line("a"), a_line("b"), a_line("c"), a_line("d")))
    assert [(refusal.line, "split it" in refusal.reason) for refusal in plan.refusals] == [(4, True)]


@pytest.mark.parametrize(
    "secret",
    [
        "sk-abcdefghijklmnop1234",
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "AKIAABCDEFGHIJKLMNOP",
        "Authorization: Bearer abcdefghijklmnop.qrs",
        "api_key = 'abcdefgh12345'",
        "postgresql://kw:hunter22@db/x",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
    ],
)
def test_secrets_do_not_leave_with_an_export(secret: str) -> None:
    made = b"".join(export(HEADER, [a_line(text=f"before {secret} after", code=f"// {secret}")])).decode()
    assert secret.split()[-1].strip("'") not in made
    assert made.count("looks like a secret") == 2
    assert "before " in made


def test_ordinary_kernel_text_is_not_taken_for_a_secret() -> None:
    text = (
        "std::max(a, b); tl.load(p + o, mask=m); tokens: 512; https://arxiv.org/abs/2603.10846 exp-0123456789abcdef0123"
    )
    assert redact(text) == text
