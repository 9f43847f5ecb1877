"""Requests made up from the OpenAPI document, sent as each team about its own and the other's things, and judged."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.core.result import Ok
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.doubles import a_problem
from tests.fuzz.ground import TEAMS, Ground, secret_of

CHECKS = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
)
KNOWN_SHARE = 0.7
"""How often an id in a path is one that exists, of one team or the other."""
PLAIN = {"backend": "cpp", "device": "cpu", "model": "playbook", "strategy": "greedy", "baselines": ["eager"]}
WAIT_S = 60
HTTP_OK = range(200, 300)


@dataclass
class Tally:
    """What came of one operation."""

    operation: str
    cases: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    foreign: int = 0
    """Requests about another team's things."""
    faults: list[str] = field(default_factory=list)
    seconds: float = 0.0


@schemathesis.serializer("application/x-ndjson")
def _ndjson(_context: Any, value: Any) -> bytes:
    return str(value).encode(errors="replace")


def fuzz(ground: Ground, cases: int, *, number: int = 0) -> Iterator[Tally]:
    """Send about so many cases, spread over all operations; what came of each operation. `number` seeds the choice."""
    schema = schemathesis.openapi.from_url(f"{ground.address}/openapi.json")
    operations: list[Any] = [found.ok() for found in schema.get_all_operations() if isinstance(found, Ok)]
    each = -(-cases // len(operations))
    for operation in operations:
        yield _tally(ground, operation, each, number)


def _tally(ground: Ground, operation: Any, cases: int, number: int) -> Tally:
    tally = Tally(operation=f"{operation.method.upper()} {operation.path}")
    choice = random.Random(f"{number}/{tally.operation}")
    begun = time.monotonic()
    for mode, share in ((GenerationMode.POSITIVE, cases - cases // 3), (GenerationMode.NEGATIVE, cases // 3)):
        strategy = operation.as_strategy(generation_mode=mode)
        _send_all(ground, strategy, share, tally, choice, number)
    if tally.cases < cases:  # nothing in this operation can be wrong: more of what is right
        _send_all(ground, operation.as_strategy(), cases - tally.cases, tally, choice, number + 1)
    tally.seconds = time.monotonic() - begun
    return tally


def _send_all(ground: Ground, strategy: Any, cases: int, tally: Tally, choice: random.Random, number: int) -> None:
    """Hypothesis stops early where a strategy has no more: it is begun again with another seed."""
    target, attempt = tally.cases + cases, 0
    while tally.cases < target and attempt < 8:

        @seed(number * 100 + attempt)
        @settings(
            max_examples=target - tally.cases,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=strategy)
        def send(case: Any) -> None:
            if tally.cases < target:
                _send(ground, case, tally, choice)

        try:
            send()
        except Exception as error:
            if type(error).__name__ not in ("Unsatisfiable", "SkipTest", "Skipped"):
                raise
            return
        attempt += 1


def _send(ground: Ground, case: Any, tally: Tally, choice: random.Random) -> None:
    team = choice.choice((*TEAMS, "local"))
    is_foreign = _aim(ground, case, team, choice)
    _mend_problem(case, choice)
    if "wait_s" in (case.query or {}):
        case.query["wait_s"] = choice.choice((0, 0.01, -1, "x", 26))
    headers = {"Authorization": f"Bearer {ground.tokens[team]}"}
    response = case.call(headers=headers, timeout=WAIT_S, allow_redirects=False)
    body = response.content.decode(errors="replace")
    tally.cases += 1
    tally.statuses[response.status_code] += 1
    tally.foreign += is_foreign
    told = f"as {team}: {case.as_curl_command(headers={})[:600]}\n    {response.status_code} {body[:300]}"
    try:
        case.validate_response(response, checks=CHECKS)
    except FailureGroup as group:
        tally.faults += [f"{type(fault).__name__}: {str(fault)[:300]}\n    {told}" for fault in group.exceptions]
    if is_foreign and response.status_code in HTTP_OK:
        tally.faults.append(f"another team's thing was reached\n    {told}")
    others = [other for other in TEAMS if other != team and secret_of(other) in body]
    if others:
        tally.faults.append(f"{others[0]}'s secret was read\n    {told}")


def _mend_problem(case: Any, choice: random.Random) -> None:
    """No chance writes a module in KernelBench form: now and then the source is one, so that jobs are made."""
    body = case.body if isinstance(case.body, dict) else {}
    items = body.get("evaluations")
    for one in [body, *(items if isinstance(items, list) else [])]:
        problem = one.get("problem") if isinstance(one, dict) else None
        if isinstance(problem, dict) and "source" in problem and choice.random() < KNOWN_SHARE:
            problem["source"] = a_problem().source
            one |= {name: value for name, value in PLAIN.items() if name in one}


def _aim(ground: Ground, case: Any, team: str, choice: random.Random) -> bool:
    """Put ids that exist into the path; whether one of them is another team's."""
    foreign = False
    for name in case.path_parameters or {}:
        owner = choice.choice(TEAMS)
        known = ground.ids[owner].get(name)
        if known and choice.random() < KNOWN_SHARE:
            case.path_parameters[name] = choice.choice(known)
            foreign |= owner != team and name not in ("team", "reader")
    return foreign
