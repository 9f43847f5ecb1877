"""Memories as JSON lines: written for another team or a release, and read back with nothing taken on trust.

The first line is the header, every further line one experience with its vector and its values. Reading gives a plan:
what would be imported, and a reason for every line that is refused. Callers store a plan only when nothing was refused,
in one transaction, so that nothing is ever half imported. Imported values become `PriorEntry`s: where learning starts.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, BinaryIO

from services.domain.candidates import content_hash
from services.domain.codec import CodecError, dumps, from_data
from services.domain.evaluations import Verdict
from services.domain.experiences import Experience, ExportedValue, MemoryLine
from services.domain.jobs import Stage
from services.domain.referees import CURRENT
from services.memory.values import ValueRules

FORMAT = "kernelwright-memory"
VERSION = 1
MAX_LINE_BYTES = 512 * 1024
MAX_LINES = 200_000
MAX_REFUSALS = 100
"""Refused lines that are listed; reading stops there."""
MAX_VISITS = 1e6
LONGEST = {
    "title": 300,
    "text": 16_384,
    "code": 131_072,
    "toolchain": 200,
    "family": 100,
    "backend": 100,
    "device": 100,
}
"""Characters of an experience's fields."""
MAX_LIST = 256
"""Moves, and ids of experiences in use."""

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}")
_SECRETS = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|\b(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}|\b(?:ghp|gho|ghs|github_pat|glpat|xox[abprs]|hf)[_-][A-Za-z0-9_-]{16,}"
    r"|\bAKIA[0-9A-Z]{16}\b|\bAIza[A-Za-z0-9_-]{30,}|\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*"
    r"|(?i:\bbearer\s+[A-Za-z0-9._~+/-]{16,})|(?i:\b(?:api[_-]?key|password|secret|token)\b\s*[=:]\s*[\"']?[^\s\"']{8,})"
    r"|\b[a-z][a-z0-9+]*://[^\s/:@]+:[^\s/@]+@",
    re.DOTALL,
)


@dataclass(frozen=True, kw_only=True)
class Header:
    """First line of a file."""

    format: str = FORMAT
    version: int = VERSION
    team_id: str
    """Whose memory it is."""
    space: str | None = None
    """Name of the embedder that made the vectors; None when there are none."""
    dimensions: int | None = None
    exported_at: datetime
    left_out: int = 0
    """Accepted experiences that are missing: only an older referee had accepted them."""


@dataclass(frozen=True, kw_only=True)
class LineRefusal:
    """A line that cannot be imported."""

    line: int
    """1-based; the header is line 1."""
    reason: str


@dataclass(frozen=True, kw_only=True)
class ImportPlan:
    """What a file would bring. Store it only when `refusals` is empty."""

    header: Header | None
    lines: tuple[MemoryLine, ...]
    """With the importing team's id; ids and provenance renamed when another team exported them."""
    refusals: tuple[LineRefusal, ...]

    @property
    def complete(self) -> bool:
        """Whether everything in the file can be imported."""
        return self.header is not None and not self.refusals


@dataclass(frozen=True, kw_only=True)
class ImportRules:
    """Who imports, and what it may clash with."""

    team_id: str
    space: str
    """Name of the importing memory's embedder; vectors of another space are dropped and made anew."""
    dimensions: int
    owner_of: Callable[[str], str | None]
    """Team that an experience id belongs to, None when it is not known."""
    alpha: float = ValueRules().alpha
    """Largest step with which values are learned: what n visits can make of a value."""


class _RefusedError(Exception):
    """Why a line is refused."""


def export(header: Header, lines: Iterable[MemoryLine]) -> Iterator[bytes]:
    """The file's lines, each with its newline, secrets cut out of every text."""
    yield dumps(header).encode() + b"\n"
    for line in lines:
        yield dumps(replace(line, experience=_exported(line.experience))).encode() + b"\n"


def _exported(experience: Experience) -> Experience:
    """Without secrets, and with figures of speed only where they were accepted, as a reader demands."""
    accepted = experience.verdict is Verdict.ACCEPTED
    return replace(
        experience,
        title=redact(experience.title),
        text=redact(experience.text),
        code=None if experience.code is None else redact(experience.code),
        speedup=experience.speedup if accepted else None,
        median_us=experience.median_us if accepted else None,
    )


def redact(text: str) -> str:
    """The text with everything cut out that looks like a key, a token, or a password."""
    return _SECRETS.sub("[removed: looks like a secret]", text)


def imported_id(team_id: str, source_team: str, experience_id: str) -> str:
    """The id that an experience of another team gets here: the same at every import, nobody else's."""
    return f"exp-{content_hash(f'{team_id}/{source_team}/{experience_id}')[:20]}"


def read_import(stream: BinaryIO, rules: ImportRules) -> ImportPlan:
    """Read a whole file (a binary stream) without ever holding more than one line beside the plan."""
    header: Header | None = None
    lines: dict[str, MemoryLine] = {}
    refusals: list[LineRefusal] = []
    for number, raw in _raw_lines(stream):
        try:
            if number > MAX_LINES:
                raise _RefusedError(f"the file has more than {MAX_LINES} lines; split it")
            if header is None:
                header = _header(_parse(raw))
                continue
            line = _line(_parse(raw), header, rules)
            if line.experience.id in lines:
                raise _RefusedError(f"experience {line.experience.id} is in the file twice")
            lines[line.experience.id] = line
        except _RefusedError as error:
            refusals.append(LineRefusal(line=number, reason=str(error)))
            if header is None or number > MAX_LINES or len(refusals) >= MAX_REFUSALS:
                break
    if header is None and not refusals:
        refusals.append(LineRefusal(line=1, reason="the file is empty"))
    if header is None:
        return ImportPlan(header=None, lines=(), refusals=tuple(refusals))
    adopted = tuple(_adopt(line, header, rules, lines.keys()) for line in lines.values())
    return ImportPlan(header=header, lines=adopted, refusals=tuple(refusals))


def _raw_lines(stream: BinaryIO) -> Iterator[tuple[int, bytes | None]]:
    """Numbered lines; None for one that is too long, of which only a piece is ever in memory."""
    number = 0
    while raw := stream.readline(MAX_LINE_BYTES + 1):
        number += 1
        if len(raw) <= MAX_LINE_BYTES:
            yield number, raw
            continue
        while raw and not raw.endswith(b"\n"):
            raw = stream.readline(MAX_LINE_BYTES)
        yield number, None


def _parse(raw: bytes | None) -> dict[str, Any]:
    if raw is None:
        raise _RefusedError(f"the line is longer than {MAX_LINE_BYTES} bytes")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _RefusedError(f"not UTF-8 at byte {error.start}") from None
    try:
        data = json.loads(text, object_pairs_hook=_object, parse_constant=_constant)
    except RecursionError:
        raise _RefusedError("nested too deeply") from None
    except ValueError as error:
        raise _RefusedError(f"not JSON: {error}") from None
    if not isinstance(data, dict):
        raise _RefusedError(f"expected an object, got {type(data).__name__}")
    return data


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise _RefusedError("a key is there twice")
    return made


def _constant(name: str) -> float:
    raise _RefusedError(f"{name} is no JSON number")


def _decoded(kind: type[Any], data: object) -> Any:
    try:
        return from_data(kind, data)
    except (CodecError, ValueError, TypeError, OverflowError) as error:
        raise _RefusedError(str(error)) from None


def _header(data: dict[str, Any]) -> Header:
    if data.get("format") != FORMAT:
        raise _RefusedError(f"the first line is no header of format {FORMAT}")
    if data.get("version") != VERSION:
        raise _RefusedError(f"version {data.get('version')!r} cannot be read, only {VERSION}")
    header: Header = _decoded(Header, data)
    _check_id("team_id", header.team_id)
    return header


def _line(data: dict[str, Any], header: Header, rules: ImportRules) -> MemoryLine:
    """One checked line, still with the exporting team's names."""
    line: MemoryLine = _decoded(MemoryLine, data)
    experience = line.experience
    _check_texts(experience)
    _check_id("experience.id", experience.id)
    for used in experience.used:
        _check_id("experience.used", used)
    if experience.team_id != header.team_id:
        raise _RefusedError(f"the experience belongs to team {experience.team_id!r}, the file to {header.team_id!r}")
    owner = rules.owner_of(experience.id)
    if owner is not None and owner != header.team_id:
        raise _RefusedError(f"{experience.id} is the id of another team's experience")
    _check_evidence(experience)
    _check_vector(line.vector, header)
    _check_values(line.values, rules.alpha)
    return line


def _check_id(field: str, value: str) -> None:
    if not _ID.fullmatch(value):
        raise _RefusedError(f"{field}: {value[:40]!r} is no id")


def _check_texts(experience: Experience) -> None:
    texts: Mapping[str, str | None] = {name: getattr(experience, name) for name in LONGEST}
    for name, text in texts.items():
        if text is not None and len(text) > LONGEST[name]:
            raise _RefusedError(f"experience.{name}: {len(text)} characters, at most {LONGEST[name]}")
    for name in ("moves", "used"):
        if len(getattr(experience, name)) > MAX_LIST:
            raise _RefusedError(f"experience.{name}: more than {MAX_LIST}")
    document = dumps(experience)
    if "\\u0000" in document or "\0" in document:
        raise _RefusedError("a text holds a NUL character")
    try:
        document.encode()
    except UnicodeEncodeError:
        raise _RefusedError("a text holds half a surrogate pair") from None


def _check_evidence(experience: Experience) -> None:
    """Only accepted candidates may claim anything about speed, and what was not judged honest stays out."""
    if experience.verdict in (Verdict.SUSPICIOUS, Verdict.INFRASTRUCTURE_ERROR):
        raise _RefusedError(f"experiences with verdict {experience.verdict} are not taken")
    for name in ("speedup", "median_us"):
        number: float | None = getattr(experience, name)
        if number is None:
            continue
        if experience.verdict is not Verdict.ACCEPTED:
            raise _RefusedError(f"experience.{name} without verdict accepted")
        if not (math.isfinite(number) and number > 0):
            raise _RefusedError(f"experience.{name}: {number} is not above zero and finite")
    if experience.created_at.tzinfo is None:
        raise _RefusedError("experience.created_at has no time zone")


def _check_vector(vector: tuple[float, ...] | None, header: Header) -> None:
    if vector is None:
        return
    if len(vector) != header.dimensions:
        raise _RefusedError(f"vector of {len(vector)} dimensions, the header says {header.dimensions}")
    if not all(math.isfinite(number) for number in vector):
        raise _RefusedError("the vector holds a number that is not finite")
    length = math.hypot(*vector)
    if not math.isclose(length, 1.0, abs_tol=1e-3):
        raise _RefusedError(f"the vector has length {length:.4g} instead of 1")


def _check_values(values: Iterable[ExportedValue], alpha: float) -> None:
    """Values must be possible: within the rewards' bounds, and reachable by as many steps as there were visits."""
    stages: set[Stage] = set()
    for value in values:
        if value.stage in stages:
            raise _RefusedError(f"two values for stage {value.stage}")
        stages.add(value.stage)
        if not (math.isfinite(value.visits) and 0 <= value.visits <= MAX_VISITS):
            raise _RefusedError(f"{value.visits} visits are not between 0 and {MAX_VISITS:g}")
        if not (math.isfinite(value.value) and abs(value.value) <= 1):
            raise _RefusedError(f"value {value.value} is not between -1 and 1")
        reachable = 1.0 - (1.0 - alpha) ** (value.visits + 1)
        if value.stage is Stage.DRAFT and abs(value.value) > reachable:
            raise _RefusedError(f"value {value.value} cannot come from {value.visits:g} visits: it is forged")


def _known_referee(referee: int | None) -> int | None:
    """At most today's: a file cannot speak for referees to come."""
    return None if referee is None else max(0, min(referee, CURRENT))


def _adopt(line: MemoryLine, header: Header, rules: ImportRules, known: Collection[str]) -> MemoryLine:
    """The line as the importing team's own. Another team's jobs and candidates mean nothing here."""
    vector = line.vector if (header.space, header.dimensions) == (rules.space, rules.dimensions) else None
    experience = replace(line.experience, referee=_known_referee(line.experience.referee))
    if header.team_id == rules.team_id:
        return replace(line, experience=experience, vector=vector)

    def renamed(name: str) -> str:
        return imported_id(rules.team_id, header.team_id, name)

    mine = replace(
        experience,
        id=renamed(experience.id),
        team_id=rules.team_id,
        job_id=None,
        candidate_id=None,
        used=tuple(renamed(name) for name in experience.used if name in known),
    )
    return replace(line, experience=mine, vector=vector)
