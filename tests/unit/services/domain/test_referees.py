"""What an older referee accepted, or the problem itself vouches for, is no proof."""

from __future__ import annotations

from dataclasses import replace

import pytest

from services.domain.candidates import EvaluatedCandidate
from services.domain.evaluations import Verdict
from services.domain.jobs import Stage
from services.domain.referees import CURRENT, REFEREE_VERSION, SELF_ATTESTED, is_proof, referee_number
from services.team_memory.reward import Setting, experiences_of, lesson_of
from tests.doubles import a_candidate, a_report, an_experience


def test_todays_referee_is_proof_and_so_is_a_newer_one() -> None:
    assert is_proof(CURRENT)
    assert is_proof(CURRENT + 1)
    assert not is_proof(CURRENT - 1)


@pytest.mark.parametrize("version", [None, "", "none", "-1", "7.0", "9" * 40])
def test_a_referee_that_is_not_known_counts_as_older(version: str | None) -> None:
    assert not is_proof(referee_number(version))
    assert referee_number(REFEREE_VERSION) == CURRENT


def test_only_what_was_accepted_can_be_unproven() -> None:
    known = replace(an_experience(), verdict=Verdict.ACCEPTED, referee=CURRENT)
    assert not known.is_unproven
    assert replace(known, referee=CURRENT - 1).is_unproven
    assert replace(known, referee=None).is_unproven
    assert not replace(known, referee=None, verdict=Verdict.REJECTED).is_unproven
    assert not an_experience().is_unproven


def test_a_candidate_goes_by_the_referee_that_accepted_it_last() -> None:
    report = a_report()
    old = replace(report, environment=replace(report.environment, referee_version=str(CURRENT - 1)))
    assert not EvaluatedCandidate(candidate=a_candidate(), report=report).is_unproven
    assert EvaluatedCandidate(candidate=a_candidate(), report=old).is_unproven
    assert not EvaluatedCandidate(candidate=a_candidate(), report=old, verified_by=CURRENT).is_unproven
    assert not EvaluatedCandidate(candidate=a_candidate(), report=None).is_unproven


def test_a_self_attested_result_is_no_proof_whoever_judged_it() -> None:
    attested = replace(a_report(), self_attested="the problem's TOLERANCE is looser")
    assert a_report().proven_by == CURRENT
    assert attested.proven_by == SELF_ATTESTED
    assert EvaluatedCandidate(candidate=a_candidate(), report=attested).is_unproven
    assert EvaluatedCandidate(candidate=a_candidate(), report=a_report(), verified_by=SELF_ATTESTED).is_unproven
    assert replace(a_report(Verdict.REJECTED), self_attested="as above").proven_by is None


def test_memory_keeps_a_self_attested_result_out_of_recall_and_learns_nothing_from_it() -> None:
    setting = Setting(family="softmax", device="cpu", toolchain="g++ 12")
    attested = replace(a_report(), self_attested="the problem's TOLERANCE is looser")
    (made,) = experiences_of(
        a_candidate(),
        attested,
        stage=Stage.DRAFT,
        plan=None,
        critique=None,
        used=(),
        setting=setting,
        at=a_candidate().created_at,
    )
    assert made.is_unproven
    assert made.is_self_attested
    assert lesson_of(attested, setting, holdout=False, searched=True) is None
    assert lesson_of(a_report(), setting, holdout=False, searched=True) is not None
