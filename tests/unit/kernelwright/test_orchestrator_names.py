"""Which orchestrators are known to have ended."""

from __future__ import annotations

import os

from kernelwright.orchestrator_names import is_gone, own_name


def test_a_living_process_is_not_gone() -> None:
    assert not is_gone(own_name())


def test_names_are_unique_within_a_process() -> None:
    assert own_name() != own_name()


def test_a_process_id_that_was_given_to_another_process_is_gone() -> None:
    host, place, pid, start, token = own_name().rsplit("-", 4)
    assert pid == str(os.getpid())
    assert is_gone(f"{host}-{place}-{pid}-{int(start) - 1}-{token}")


def test_what_is_said_of_other_places_is_doubted() -> None:
    host, place, _pid, start, token = own_name().rsplit("-", 4)
    assert not is_gone(f"elsewhere-{place}-999999999-{start}-{token}")
    assert not is_gone(f"{host}-00000000-999999999-{start}-{token}")
    assert not is_gone("benchmark")
    assert is_gone(f"{host}-{place}-999999999-{start}-{token}")
