"""A sender of webhook messages whose receivers are scripted."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from services.domain.webhooks import Delivery, DeliveryOutcome, Webhook
from services.ports.teams import MessageSender


class ScriptedSender(MessageSender):
    """A `MessageSender` that gets a list of HTTP statuses for an answer, and 204 after them."""

    def __init__(self, answers: Sequence[int] = ()) -> None:
        self.answers = list(answers)
        self.sent: list[Delivery] = []

    async def send(self, webhook: Webhook, delivery: Delivery, at: datetime) -> DeliveryOutcome:  # noqa: ARG002
        """The next status."""
        self.sent.append(delivery)
        answer = self.answers.pop(0) if self.answers else 204
        if 200 <= answer < 300:
            return DeliveryOutcome(delivered=True, answer=answer)
        return DeliveryOutcome(delivered=False, answer=answer, fault=f"it answered {answer}")
