"""From a model's name to the model: `playbook`, `openai:gpt-…`, or one for each role.

anthropic:claude-opus-…                                    every role
anthropic:claude-opus-…,judge=openai:gpt-…-mini            a cheap Judge
playbook,planner=compatible:qwen3                          a local Planner, the rest offline
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from services.adapters.llm.anthropic_messages import AnthropicMessagesModel
from services.adapters.llm.connection import Connection
from services.adapters.llm.openai_compatible import CompatibleChatModel
from services.adapters.llm.openai_responses import OpenAIResponsesModel
from services.adapters.llm.prices import PriceList
from services.adapters.llm.remote import DeltaListener, RemoteChatModel
from services.adapters.llm.settings import ModelSettings, ProviderSettings
from services.domain.chat import AgentRole, ChatReply, ChatRequest, ModelLimits
from services.domain.errors import ConfigurationError
from services.domain.usage import Usage
from services.ports.models import ChatModel, LimitedChatModel, MeteredChatModel
from services.ports.runtime import Clock


@dataclass(frozen=True, kw_only=True)
class Provider:
    """A family of models behind one protocol."""

    kind: type[RemoteChatModel]
    base_url: str | None
    """Where it is unless the settings say otherwise; None where they must."""
    needs_key: bool
    price_list: str | None
    """Its name in `genai-prices`; None to look prices up by base URL."""


PROVIDERS: Mapping[str, Provider] = {
    "openai": Provider(
        kind=OpenAIResponsesModel, base_url="https://api.openai.com/v1", needs_key=True, price_list="openai"
    ),
    "anthropic": Provider(
        kind=AnthropicMessagesModel, base_url="https://api.anthropic.com", needs_key=True, price_list="anthropic"
    ),
    "compatible": Provider(kind=CompatibleChatModel, base_url=None, needs_key=False, price_list=None),
}


class RoleModels:
    """One model for each role, answering as one `MeteredChatModel`."""

    def __init__(self, name: str, default: ChatModel, by_role: Mapping[AgentRole, ChatModel]) -> None:
        self.name = name
        """The whole specification, as the job gave it."""
        self._default = default
        self._by_role = dict(by_role)

    def of(self, role: AgentRole) -> ChatModel:
        """The model that answers for a role."""
        return self._by_role.get(role, self._default)

    def ceiling(self, request: ChatRequest) -> Usage:
        """The ceiling of the role's model; nothing for models that cost nothing."""
        model = self.of(request.role)
        return model.ceiling(request) if isinstance(model, MeteredChatModel) else Usage(calls=1)

    def limits(self, role: AgentRole) -> ModelLimits:
        """The limits of the role's model."""
        model = self.of(role)
        return model.limits(role) if isinstance(model, LimitedChatModel) else ModelLimits()

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Answer by the role's model. Raises `ModelError`."""
        return await self.of(request.role).complete(request)


class ModelRegistry:
    """Makes chat models by name; models of one provider share its connections and limits."""

    def __init__(
        self,
        settings: ModelSettings,
        clock: Clock,
        *,
        offline: Mapping[str, Callable[[], ChatModel]] | None = None,
        listener: DeltaListener | None = None,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._offline = dict(offline or {})
        self._listener = listener
        self._connections: dict[str, Connection] = {}
        self._models: dict[str, ChatModel] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """Models as people may name them."""
        return (*self._offline, *(f"{prefix}:<model>" for prefix in PROVIDERS))

    def resolve(self, specification: str) -> ChatModel:
        """The model, or models by role, of a specification. Raises `ConfigurationError` saying what to change."""
        default, *others = (part.strip() for part in specification.split(","))
        if not others:
            return self._one(default)
        by_role: dict[AgentRole, ChatModel] = {}
        for part in others:
            role, model = self._role(part)
            by_role[role] = model
        return RoleModels(specification, self._one(default), by_role)

    async def aclose(self) -> None:
        """Close the connections of all providers; models of this registry open them again when called."""
        for connection in self._connections.values():
            await connection.aclose()

    def _role(self, part: str) -> tuple[AgentRole, ChatModel]:
        role, separator, name = part.partition("=")
        roles = ", ".join(AgentRole)
        if not separator or role.strip() not in set(AgentRole):
            raise ConfigurationError(f"'{part}' is not ROLE=MODEL; roles are {roles}")
        return AgentRole(role.strip()), self._one(name.strip())

    def _one(self, name: str) -> ChatModel:
        if name not in self._models:
            self._models[name] = self._make(name)
        return self._models[name]

    def _make(self, name: str) -> ChatModel:
        if name in self._offline:
            return self._offline[name]()
        provider_name, separator, model = name.partition(":")
        provider = PROVIDERS.get(provider_name)
        if provider is None or not separator or not model:
            raise ConfigurationError(f"unknown model '{name}'; known: {', '.join(self.names)}")
        connection = self._connection(provider_name, provider)
        prices = PriceList(
            provider_id=provider.price_list, base_url=connection.base_url, override=connection.settings.price
        )
        return provider.kind(model, connection, prices, self._listener)

    def _connection(self, name: str, provider: Provider) -> Connection:
        if name not in self._connections:
            settings = self._settings.providers.get(name, ProviderSettings())
            base_url = settings.base_url or provider.base_url
            if base_url is None:
                raise ConfigurationError(
                    f"models of '{name}' need the base_url of their server in the settings: "
                    f"KERNELWRIGHT_{name.upper()}_BASE_URL"
                )
            key = settings.api_key.get_secret_value().strip() if settings.api_key else ""
            if provider.needs_key and not key:
                raise ConfigurationError(
                    f"models of '{name}' need an api_key in the settings: KERNELWRIGHT_{name.upper()}_API_KEY"
                )
            self._connections[name] = Connection(name, base_url, settings, self._clock)
        return self._connections[name]
