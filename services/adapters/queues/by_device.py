"""An `EvaluationQueue` of two: one for a named device, the other for all the rest."""

from __future__ import annotations

from services.domain.evaluations import EvaluationReport, EvaluationRequest
from services.domain.validations import ValidationReport, ValidationRequest
from services.ports.work import EvaluationQueue


class DeviceRouter(EvaluationQueue):
    """Sends work for one device another way."""

    def __init__(self, device: str, there: EvaluationQueue, others: EvaluationQueue) -> None:
        """`there` gets what is for `device`."""
        self._device = device
        self._there = there
        self._others = others

    async def validate(self, request: ValidationRequest) -> ValidationReport:
        """Run the problem's reference. Raises `InfrastructureError`."""
        return await self._queue(request.device).validate(request)

    async def evaluate(self, request: EvaluationRequest) -> EvaluationReport:
        """Judge a candidate."""
        return await self._queue(request.device).evaluate(request)

    async def cancel(self, job_id: str) -> None:
        """Stop what runs for a job, wherever that is."""
        try:
            await self._there.cancel(job_id)
        finally:
            await self._others.cancel(job_id)

    async def close(self) -> None:
        """Close both."""
        try:
            await self._there.close()
        finally:
            await self._others.close()

    def _queue(self, device: str) -> EvaluationQueue:
        return self._there if device == self._device else self._others
