"""Calls timed in batches say nothing one by one: no gate may ask for it."""

from workers.referee.gates.integrity import _put_off_s
from workers.referee.timing import Samples


def test_nothing_is_put_off_where_a_batch_holds_the_reading() -> None:
    assert _put_off_s(Samples(candidate=[1e-5], baseline=[1e-5], batched=True)) == 0.0
