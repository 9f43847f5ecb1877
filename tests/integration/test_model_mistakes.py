"""What can be wrong with a job's model: one clear message on the job, which goes on with another model."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from services.adapters.llm.registry import ModelRegistry
from services.adapters.llm.settings import ModelSettings, ProviderSettings
from services.domain.jobs import Budget, JobStatus
from tests.fakes.chat_bench import FAST, ROOTS, Bench, a_bench
from tests.fakes.chat_jobs import Place, a_working_model
from tests.fakes.chat_servers import Act, Script, always
from tests.fakes.clocks import WallClock
from tests.selection import with_full

pytestmark = [pytest.mark.integration, pytest.mark.timeout(120)]
WRONG_KEY = "sk-canary-wrong-1234567890"
MODELS = {"openai": "gpt-5", "compatible": "local", "anthropic": "claude-opus-5"}


@dataclass(frozen=True, kw_only=True)
class Mistake:
    """One thing that is wrong, and words that must be in the message."""

    says: tuple[str, ...]
    requests: int
    """HTTP requests that it takes to find out."""
    settings: Callable[[ProviderSettings], ProviderSettings] = field(default=lambda given: given)
    model: str | None = None
    """In place of one that exists; `{provider}` is filled in."""
    script: Script = field(default_factory=a_working_model)


def at(host: str) -> Callable[[ProviderSettings], ProviderSettings]:
    """The same server under a private name, which the operator forbids."""

    def change(given: ProviderSettings) -> ProviderSettings:
        address = (given.base_url or "").replace("127.0.0.1", host)
        return replace(given, base_url=address, forbid_private_hosts=True)

    return change


MISTAKES = {
    "wrong key": Mistake(
        says=("refused the key", "set another api_key (KERNELWRIGHT_{PROVIDER}_API_KEY)"),
        settings=lambda given: replace(given, api_key=SecretStr(WRONG_KEY)),
        requests=1,
    ),
    "no such model": Mistake(
        says=("has no model 'no-such-model'", "choose another model"), model="{provider}:no-such-model", requests=1
    ),
    "private address": Mistake(
        says=("private address", "KERNELWRIGHT_FORBID_PRIVATE_HOSTS"), settings=at("127.0.0.1"), requests=0
    ),
    "name of a private address": Mistake(
        says=("private address", "KERNELWRIGHT_FORBID_PRIVATE_HOSTS"), settings=at("2130706433"), requests=0
    ),
    "prompt beyond the window": Mistake(
        says=("longer than the window", "choose a model with a larger window"),
        script=always(Act(status=400, error="This model's maximum context length is 8192 tokens.")),
        requests=1,
    ),
    "only prose": Mistake(
        says=("gave no usable answer in 3 rounds in a row",),
        script=always(Act(text="Certainly! Kernels are a fascinating subject.")),
        requests=6,
    ),
    "only refusals": Mistake(
        says=("gave no usable answer in 3 rounds in a row", "the model stopped with refusal"),
        script=always(Act(text="I cannot help with that.", finish="refusal")),
        requests=6,
    ),
}
WITHOUT_SETTINGS = {
    "unknown provider": ("gemini:pro", ("unknown model 'gemini:pro'", "openai:<model>")),
    "missing key": ("openai:gpt-5", ("need an api_key in the settings", "KERNELWRIGHT_OPENAI_API_KEY")),
    "missing address": ("compatible:local", ("need the base_url", "KERNELWRIGHT_COMPATIBLE_BASE_URL")),
}


def the_wrong_registry(bench: Bench, mistake: Mistake) -> ModelRegistry:
    providers = {
        name: mistake.settings(replace(FAST, base_url=bench.server.url + root)) for name, root in ROOTS.items()
    }
    return ModelRegistry(ModelSettings(providers=providers), WallClock())


async def fails_and_goes_on(place: Place, bench: Bench, wrong: str, says: tuple[str, ...], requests: int) -> None:
    """Run a job on a model that cannot be used, then with one that can."""
    await place.database.upgrade()
    await place.submit(wrong, Budget(rounds=10))
    job = await place.orchestrator.run_job("job-1")
    assert job.status is JobStatus.FAILED
    message = str(job.message)
    for words in says:
        assert words in message
    assert message.endswith("Go on with another model: kernelwright run --resume job-1 --model NAME")
    assert message.count("\n") == 0
    assert WRONG_KEY not in message
    assert len(bench.server.seen) == requests, "a mistake is not tried again and again"
    bench.server.script = a_working_model()
    await place.stores.jobs.reopen("local", "job-1", model="good", rounds=job.steps_done + 2)
    job = await place.orchestrator.run_job("job-1")
    assert job.status in (JobStatus.SOLVED, JobStatus.NO_GAIN), job.message


MADE = [(name, provider) for name in MISTAKES for provider in MODELS]
EACH_ONCE = [*zip(MISTAKES, itertools.cycle(MODELS))]
"""Each mistake with one provider, and each provider with some."""


@pytest.mark.parametrize("made", with_full(MADE, EACH_ONCE), ids="-".join)
async def test_a_mistake_is_said_on_the_job_which_goes_on_with_another_model(
    made: tuple[str, str], tmp_path: Path
) -> None:
    name, provider = made
    mistake = MISTAKES[name]
    wrong = (mistake.model or f"{provider}:{MODELS[provider]}").format(provider=provider)
    says = tuple(words.format(PROVIDER=provider.upper()) for words in mistake.says)
    async with a_bench(mistake.script) as bench:
        registry = the_wrong_registry(bench, mistake)

        def models(asked: str) -> Any:
            return bench.model("compatible:local") if asked == "good" else registry.resolve(asked)

        place = Place(tmp_path, models)
        await fails_and_goes_on(place, bench, wrong, says, mistake.requests)
        await place.database.close()
        await registry.aclose()


@pytest.mark.parametrize("name", WITHOUT_SETTINGS)
async def test_a_model_that_this_process_knows_nothing_of_is_said_on_the_job(name: str, tmp_path: Path) -> None:
    wrong, says = WITHOUT_SETTINGS[name]
    bare = ModelRegistry(ModelSettings(), WallClock())
    async with a_bench(a_working_model()) as bench:

        def models(asked: str) -> Any:
            return bench.model("compatible:local") if asked == "good" else bare.resolve(asked)

        place = Place(tmp_path, models)
        await fails_and_goes_on(place, bench, wrong, says, 0)
        await place.database.close()
