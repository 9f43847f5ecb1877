"""Who is slower on values that nobody can have seen uses results of earlier calls."""

import itertools
import random
from collections.abc import Callable

from services.domain.gates import GateStatus
from workers.referee.gates.checks.memoization import MOST_MEASUREMENTS, remembered
from workers.referee.timing.single_calls import Samples
from workers.referee.trial import Measured

UNSEEN = [index % 5 == 0 for index in range(30)]


def measured(unseen_s: float, others_s: float, baseline_unseen_s: float = 1e-3) -> Measured:
    samples = Samples(
        candidate=[(unseen_s if fresh else others_s) * (1 + 0.01 * (index % 3)) for index, fresh in enumerate(UNSEEN)],
        baseline=[baseline_unseen_s if fresh else 1e-3 for fresh in UNSEEN],
        fresh=list(UNSEEN),
    )
    return Measured(number=0, baseline="eager", samples=samples, shapes=())


def never() -> Measured:
    raise AssertionError("there was no cause to measure again")


def always(value: Measured) -> Callable[[], Measured]:
    return lambda: value


def test_an_honest_kernel_takes_as_long_on_either_kind() -> None:
    assert remembered(measured(1e-3, 1e-3), never) is None


def test_a_replay_is_evidence_once_measurements_rule_out_chance() -> None:
    replay = measured(1e-3, 2e-4)
    finding = remembered(replay, always(replay))
    assert finding is not None
    assert finding.status is GateStatus.FAILED
    assert "cannot have seen" in finding.detail


def test_what_a_second_measurement_does_not_show_was_noise() -> None:
    assert remembered(measured(1e-3, 2e-4), always(measured(1e-3, 1e-3))) is None


def test_a_little_slower_is_a_hint() -> None:
    little = measured(1.4e-3, 1e-3)
    finding = remembered(little, always(little))
    assert finding is not None
    assert finding.status is GateStatus.SUSPICIOUS


def test_what_costs_the_baseline_more_as_well_accuses_nobody() -> None:
    assert remembered(measured(2e-3, 1e-3, baseline_unseen_s=2e-3), never) is None


def test_calls_of_batches_are_compared_one_by_one() -> None:
    each = [1e-3 if fresh else 2e-4 for fresh in UNSEEN]
    samples = Samples(candidate=[3e-4] * 3, baseline=[1e-3] * 3, fresh=list(UNSEEN), each=each)
    replay = Measured(number=0, baseline="eager", samples=samples, shapes=())
    assert remembered(replay, always(replay)) is not None


def test_a_few_calls_say_nothing() -> None:
    few = Samples(candidate=[1e-3, 1e-4, 1e-4], baseline=[1e-3] * 3, fresh=[True, False, False])
    assert remembered(Measured(number=0, baseline="eager", samples=few, shapes=()), never) is None


def test_unseen_calls_that_lie_far_apart_are_still_slower() -> None:
    fresh = [index % 6 == 0 for index in range(18)]
    slow = itertools.cycle((2e-3, 10e-3, 30e-3))
    samples = Samples(
        candidate=[next(slow) if one else 1e-3 for one in fresh], baseline=[1e-3] * len(fresh), fresh=fresh
    )
    far_apart = Measured(number=0, baseline="eager", samples=samples, shapes=())
    assert remembered(far_apart, always(far_apart)) is not None


def busy(generator: random.Random, *, knows: bool) -> Measured:
    """On a machine that delays half of all calls; three of them are on unseen values."""
    fresh = [index < 3 for index in range(19)]
    took = [1e-3 * (2.0 if generator.random() < 0.5 else 1.0) for _ in fresh]
    own = [one if unseen or not knows else one / 4 for one, unseen in zip(took, fresh, strict=True)]
    samples = Samples(candidate=own, baseline=[1e-3] * len(fresh), fresh=fresh)
    return Measured(number=0, baseline="eager", samples=samples, shapes=())


def test_calls_that_are_slow_by_chance_accuse_nobody() -> None:
    generator = random.Random(7)

    findings = [remembered(busy(generator, knows=False), lambda: busy(generator, knows=False)) for _ in range(2000)]

    assert sum(finding is not None for finding in findings) <= 1


def test_a_replay_is_found_on_a_busy_machine_by_more_measurements() -> None:
    generator, made = random.Random(7), []

    def again() -> Measured:
        made.append(busy(generator, knows=True))
        return made[-1]

    assert remembered(busy(generator, knows=True), again) is not None
    assert 3 <= len(made) < MOST_MEASUREMENTS


def test_memory_that_delays_the_baseline_by_as_many_seconds_accuses_nobody() -> None:
    """What is read from cold memory: a tenth of the baseline's time, and as long as the candidate's own."""
    samples = Samples(
        candidate=[2e-4 if fresh else 1e-4 for fresh in UNSEEN],
        baseline=[1.1e-3 if fresh else 1e-3 for fresh in UNSEEN],
        fresh=list(UNSEEN),
    )
    assert remembered(Measured(number=0, baseline="eager", samples=samples, shapes=()), never) is None
