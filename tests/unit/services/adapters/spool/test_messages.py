"""Sealed messages: what is believed, and what is not."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.adapters.spool.messages import (
    FORMAT,
    IncompleteError,
    SealError,
    SpooledWork,
    SpoolKey,
    SpoolKind,
    SpoolMessage,
    check_timely,
    digest_of,
)
from services.domain.codec import to_data
from services.domain.errors import ConfigurationError
from tests.doubles import a_report
from tests.unit.services.adapters.spool.setup import SECRET, a_request

KEY = SpoolKey(SECRET)
NOW = datetime(2026, 5, 1, tzinfo=UTC)
ORDER = SpoolMessage(
    kind=SpoolKind.ORDER,
    about="eval-1",
    job_id="job-1",
    version="1.0",
    sender="service",
    made_at=NOW,
    expires_at=NOW + timedelta(days=1),
    work=SpooledWork.EVALUATION,
    digest=digest_of(a_request()),
    body=to_data(a_request()),
)
CONTENT = KEY.seal(ORDER)


def test_a_message_comes_back_as_it_was_sealed() -> None:
    opened = KEY.open(CONTENT)
    assert opened == ORDER
    assert opened.request() == a_request()


def test_a_report_comes_back_with_numbers_that_json_has_not() -> None:
    report = dataclasses.replace(a_report(), speedup=dataclasses.replace(a_report().speedup, eager=float("inf")))
    sealed = KEY.seal(dataclasses.replace(ORDER, kind=SpoolKind.REPORT, body=to_data(report)))
    assert KEY.open(sealed).report() == report


@given(st.integers(0, len(CONTENT) - 1))
@settings(max_examples=200, deadline=None)
def test_every_beginning_of_a_file_is_incomplete_and_nothing_worse(length: int) -> None:
    with pytest.raises(IncompleteError):
        KEY.open(CONTENT[:length])


@given(st.integers(0, len(CONTENT) - 1), st.integers(1, 255))
@settings(max_examples=300, deadline=None)
def test_a_changed_byte_is_never_believed(place: int, change: int) -> None:
    changed = bytearray(CONTENT)
    changed[place] ^= change
    with pytest.raises(SealError):
        KEY.open(bytes(changed))


@given(st.binary(max_size=400))
@settings(max_examples=200, deadline=None)
def test_anything_else_is_refused_and_breaks_nothing(content: bytes) -> None:
    with pytest.raises(SealError):
        KEY.open(content)


def test_another_key_a_further_byte_and_another_format_are_told_apart() -> None:
    with pytest.raises(SealError, match="its signature is wrong"):
        SpoolKey("6" * 64).open(CONTENT)
    with pytest.raises(SealError, match="something follows"):
        KEY.open(CONTENT + b" ")
    with pytest.raises(SealError, match=f"format 7, and this program reads {FORMAT}"):
        KEY.open(CONTENT.replace(b"kernelwright-spool 1 ", b"kernelwright-spool 7 ", 1))


def test_a_kind_is_signed_and_says_what_may_be_read() -> None:
    with pytest.raises(SealError, match="does not fit"):
        dataclasses.replace(ORDER, body={"evaluation_id": "eval-1"}).request()
    with pytest.raises(SealError, match="whether it is about"):
        dataclasses.replace(ORDER, work=None).request()


def test_another_version_and_an_old_message_are_refused_with_the_reason() -> None:
    check_timely(ORDER, "1.0", NOW)
    with pytest.raises(SealError, match=r"made by version 1\.0, and this is 1\.1"):
        check_timely(ORDER, "1.1", NOW)
    with pytest.raises(SealError, match="it expired at 2026-05-02"):
        check_timely(ORDER, "1.0", NOW + timedelta(days=2))


def test_a_short_key_is_refused_and_new_ones_differ() -> None:
    with pytest.raises(ConfigurationError, match="kernelwright spool key"):
        SpoolKey("short\n")
    assert SpoolKey.new() != SpoolKey.new()
    SpoolKey(SpoolKey.new())
