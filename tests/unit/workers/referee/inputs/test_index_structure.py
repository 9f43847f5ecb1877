import pytest
import torch

from workers.referee.inputs.distributions import UNEVEN, WHOLE, changes, drawn, loose
from workers.referee.inputs.index_structure import first_rows, index_structure, more_rows, reaching, row_count, uneven


def compressed(rows: int = 64, width: int = 128, entries: int = 1024) -> list[torch.Tensor]:
    flat = torch.randperm(rows * width)[:entries].sort().values
    starts = torch.searchsorted(flat // width, torch.arange(rows + 1))
    return [starts, flat % width, torch.randn(entries), torch.randn(width)]


def coordinates(*, together: bool) -> list[torch.Tensor]:
    flat = torch.randperm(64 * 128)[:1024].sort().values
    places = [flat // 128, flat % 128]
    return [*([torch.stack(places)] if together else places), torch.randn(1024), torch.randn(128)]


def test_starts_and_columns_are_found_wherever_they_are() -> None:
    starts, columns, values, x = compressed()
    found = index_structure([x, values, columns, starts])
    assert found is not None
    assert (found.starts, found.columns, found.rows, found.entries) == (3, 2, None, 1024)
    assert loose([x, values, columns, starts]) == [x, values]


@pytest.mark.parametrize("together", [True, False])
def test_sorted_coordinates_are_found(together: bool) -> None:
    found = index_structure(coordinates(together=together))
    assert found is not None
    assert found.starts is None
    assert len(found.places) == (1 if together else 2)


def test_labels_and_permutations_are_no_structure() -> None:
    assert index_structure([torch.randint(0, 10, (1000,)), torch.randint(0, 10, (1000,))]) is None
    assert index_structure([torch.arange(100), torch.randperm(100)]) is None
    assert index_structure([torch.randn(10)]) is None


@pytest.mark.parametrize("make", [compressed, lambda: coordinates(together=True), lambda: coordinates(together=False)])
def test_uneven_rows_are_as_valid_as_the_own_ones(make: object) -> None:
    given = make()  # type: ignore[operator]
    found = index_structure(given)
    assert found is not None
    changed = uneven(given, found)
    assert changed is not None
    again = index_structure(changed)
    assert again == found
    assert [(one.shape, one.dtype) for one in changed] == [(one.shape, one.dtype) for one in given]
    columns = changed[found.columns][-1] if found.columns == found.rows else changed[found.columns]
    assert int(columns.min()) >= 0
    assert int(columns.max()) < 128
    if found.starts is not None:
        counts = changed[found.starts].diff()
        assert int(counts.max()) > 4 * int(given[found.starts].diff().max()) or int(counts.max()) == 128
        assert int((counts == 0).sum()) > 8
        row = torch.repeat_interleave(torch.arange(64), counts)
        assert bool(((row * 128 + columns).diff() > 0).all()), "columns of a row are in order and different"


def test_tokens_of_sequences_change_by_themselves() -> None:
    given = [torch.tensor([0, 90, 130, 200, 290, 310, 390, 430, 500]), torch.randint(0, 5000, (500,))]
    found = index_structure(given)
    assert found is not None
    assert not found.ordered
    assert found.places == {0}
    assert changes(given, WHOLE[0])
    changed = uneven(given, found)
    assert changed is not None
    assert torch.equal(changed[1], given[1])
    assert int(changed[0][-1]) == 500
    assert not torch.equal(changed[0], given[0])


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support")
def test_a_triangle_a_band_symmetry_and_rows_of_one_length_stay() -> None:
    dense = torch.rand(64, 64) < 0.2
    for pattern in (dense.tril(), dense & (torch.arange(64)[:, None] - torch.arange(64)).abs().lt(9), dense | dense.T):
        matrix = pattern.float().to_sparse_csr()
        given = [matrix.crow_indices(), matrix.col_indices(), matrix.values()]
        found = index_structure(given)
        assert found is not None
        assert uneven(given, found) is None
    even = [torch.arange(0, 1025, 16), torch.rand(64, 128).argsort(1)[:, :16].sort(1).values.flatten()]
    found = index_structure(even)
    assert found is not None
    assert uneven(even, found) is None


def test_draws_change_the_structure_as_a_whole_or_not_at_all() -> None:
    given = compressed()
    for distribution in WHOLE:
        starts, columns, *_ = drawn(given, distribution)
        assert torch.equal(starts, given[0])
        assert torch.equal(columns, given[1])
        assert not changes(given, distribution)
    assert changes(given, UNEVEN)
    starts, columns, values, _ = drawn(given, UNEVEN)
    assert not torch.equal(starts, given[0])
    assert torch.equal(values, given[2])
    assert not changes([torch.randn(64, 64)], UNEVEN)


def test_fewer_rows_are_cut_with_their_entries() -> None:
    given = compressed()
    found = index_structure(given)
    assert found is not None
    assert row_count(given, found) == 64
    starts, columns, values, x = first_rows(given, found, 7)
    assert starts.shape == (8,)
    assert columns.shape == values.shape == (int(starts[-1]),)
    assert x is given[3]
    pairs = coordinates(together=True)
    found = index_structure(pairs)
    assert found is not None
    places, values, _ = first_rows(pairs, found, 5)
    assert (places.shape, values.shape) == ((2, 5), (5,))


def test_more_rows_repeat_the_entries_and_hold_new_values() -> None:
    given = compressed()
    found = index_structure(given)
    assert found is not None
    starts, columns, values, x = more_rows(given, found, 3)
    again = index_structure([starts, columns, values, x])
    assert again is not None
    assert again.ordered
    assert (starts.numel(), again.entries) == (3 * 64 + 1, 3 * 1024)
    assert torch.equal(starts[:65], given[0])
    assert torch.equal(columns[1024:2048], given[1])
    assert torch.equal(values[1024:2048], given[2].flip(0))
    assert x is given[3]


@pytest.mark.parametrize("together", [True, False])
def test_more_coordinates_are_those_of_more_rows(together: bool) -> None:
    given = coordinates(together=together)
    found = index_structure(given)
    assert found is not None
    longer = more_rows(given, found, 2)
    again = index_structure(longer)
    assert again is not None
    assert again.entries == 2048
    rows = longer[0][0] if together else longer[0]
    assert int(rows.max()) == 2 * int((given[0][0] if together else given[0]).max()) + 1


def test_places_reach_the_end_of_what_has_grown_and_other_whole_numbers_stay() -> None:
    tokens, labels, offsets = torch.randint(0, 2048, (4096,)), torch.randint(0, 10, (4096,)), torch.tensor([0, 9, 4096])
    tokens[0] = 2047
    found = reaching([torch.randn(70_000, 2), tokens, labels, offsets], 2048, 70_000)
    assert found is not None
    assert int(found[1].max()) == 69_999
    assert found[2] is labels
    assert found[3] is offsets
    assert reaching([torch.randn(70_000, 2), labels], 2048, 70_000) is None
