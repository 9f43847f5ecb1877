"""What a report says about the host."""

from workers.profilers.host import HostClock


def test_shares_are_shares_and_the_load_is_said() -> None:
    found = HostClock.now().since()
    assert found["load_1m"] >= 0.0
    assert all(0.0 <= found[name] <= 1.0 for name in ("busy_share", "steal_share") if name in found)


def test_a_kernel_that_says_nothing_leaves_the_load() -> None:
    assert set(HostClock(ticks=()).since()) <= {"load_1m", "mhz"}
