"""A chat model whose answers somebody writes into a folder: a person, or another model, job by job."""

from __future__ import annotations

from pathlib import Path

from agents.prompts.token_budget import tokens
from services.domain.candidates import content_hash
from services.domain.chat import AgentRole, ChatReply, ChatRequest, ModelLimits
from services.domain.errors import ModelError
from services.domain.usage import Usage
from services.ports.models import ChatModel
from services.ports.runtime import Clock

NAME = "folder"


class FolderModel(ChatModel):
    """Writes `KEY.prompt.md` and waits for `KEY.answer.md` beside it.

    The key comes from the prompt, so that an experiment that is started again finds the answers that it has. Tokens are
    estimated.
    """

    def __init__(self, folder: Path, clock: Clock, *, timeout_s: float, poll_s: float = 0.5) -> None:
        """`timeout_s`: how long an answer is waited for."""
        self._folder = folder
        self._clock = clock
        self._timeout_s = timeout_s
        self._poll_s = poll_s
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def name(self) -> str:
        """`folder`."""
        return NAME

    def ceiling(self, request: ChatRequest) -> Usage:
        """Counted like a chat model's, so that agents are asked all that those are."""
        return Usage(calls=1, input_tokens=_tokens(request), output_tokens=request.max_output_tokens)

    def limits(self, role: AgentRole) -> ModelLimits:  # noqa: ARG002 -- the port names it
        """The usual ones."""
        return ModelLimits()

    async def complete(self, request: ChatRequest) -> ChatReply:
        """The answer in the folder. Raises `ModelError` when nobody wrote one in time."""
        key = f"{request.role.value}-{content_hash(_text(request))[:16]}"
        prompt, answer = (self._folder / f"{key}.{kind}.md" for kind in ("prompt", "answer"))
        if not prompt.exists():
            prompt.write_text(_text(request), encoding="utf-8")
        until = self._clock.monotonic() + self._timeout_s
        while not (answer.is_file() and answer.read_text(encoding="utf-8").strip()):
            if self._clock.monotonic() >= until:
                raise ModelError(
                    f"nobody answered {prompt} in {self._timeout_s:g} s: write {answer.name} beside it and start the "
                    "experiment again, it goes on from there",
                    retryable=False,
                )
            await self._clock.sleep(self._poll_s)
        said = answer.read_text(encoding="utf-8")
        usage = Usage(calls=1, input_tokens=_tokens(request), output_tokens=tokens(said))
        return ChatReply(text=said, model=NAME, usage=usage)


def _text(request: ChatRequest) -> str:
    return "\n\n".join(f"# {message.role}\n\n{message.content}" for message in request.messages)


def _tokens(request: ChatRequest) -> int:
    return sum(tokens(message.content) for message in request.messages)


__all__ = ["NAME", "FolderModel"]
