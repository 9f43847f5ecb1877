import json

import pytest
import torch

from workers.ipc.sparse import LAYOUTS, SparseForm, holds_sparse, is_sparse, parts_of
from workers.ipc.tensors import Block, DataError, decode, encode, flatten, mapped, structure
from workers.referee.comparison.output_structure import ContractError, places

pytestmark = pytest.mark.filterwarnings("ignore:Sparse .* tensor support is in beta state")


def sparse(layout: str) -> torch.Tensor:
    dense = torch.randn(16, 24) * (torch.rand(16, 24) < 0.4)
    if layout in ("sparse_bsr", "sparse_bsc"):
        return dense.to_sparse(layout=LAYOUTS[layout], blocksize=(4, 4))
    return dense.to_sparse(layout=LAYOUTS[layout])


@pytest.mark.parametrize("layout", sorted(LAYOUTS))
def test_a_sparse_tensor_crosses_by_its_parts(layout: str) -> None:
    given = sparse(layout)
    tensors: list[torch.Tensor] = []
    data = json.loads(json.dumps(encode([given, 3], tensors)))
    block = Block.holding(tensors)
    found, _ = decode(data, block.tensors)
    block.close()
    assert SparseForm.of(found) == SparseForm.of(given)
    assert torch.equal(found.to_dense(), given.to_dense())


@pytest.mark.parametrize("layout", sorted(LAYOUTS))
def test_parts_lie_in_the_memory_of_the_whole(layout: str) -> None:
    given = sparse(layout)
    tensors: list[torch.Tensor] = []
    whole = decode(encode(given, tensors), tensors)
    tensors[-1].mul_(2.0)
    assert torch.equal(parts_of(whole)[-1], tensors[-1])


def test_nested_values_are_flattened_and_mapped_by_parts() -> None:
    given = {"matrix": sparse("sparse_csr"), "x": torch.randn(3)}
    assert len(flatten(given)) == 4
    doubled = mapped(given, lambda one: one * 2 if one.is_floating_point() else one)
    assert torch.allclose(doubled["matrix"].to_dense(), given["matrix"].to_dense() * 2)
    assert holds_sparse(structure(given, []))
    assert not holds_sparse(structure({"sparse": torch.randn(2)}, []))
    assert not is_sparse(torch.randn(2))


def test_fewer_starts_are_fewer_rows() -> None:
    given = sparse("sparse_csr")
    starts, columns, values = parts_of(given)
    count = int(starts[5])
    found = SparseForm.of(given).tensor([starts[:6], columns[:count], values[:count]])
    assert torch.equal(found.to_dense(), given.to_dense()[:5])


def test_another_layout_or_a_dense_result_is_named() -> None:
    expected = structure(sparse("sparse_csr"), [])
    assert places(expected, expected) == [0, 1, 2]
    for other in (sparse("sparse_coo"), torch.randn(16, 24)):
        with pytest.raises(ContractError, match="sparse"):
            places(structure(other, []), expected)


def test_what_is_no_form_is_refused() -> None:
    with pytest.raises(ValueError, match="form"):
        SparseForm.parse(["sparse_csr", "16", True])
    with pytest.raises(DataError, match="float8_e8m0fnu"):
        encode(torch.zeros(4, dtype=torch.float8_e8m0fnu), [])
