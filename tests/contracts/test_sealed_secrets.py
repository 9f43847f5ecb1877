"""Webhook secrets in the database: encrypted where there is a key, and readable with that key alone."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from cryptography.fernet import Fernet
from sqlalchemy import select

from services.domain.errors import ConfigurationError
from services.domain.events import EventKind
from services.domain.webhooks import Webhook
from storage.database import Database
from storage.jobs.events import SqlEventLog
from storage.jobs.store import SqlJobStore
from storage.tables import webhooks
from storage.teams.encryption import SecretSealer
from storage.teams.webhooks import SqlWebhookStore
from tests.doubles import FrozenClock, a_job
from tests.doubles.builders import MOMENT

OLD, NEW = (Fernet.generate_key().decode() for _ in range(2))
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
HOOK = Webhook(
    id="hook-1",
    team_id="local",
    url="https://example.com/hook",
    kinds=(EventKind.JOB_STATUS, EventKind.JOB_NOTICE),
    secret=SECRET,
    enabled=True,
    note=None,
    created_at=MOMENT,
)


@pytest_asyncio.fixture(params=["sqlite_address", "postgres_address"])
async def database(request: pytest.FixtureRequest) -> AsyncIterator[Database]:
    opened = Database(request.getfixturevalue(request.param))
    await SqlJobStore(opened, FrozenClock()).create(a_job())
    yield opened
    await opened.close()


def store(database: Database, *keys: str) -> SqlWebhookStore:
    return SqlWebhookStore(database, FrozenClock(), SecretSealer(keys))


async def stored(database: Database) -> str:
    """What a dump of the database shows."""
    return str(await database.read(lambda connection: connection.execute(select(webhooks.c.secret)).scalar_one()))


async def test_a_secret_is_encrypted_with_a_key_and_signs_as_before(database: Database) -> None:
    sealed = store(database, NEW)
    await sealed.add(HOOK)
    assert SECRET not in await stored(database)
    assert (await sealed.get("local", "hook-1")).secret == SECRET
    assert [hook.secret for hook in await sealed.list("local")] == [SECRET]
    await SqlEventLog(database, FrozenClock()).append("job-1", EventKind.JOB_NOTICE, {"message": "so"})
    ((hook, message),) = await sealed.claim(10, 60)
    assert (hook.secret, message.webhook_id) == (SECRET, "hook-1")
    assert SECRET not in message.body


async def test_secrets_of_before_are_read_and_sealed_on_request_and_keys_change(database: Database) -> None:
    await store(database).add(HOOK)
    assert await stored(database) == SECRET
    assert (await store(database, OLD).get("local", "hook-1")).secret == SECRET

    assert await store(database, OLD).seal_all() == 1
    by_old = await stored(database)
    assert SECRET not in by_old

    assert await store(database, NEW, OLD).seal_all() == 1
    assert await stored(database) != by_old
    assert (await store(database, NEW).get("local", "hook-1")).secret == SECRET


async def test_a_missing_or_wrong_key_is_an_error_that_says_what_to_do(database: Database) -> None:
    await store(database, OLD).add(HOOK)
    with pytest.raises(ConfigurationError, match="set KERNELWRIGHT_SECRETS_KEY"):
        await store(database).get("local", "hook-1")
    with pytest.raises(ConfigurationError, match="add that key"):
        await store(database, NEW).get("local", "hook-1")
    with pytest.raises(ConfigurationError, match="no key to seal with"):
        await store(database).seal_all()
    with pytest.raises(ConfigurationError, match="db new-key"):
        SecretSealer(["password"])
