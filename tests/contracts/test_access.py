"""Teams, users, tokens, sessions and the audit log over every implementation of their stores."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from functools import partial

import pytest
from sqlalchemy import Connection, delete, select, text, update
from sqlalchemy.exc import IntegrityError

from services.domain.access import ALL_SCOPES, Identity, Principal, Role, TokenScope, User, local_principal
from services.domain.errors import (
    AuthenticationError,
    ConfigurationError,
    ConflictError,
    ForbiddenError,
    NotFoundError,
)
from services.teams.access import AccessService
from storage.database import Database
from storage.tables import api_tokens, audit_log, sessions
from storage.teams.audit import SqlAuditLog
from tests.contracts.conftest import Stores
from tests.doubles import FrozenClock, InMemoryDatabase


class Office:
    """The use cases of access, and a clock that stands still."""

    def __init__(self, stores: Stores) -> None:
        self.database, self.clock = stores.database, stores.clock
        self.access = AccessService(stores.teams, stores.keys, stores.audit, stores.clock)

    async def kept(self) -> str:
        """All that is stored about tokens and sessions."""
        if isinstance(self.database, InMemoryDatabase):
            return repr((self.database.api_tokens, self.database.sessions))
        read = self.database.read
        return repr([await read(lambda found, it=it: found.execute(select(it)).all()) for it in (api_tokens, sessions)])  # type: ignore[misc]

    async def team(self, name: str, *logins: str, role: Role = Role.ADMIN) -> None:
        await self.access.create_team(name, "test")
        for login in logins:
            await self.access.add_member(name, login, role, "test")

    async def user(self, team: str, login: str) -> User:
        return (await self.access.member(team, login)).user

    def admin(self, team: str) -> Principal:
        return Principal(team_id=team, actor="test", role=Role.ADMIN, scopes=ALL_SCOPES)


@pytest.fixture
def office(stores: Stores) -> Office:
    return Office(stores)


def an_identity(email: str | None, subject: str = "17") -> Identity:
    return Identity(issuer="https://id.example", subject=subject, name="Ada", email=email)


async def test_a_token_opens_its_team_with_its_scopes_and_only_its_hash_is_kept(office: Office) -> None:
    await office.team("red")
    made = await office.access.create_token(office.admin("red"), "ci", {TokenScope.READ}, days=1, owner=None)
    caller = await office.access.by_token(made.text)
    assert (caller.team_id, caller.scopes, caller.actor) == (
        "red",
        frozenset({TokenScope.READ}),
        f"token:{made.token.id}",
    )
    assert caller.may(TokenScope.READ)
    assert not caller.may(TokenScope.WRITE)
    secret = made.text.rpartition("_")[2]
    assert made.text.startswith(f"kw_{made.token.id}_")
    assert secret not in await office.kept()


@pytest.mark.parametrize("wrong", ["", "kw_", "kw__", "kw_0123456789_x", "Bearer", "kw_\udce4_x"])
async def test_what_is_no_token_opens_nothing(office: Office, wrong: str) -> None:
    with pytest.raises(AuthenticationError):
        await office.access.by_token(wrong)


async def test_a_tokens_id_with_another_secret_opens_nothing(office: Office) -> None:
    await office.team("red")
    one, two = [
        await office.access.create_token(office.admin("red"), name, {TokenScope.READ}, days=None, owner=None)
        for name in ("one", "two")
    ]
    with pytest.raises(AuthenticationError, match="Invalid or revoked"):
        await office.access.by_token(f"kw_{one.token.id}_{two.text.split('_', 2)[2]}")


async def test_expired_and_revoked_tokens_open_nothing(office: Office) -> None:
    await office.team("red")
    caller = office.admin("red")
    short = await office.access.create_token(caller, "short", {TokenScope.READ}, days=1, owner=None)
    gone = await office.access.create_token(caller, "gone", {TokenScope.READ}, days=30, owner=None)
    for _ in range(2):
        await office.access.revoke(caller, gone.token.id)
    with pytest.raises(AuthenticationError, match="revoked"):
        await office.access.by_token(gone.text)
    office.clock.advance(86400)
    with pytest.raises(AuthenticationError, match="expired"):
        await office.access.by_token(short.text)
    assert [entry.action for entry in await office.access.audit("red")] == [
        "revoke_token",
        "create_token",
        "create_token",
        "create_team",
    ]


async def test_a_users_token_does_what_the_user_may_do_now(office: Office) -> None:
    await office.team("red", "boss@x", "ada@x")
    ada = await office.user("red", "ada@x")
    made = await office.access.create_token(office.admin("red"), "mine", ALL_SCOPES, days=None, owner=ada)
    assert (await office.access.by_token(made.text)).may(TokenScope.ADMIN)
    await office.access.set_role("red", ada.id, Role.VIEWER, "test")
    caller = await office.access.by_token(made.text)
    assert (caller.actor, caller.may(TokenScope.READ), caller.may(TokenScope.WRITE)) == ("user:ada@x", True, False)
    await office.access.remove_member("red", ada.id, "test")
    with pytest.raises(AuthenticationError, match="left team red"):
        await office.access.by_token(made.text)


async def test_nobody_makes_a_token_that_may_more_than_they_do(office: Office) -> None:
    await office.team("red", "boss@x")
    await office.access.add_member("red", "ada@x", Role.MEMBER, "test")
    ada = await office.user("red", "ada@x")
    boss = await office.user("red", "boss@x")
    member = Principal(team_id="red", actor="user:ada@x", role=Role.MEMBER, scopes=ALL_SCOPES, user=ada)
    with pytest.raises(ForbiddenError, match="admin"):
        await office.access.create_token(member, "more", {TokenScope.ADMIN}, days=1, owner=ada)
    for other in (None, boss):
        with pytest.raises(ForbiddenError, match="only admins"):
            await office.access.create_token(member, "other", {TokenScope.READ}, days=1, owner=other)
    made = await office.access.create_token(member, "own", {TokenScope.READ, TokenScope.WRITE}, days=1, owner=ada)
    with pytest.raises(ForbiddenError, match="sign in"):
        await office.access.create_token(
            await office.access.by_token(made.text), "child", {TokenScope.READ}, days=1, owner=ada
        )
    with pytest.raises(ConfigurationError, match="at least one scope"):
        await office.access.create_token(member, "none", (), days=1, owner=ada)


async def test_members_see_and_revoke_their_own_tokens_and_admins_all_of_the_team(office: Office) -> None:
    await office.team("red", "boss@x")
    await office.team("blue")
    await office.access.add_member("red", "ada@x", Role.MEMBER, "test")
    ada = await office.user("red", "ada@x")
    member = Principal(team_id="red", actor="user:ada@x", role=Role.MEMBER, scopes=ALL_SCOPES, user=ada)
    own = await office.access.create_token(member, "own", {TokenScope.READ}, days=1, owner=ada)
    other = await office.access.create_token(office.admin("red"), "ci", {TokenScope.READ}, days=1, owner=None)
    assert [token.name for token in await office.access.tokens(member)] == ["own"]
    assert {token.name for token in await office.access.tokens(office.admin("red"))} == {"own", "ci"}
    assert await office.access.tokens(office.admin("blue")) == ()
    for caller, token in ((member, other), (office.admin("blue"), own)):
        with pytest.raises(NotFoundError):
            await office.access.revoke(caller, token.token.id)
    await office.access.revoke(member, own.token.id)


async def test_a_team_keeps_an_admin_however_fast_they_leave(office: Office) -> None:
    await office.team("red", "a@x", "b@x")
    ids = [member.user.id for member in await office.access.members("red")]
    left = await asyncio.gather(
        *(office.access.remove_member("red", user_id, "test") for user_id in ids), return_exceptions=True
    )
    assert [type(outcome) for outcome in left if outcome is not None] == [ConflictError]
    (kept,) = await office.access.members("red")
    with pytest.raises(ConflictError, match="last admin"):
        await office.access.set_role("red", kept.user.id, Role.MEMBER, "test")


async def test_names_of_teams_and_logins_are_checked_and_taken_once(office: Office) -> None:
    await office.team("red", "Ada@X")
    for wrong in ("", "Red", "a b", "-a", "a" * 64, "../x"):
        with pytest.raises(ConfigurationError, match="name"):
            await office.access.create_team(wrong, "test")
    with pytest.raises(ConflictError, match="already"):
        await office.access.create_team("red", "test")
    with pytest.raises(ConflictError, match="already"):
        await office.access.add_member("red", " ada@x", Role.VIEWER, "test")
    with pytest.raises(ConfigurationError, match="login"):
        await office.access.add_member("red", "a da", Role.VIEWER, "test")
    with pytest.raises(NotFoundError, match="no team green"):
        await office.access.add_member("green", "ada@x", Role.VIEWER, "test")
    with pytest.raises(NotFoundError):
        await office.access.set_role("red", "usr-none", Role.VIEWER, "test")


async def test_a_person_signs_in_under_the_address_that_an_admin_added(office: Office) -> None:
    await office.team("red", "ada@x")
    await office.team("blue", "ada@x", role=Role.VIEWER)
    secret = await office.access.sign_in(an_identity("Ada@X"))
    caller = await office.access.by_session(secret)
    assert (caller.team_id, caller.role, caller.actor) == ("blue", Role.VIEWER, "user:ada@x")
    await office.access.look_at(secret, "red")
    assert (await office.access.by_session(secret)).role is Role.ADMIN
    with pytest.raises(NotFoundError):
        await office.access.look_at(secret, "green")
    ada = await office.user("red", "ada@x")
    await office.access.add_member("red", "b@x", Role.ADMIN, "test")
    await office.access.remove_member("red", ada.id, "test")
    assert (await office.access.by_session(secret)).team_id == "blue"
    await office.access.sign_out(secret)
    with pytest.raises(AuthenticationError, match="signed out"):
        await office.access.by_session(secret)
    assert secret not in await office.kept()


async def test_strangers_and_other_accounts_with_the_same_address_are_refused(office: Office) -> None:
    await office.team("red", "ada@x")
    with pytest.raises(ForbiddenError, match=r"eve@x is not a user here.*kernelwright user add"):
        await office.access.sign_in(an_identity("eve@x"))
    with pytest.raises(ForbiddenError, match="is not a user here"):
        await office.access.sign_in(an_identity(None))
    await office.access.sign_in(an_identity("ada@x"))
    with pytest.raises(ForbiddenError, match="is not a user here"):
        await office.access.sign_in(an_identity("ada@x", subject="18"))
    await office.access.sign_in(an_identity("renamed@x"))


async def test_a_session_ends_by_itself(office: Office) -> None:
    await office.team("red", "ada@x")
    secret = await office.access.sign_in(an_identity("ada@x"))
    office.clock.advance(timedelta(hours=12).total_seconds())
    with pytest.raises(AuthenticationError):
        await office.access.by_session(secret)


async def test_the_audit_log_is_paged_by_team(office: Office) -> None:
    await office.team("red")
    for number in range(5):
        await office.access.record(local_principal("local"), f"act_{number}", "job-1", "it was")
    first = await office.access.audit("local", limit=3)
    assert [entry.action for entry in first] == ["act_4", "act_3", "act_2"]
    rest = await office.access.audit("local", before=first[-1].id)
    assert [entry.action for entry in rest] == ["act_1", "act_0"]
    assert rest[0].detail == "it was"
    assert [entry.action for entry in await office.access.audit("red")] == ["create_team"]


async def test_a_databases_audit_log_cannot_be_changed_and_takes_any_text(database: Database) -> None:
    log = SqlAuditLog(database, FrozenClock())
    await log.append("local", "ann", "submit_job", "job-1", "it\x00was")
    assert [entry.detail for entry in await log.read("local")] == ["it\ufffdwas"]
    for unsay in (update(audit_log).values(actor="nobody"), delete(audit_log)):
        with pytest.raises(IntegrityError, match="append-only"):
            await database.write(partial(Connection.execute, statement=unsay))
    if database.is_postgres:
        for truncation in ("TRUNCATE audit_log", "TRUNCATE teams CASCADE"):
            with pytest.raises(IntegrityError, match="append-only"):
                await database.write(partial(Connection.execute, statement=text(truncation)))
    assert [entry.detail for entry in await log.read("local")] == ["it\ufffdwas"]


async def test_a_teams_weight_is_changed_and_entered_in_the_audit_log(office: Office) -> None:
    await office.team("red")
    changed = await office.access.set_weight("red", 2.5, "cli:root")
    assert changed.weight == 2.5
    assert {team.id: team.weight for team in await office.access.teams()}["red"] == 2.5
    latest = (await office.access.audit("red"))[0]
    assert (latest.actor, latest.action, latest.detail) == ("cli:root", "set_weight", "2.5")


@pytest.mark.parametrize("wrong", [0.0, -1.0, 1e9, float("nan"), float("inf")])
async def test_a_weight_that_makes_no_sense_is_refused_with_the_range(office: Office, wrong: float) -> None:
    await office.team("red")
    with pytest.raises(ConfigurationError, match=r"from 0\.01 to 1000"):
        await office.access.set_weight("red", wrong, "cli:root")
    with pytest.raises(NotFoundError):
        await office.access.set_weight("nobody", 2.0, "cli:root")
