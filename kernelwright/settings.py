"""Settings from the environment (`KERNELWRIGHT_…`). Only this package reads them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, Field, SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, SettingsConfigDict

from kernelwright.provider_options import ProviderOptions
from services.domain.errors import ConfigurationError
from services.domain.evaluations import EVALUATION_TIMEOUT_S

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def _standard(name: str) -> FieldInfo:
    """A setting that may also come under the name its provider's own tools read."""
    field: FieldInfo = Field(validation_alias=AliasChoices(f"KERNELWRIGHT_{name}", name))
    return field


class Settings(BaseSettings):
    """Everything that can be set; every default works on one machine without a server, key or GPU."""

    model_config = SettingsConfigDict(
        env_prefix="KERNELWRIGHT_", env_nested_delimiter="__", frozen=True, extra="ignore"
    )

    home: Path = Path(".kernelwright")
    """Directory for all state: database, results, compiled libraries, measurements."""
    database_url: str | None = None
    """`sqlite:///FILE` or `postgresql+psycopg://…`; default: an SQLite file under `home`."""
    artefacts: str | None = None
    """Where large artefacts lie: a directory that all parts share, or `s3://bucket/prefix` (needs `kernelwright[s3]`,
    credentials as AWS's own tools read them); unset for the database."""
    queue: Literal["in-process", "celery"] = "in-process"
    redis_url: str = "redis://127.0.0.1:6379/0"
    """Redis: broker of the Celery queue, and rate limits that several API processes hold together."""
    redis_prefix: str = ""
    """Prefix of every key in Redis, so that installations can share one."""
    broker_url: Annotated[str | None, Field(pattern=r"^(rediss?|amqps?)://")] = None
    """Broker of the Celery queue if it is not `redis_url`: RabbitMQ as `amqp://USER:PASSWORD@HOST:5672/VHOST`."""
    spool: Path | None = None
    """Directory through which orders for `spool_device` reach nodes without a network, and their reports come back."""
    spool_device: str = "h200"
    """The device whose orders go through the spool; all others go through `queue`."""
    spool_key: SecretStr | None = None
    """Key that signs orders and reports, as `kernelwright spool key` makes it; default: the file `spool.key` under
    `home`."""
    spool_days: Annotated[float, Field(gt=0, le=365, allow_inf_nan=False)] = 14.0
    """Days for which an order in a spool, and the report on it, are valid."""
    spool_lease_s: Annotated[float, Field(ge=3, le=3600)] = 60.0
    """Seconds without a heartbeat after which a spool's order is taken from a silent node."""
    compiled: Path | None = None
    """Folder of compiled libraries that compile workers write (`worker --device compile`) and other workers only read;
    unset, every worker compiles for itself."""
    sandbox: Literal["process", "docker"] = "process"
    """Where compilers, problems and candidates run: Linux namespaces of this machine, or hardened containers."""
    sandbox_image: str | None = None
    """Image of the containers; default: the image that `make sandbox-image` builds for this version, or for GPUs the
    one of `make gpu-images`."""
    sandbox_python: Literal["image", "host"] = "image"
    """Python and torch used in containers: the image's, or this machine's, mounted read-only."""
    sandbox_sockets: Path | None = None
    """Folder for the containers' sockets, which the Docker host must see under the same path; default under `home`."""
    sandbox_warm: Annotated[int, Field(ge=1, le=64)] = 3
    """Containers kept warm."""
    gpu: str | None = None
    """Cards that workers on this machine use: indices or UUIDs as `nvidia-smi -L` prints them, separated by commas;
    default: those that `CUDA_VISIBLE_DEVICES` names, else all. A worker judges on the first card of its device's
    kind; `worker --device all` uses each of them."""
    sandbox_gpu: str | None = None
    """Earlier name of `gpu`; where both are set, `gpu` wins."""
    docker_host: Annotated[str | None, _standard("DOCKER_HOST")] = None
    """Address of the Docker daemon; default: its usual socket."""
    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8000
    token: str | None = None
    """The server's own token: its holder is an admin of the team `local`, which runs the installation."""
    oidc_issuer: str | None = None
    """Issuer URL of the identity provider for the web UI: `https://accounts.example.org`."""
    oidc_client_id: str | None = None
    """Client id of this installation; its redirect URI is `PUBLIC_URL/auth/callback`."""
    oidc_client_secret: SecretStr | None = None
    """Unset for a public client."""
    oidc_name: str = "single sign-on"
    """Name of the provider on the sign-in button."""
    public_url: Annotated[str | None, Field(pattern=r"^https?://[^/?#]+/?$")] = None
    """The server's address as browsers see it, if it is behind a proxy: `https://kernels.example.org`."""
    rate_limit: Annotated[int, Field(ge=1)] | None = 1200
    """Requests a minute that one token or person may send, to all API processes together where they share a Redis
    (`queue=celery`); unset for no limit."""
    team_rate_limit: Annotated[int, Field(ge=1)] | None = 6000
    """The same for a team."""
    sign_in: Literal["auto", "required"] = "auto"
    """Whether everybody needs a token or a session. `auto`: not on loopback, as long as `token`, `oidc_issuer` and
    `public_url` are unset."""
    concurrency: Annotated[int, Field(ge=1, le=10_000)] = 200
    """Concurrent jobs per orchestrator."""
    team_concurrency: Annotated[int, Field(ge=1)] | None = None
    """Concurrent jobs per team, across all orchestrators; unset for no limit."""
    drain_s: Annotated[float, Field(ge=0, le=600)] = 8.0
    """Seconds that a stopping orchestrator gives its jobs to reach their next checkpoint."""
    lease_s: Annotated[float, Field(ge=1, le=600)] = 15.0
    """Seconds until the jobs of a silent orchestrator are taken over."""
    claim_s: Annotated[float, Field(ge=3, le=3600)] = 30.0
    """Seconds until the evaluation of a silent worker is given to another."""
    log_format: Literal["text", "json"] = "text"
    """Log format of long-running processes, on standard error."""
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    metrics_port: Annotated[int, Field(ge=0, le=65535)] = 0
    """Port for Prometheus's /metrics of a separate orchestrator or worker (the API uses its own port)."""
    traces_endpoint: str | None = None
    """OTLP over HTTP, for example `http://127.0.0.1:4318/v1/traces`; needs `kernelwright[telemetry]`."""
    openai_api_key: Annotated[SecretStr | None, _standard("OPENAI_API_KEY")] = None
    openai_base_url: str | None = None
    anthropic_api_key: Annotated[SecretStr | None, _standard("ANTHROPIC_API_KEY")] = None
    anthropic_base_url: str | None = None
    compatible_api_key: SecretStr | None = None
    compatible_base_url: str | None = None
    """Root of an OpenAI-compatible server (vLLM, llama.cpp, Ollama), usually ending in `/v1`."""
    openai: ProviderOptions = ProviderOptions()
    """Limits and options of the provider as JSON, or one by one: see below."""
    anthropic: ProviderOptions = ProviderOptions()
    compatible: ProviderOptions = ProviderOptions()
    secrets_key: SecretStr | None = None
    """Key that webhook secrets are encrypted with in the database (`kernelwright db new-key`); several, separated by
    commas, while keys change: the first seals, all open. Unset: they are stored as they are."""
    forbid_private_hosts: bool = False
    """Whether the base URLs of models must lead to public addresses: for services that many teams share."""
    webhook_private_hosts: bool = False
    """Whether webhooks may lead to private addresses: for a server whose users may reach this network anyway."""
    manual_timeout_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 86400.0
    """Seconds that a request of the manual model waits for its answer."""
    compiler_draft: bool = True
    """Whether jobs begin with the compiler's own code as a candidate, unless they say otherwise."""
    evaluation_timeout_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] = EVALUATION_TIMEOUT_S
    """Seconds in which a candidate's processes have to answer in one evaluation, all calls together."""
    baselines_max_age_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 3600.0
    """Age from which the latencies of a problem's reference are measured again within a job."""
    holdout: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Share of steps that run without what memory learned (expert practices stay), so that its effect can be measured;
    such steps cost what memory would have brought them. 0.1 measures it in some hundred steps."""
    practices: bool = True
    """Whether jobs of chat models end with one call that asks what they taught; practices whose evidence holds enter
    the team's memory."""
    embedder: Annotated[str, Field(pattern=r"^(auto|minilm|hashing|compatible:.+:[1-9][0-9]{0,4})$")] = "auto"
    """How experiences are compared: `auto` takes MiniLM where its model is installed, else `hashing`;
    `compatible:MODEL:DIMENSIONS` asks a service with OpenAI's `/v1/embeddings`."""
    embedder_base_url: str | None = None
    """Root of that service, ending in `/v1`; default `compatible_base_url`."""
    embedder_api_key: SecretStr | None = None
    """Default `compatible_api_key`."""
    embedder_timeout_s: Annotated[float, Field(gt=0, le=60, allow_inf_nan=False)] = 5.0
    """Seconds that a recall waits for the service before it uses the local embedder."""
    memory_cap: Annotated[int, Field(ge=100)] = 100_000
    """Maximum number of experiences a team keeps per backend."""
    keep_events_days: Annotated[float | None, Field(gt=0, allow_inf_nan=False)] = None
    """Days that a job's events are kept after its end; unset for good."""
    keep_trajectories_days: Annotated[float | None, Field(gt=0, allow_inf_nan=False)] = None
    """Days that a job's plans, critiques, prompts and replies are kept after its end; unset for good."""
    keep_artefacts_days: Annotated[float | None, Field(gt=0, allow_inf_nan=False)] = None
    """Days that a job keeps what it could be resumed from, and machine code, after its end; unset for good."""

    @property
    def directory(self) -> Path:
        """`home`, absolute."""
        return self.home.absolute()

    @property
    def database(self) -> str:
        """The database's address."""
        return self.database_url or f"sqlite:///{self.directory / 'kernelwright.db'}"

    @property
    def broker(self) -> str:
        """The message broker's address."""
        return self.broker_url or self.redis_url

    def results(self, job_id: str) -> Path:
        """Where a job's results go when the user names no folder."""
        return self.directory / "jobs" / job_id

    def check_bind(self, host: str) -> None:
        """Raise `ConfigurationError` for an address other machines reach while everybody is let in."""
        if host not in LOOPBACK and self._lets_all_in:
            raise ConfigurationError(
                f"refusing to listen on {host} without authentication: set KERNELWRIGHT_TOKEN or "
                "KERNELWRIGHT_SIGN_IN=required, or use 127.0.0.1"
            )

    def is_open(self, host: str) -> bool:
        """Whether a caller without token or session is the one user of this machine."""
        return host in LOOPBACK and self._lets_all_in

    @property
    def _lets_all_in(self) -> bool:
        configured = self.token or self.oidc_issuer or self.public_url
        return not configured and self.sign_in != "required"


def load_settings() -> Settings:
    """The settings of this process. Raises `ConfigurationError` naming the variable."""
    try:
        return Settings(**_from_files(os.environ))
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        name = "__".join(str(part) for part in fault["loc"]).upper()
        raise ConfigurationError(f"KERNELWRIGHT_{name}={fault['input']!r}: {fault['msg']}") from None


def _from_files(environment: Mapping[str, str]) -> dict[str, Any]:
    """Settings whose values lie in files, as Docker and Kubernetes hand over secrets: `KERNELWRIGHT_TOKEN_FILE=PATH`.

    Raises `ConfigurationError` for a file that cannot be read, and where a value is given as well."""
    found: dict[str, Any] = {}
    for field, info in Settings.model_fields.items():
        alias = info.validation_alias
        names = [str(name) for name in alias.choices] if isinstance(alias, AliasChoices) else []
        names = names or [f"KERNELWRIGHT_{field.upper()}"]
        for name in names:
            path = environment.get(f"{name}_FILE")
            if path is None:
                continue
            if name in environment:
                raise ConfigurationError(f"{name} and {name}_FILE are both set: unset one")
            if content := _content(f"{name}_FILE", path):  # an empty file stands for no secret
                found[names[0] if isinstance(alias, AliasChoices) else field] = content
    return found


def _content(name: str, path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ConfigurationError(f"{name}={path!r} cannot be read: {why}") from None
