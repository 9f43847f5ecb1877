"""A reference that does something beside its operators is slow; one of many operators is not."""

from workers.referee.baselines.overhead import ReferenceCost


def test_a_moment_at_which_the_machine_was_slow_is_not_the_reference_s_doing() -> None:
    busy, quiet = (ReferenceCost(baseline_s=seconds, operators_s=1e-3) for seconds in (5e-3, 1.1e-3))
    assert busy.is_slow
    assert not busy.pooled(quiet).is_slow
