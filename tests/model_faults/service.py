"""A provider that fails three times of ten, each way as often, and knows what it could have billed."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

from tests.fakes.chat_jobs import a_useful_reply
from tests.fakes.chat_protocols import INPUT, OUTPUT
from tests.fakes.chat_servers import Act, Seen

SHARE = 0.3
HANG_S = 2.5
"""Longer than the adapters wait for a sign of life here."""
_JOB = re.compile(r'name="(job-\d+)\.py"')

Question = str
"""Identifies what was asked: a digest of the messages, which every repeat of a call shares."""


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One way to fail."""

    name: str
    act: Act
    keeps_reply: float = 0.0
    """Share of the useful reply that is sent before the fault."""
    billed: bool = True
    """Whether a provider may bill such a request in full, because it may have done the work."""


FAULTS = (
    Fault(name="429 with Retry-After", act=Act(status=429, headers={"retry-after": "1"}), billed=False),
    Fault(name="500", act=Act(status=500), billed=False),
    Fault(name="timeout", act=Act(hang_s=HANG_S)),
    Fault(name="dropped stream", act=Act(drop_after=2), keeps_reply=1.0),
    Fault(name="refusal", act=Act(text="I cannot help with that.", finish="refusal")),
    Fault(name="truncation", act=Act(finish="length"), keeps_reply=0.6),
    Fault(name="malformed JSON", act=Act(), keeps_reply=0.6),
    Fault(name="wrong schema", act=Act(text='{"wrong": 1}')),
    Fault(name="ten megabytes", act=Act(text="z" * 10_000_000, pieces=20)),
)
_COUNTED = ("refusal", "truncation", "malformed JSON", "wrong schema")
"""Faults whose reply is whole, and says what it used."""


@dataclass(kw_only=True)
class Account:
    """What one job may have been billed, in tokens."""

    input_tokens: int = 0
    output_tokens: int = 0

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens


@dataclass(kw_only=True)
class FaultyService:
    """A script for `ChatServer`: the same requests fail in every run of one seed, and the ways to fail take turns."""

    seed: int
    share: float = SHARE
    requests: Counter[Question] = field(default_factory=Counter)
    """HTTP requests by question."""
    faults: Counter[str] = field(default_factory=Counter)
    accounts: dict[str, Account] = field(default_factory=dict)
    """By job id."""

    def __call__(self, _number: int, seen: Seen) -> Act:
        messages = said(seen)
        asked = question(messages)
        self.requests[asked] += 1
        dice = random.Random(f"{self.seed}/{asked}/{self.requests[asked]}")
        fault = FAULTS[self.faults.total() % len(FAULTS)] if dice.random() < self.share else None
        self._bill(messages, seen.body, fault)
        reply = a_useful_reply(seen, asked[:12])
        if fault is None:
            return Act(text=reply)
        self.faults[fault.name] += 1
        if fault.keeps_reply:
            return replace(fault.act, text=reply[: int(len(reply) * fault.keeps_reply)])
        return fault.act

    def _bill(self, messages: list[str], body: dict[str, Any], fault: Fault | None) -> None:
        if fault is not None and not fault.billed:
            return
        account = self.accounts.setdefault(job_of(messages), Account())
        account.input_tokens += INPUT
        whole = fault is None or fault.name in _COUNTED
        account.output_tokens += OUTPUT if whole else _most_output(body)


def said(seen: Seen) -> list[str]:
    """The texts of a request's messages in order, whichever protocol it came in."""
    body = seen.body
    turns = [*body.get("system", ()), *body.get("messages", body.get("input", ()))]
    return [turn.get("text") or turn["content"] for turn in turns]


def question(messages: list[str]) -> Question:
    """The digest of the messages."""
    return hashlib.sha256(json.dumps(messages).encode()).hexdigest()


def job_of(messages: list[str]) -> str:
    """The job that asks: its problem bears its name."""
    found = _JOB.search(messages[0])
    assert found is not None, "every prompt of this survey shows a problem that is named after its job"
    return found.group(1)


def _most_output(body: dict[str, Any]) -> int:
    return int(body.get("max_output_tokens") or body["max_tokens"])
