"""Models by name: what is wrong with a name or a setting is said before anything is sent."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pydantic import SecretStr

from services.adapters.llm.connection import Connection
from services.adapters.llm.redaction import Redactor
from services.adapters.llm.registry import ModelRegistry, RoleModels
from services.adapters.llm.settings import ModelSettings, ProviderSettings
from services.domain.chat import AgentRole, ChatReply, ChatRequest
from services.domain.errors import ConfigurationError
from services.domain.usage import Usage
from services.ports.models import ChatModel, MeteredChatModel
from tests.fakes.chat_requests import a_request
from tests.fakes.clocks import SteppedClock

KEYED = ProviderSettings(api_key=SecretStr("sk-canary-0123456789"))


class Offline:
    """A model that answers by itself."""

    name = "playbook"

    async def complete(self, request: ChatRequest) -> ChatReply:
        return ChatReply(text="{}", model="playbook", usage=Usage(calls=1))


def a_registry(**providers: ProviderSettings) -> ModelRegistry:
    return ModelRegistry(ModelSettings(providers=providers), SteppedClock(), offline={"playbook": Offline})


def test_an_offline_model_needs_no_settings() -> None:
    model = a_registry().resolve("playbook")
    assert isinstance(model, Offline)
    assert not isinstance(model, MeteredChatModel)


@pytest.mark.parametrize("name", ["", "gpt-5", "openai", "openai:", "gemini:pro", "playbook:x", ":gpt-5"])
def test_an_unknown_model_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(ConfigurationError, match=r"known: playbook, openai:<model>, anthropic:<model>"):
        a_registry(openai=KEYED).resolve(name)


@pytest.mark.parametrize("name", ["openai:gpt-5", "anthropic:claude-opus-5"])
@pytest.mark.parametrize("key", [None, SecretStr(""), SecretStr("  ")])
def test_a_missing_key_is_named(name: str, key: SecretStr | None) -> None:
    settings = ProviderSettings(api_key=key)
    with pytest.raises(ConfigurationError, match="need an api_key in the settings"):
        a_registry(openai=settings, anthropic=settings).resolve(name)


def test_a_compatible_server_needs_its_address_but_no_key() -> None:
    with pytest.raises(ConfigurationError, match="need the base_url"):
        a_registry().resolve("compatible:qwen3:8b")
    local = ProviderSettings(base_url="http://127.0.0.1:8000/v1")
    assert a_registry(compatible=local).resolve("compatible:qwen3:8b").name == "compatible:qwen3:8b"


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8000/v1", "http://[::1]/v1", "http://10.0.0.8/v1", "http://169.254.169.254/latest",
        "http://localhost:8000", "http://LOCALHOST.:8000", "http://[::ffff:127.0.0.1]/", "http://metadata.internal/",
        "http://0.0.0.0/", "http://100.64.0.1/",
    ],
)  # fmt: skip
def test_a_private_address_is_refused_where_the_operator_forbids_it(url: str) -> None:
    settings = ProviderSettings(base_url=url, forbid_private_hosts=True)
    with pytest.raises(ConfigurationError, match="private address, which the operator forbids"):
        a_registry(compatible=settings).resolve("compatible:x")
    a_registry(compatible=replace(settings, forbid_private_hosts=False)).resolve("compatible:x")


@pytest.mark.parametrize("url", ["ftp://host/", "host:8000", "http://", "file:///etc/passwd", "http://[::1"])
def test_a_base_url_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match="must start with http"):
        a_registry(compatible=ProviderSettings(base_url=url)).resolve("compatible:x")


def test_secrets_in_a_base_url_are_refused_without_repeating_them() -> None:
    for url in ("http://user:canary@host/v1", "http://host/v1?key=canary"):
        with pytest.raises(ConfigurationError, match="put a key into api_key") as caught:
            a_registry(compatible=ProviderSettings(base_url=url)).resolve("compatible:x")
        assert "canary" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        (replace(KEYED, concurrency=0), "concurrency"),
        (replace(KEYED, max_attempts=0), "max_attempts"),
        (replace(KEYED, breaker_failures=-1), "breaker_failures"),
        (replace(KEYED, requests_per_minute=0), "requests_per_minute"),
        (replace(KEYED, team_concurrency=0), "team_concurrency"),
        (replace(KEYED, team_requests_per_minute=0), "team_requests_per_minute"),
    ],
)
def test_limits_below_one_are_refused(settings: ProviderSettings, field: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{field} of openai must be at least 1"):
        a_registry(openai=settings).resolve("openai:gpt-5")


async def test_each_role_may_have_a_model_of_its_own() -> None:
    models = a_registry(openai=KEYED).resolve("playbook, judge=openai:gpt-5-mini")
    assert isinstance(models, RoleModels)
    assert models.of(AgentRole.JUDGE).name == "openai:gpt-5-mini"
    assert models.of(AgentRole.CODER).name == "playbook"
    assert (await models.complete(a_request(AgentRole.CODER))).model == "playbook"
    assert models.ceiling(a_request(AgentRole.CODER)) == Usage(calls=1)
    assert models.ceiling(a_request(AgentRole.JUDGE)).output_tokens > 2048


@pytest.mark.parametrize("name", ["playbook,judge", "playbook,cook=playbook", "playbook,=playbook", "playbook,"])
def test_a_role_that_does_not_exist_is_refused_with_those_that_do(name: str) -> None:
    with pytest.raises(ConfigurationError, match="roles are planner, coder, judge, profiler"):
        a_registry().resolve(name)


def test_models_of_one_name_are_one_object_so_that_limits_are_shared() -> None:
    registry = a_registry(openai=KEYED)
    assert registry.resolve("openai:gpt-5") is registry.resolve("openai:gpt-5")


def test_a_remote_model_is_a_metered_chat_model() -> None:
    model: ChatModel = a_registry(openai=KEYED).resolve("openai:gpt-5")
    assert isinstance(model, MeteredChatModel)


def test_the_redactor_hides_known_secrets_and_whatever_looks_like_one() -> None:
    redact = Redactor([SecretStr("hunter2hunter2"), SecretStr("")])
    line = redact("key\n hunter2hunter2 or sk-proj-abcdef123456 or Bearer abc.def-ghi\x00 " + "z" * 900)
    assert "hunter2" not in line
    assert "abcdef123456" not in line
    assert "abc.def" not in line
    assert "\n" not in line
    assert len(line) == 300


def test_the_sdks_are_never_given_the_key() -> None:
    connection = Connection("openai", "https://api.openai.com/v1", KEYED, SteppedClock())
    options = connection.sdk_options(connection.ledger("local"))
    assert "sk-canary" not in repr(options) + options["api_key"]
    assert "sk-canary" not in repr(connection) + repr(vars(connection))
