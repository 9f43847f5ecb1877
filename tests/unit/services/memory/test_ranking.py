"""Keys filter before vectors rank; exact and stable."""

from __future__ import annotations

import numpy as np
import pytest

from services.domain.problems import ProblemAnalysis, TensorSpec
from services.memory.keys import Keys, KeyTable, dtype, shape_class
from services.memory.ranking import Vectors, nearest

TABLE = KeyTable(
    [
        Keys(family="softmax", backend="cpp", dtype="float32", bottleneck="memory"),
        Keys(family="softmax", backend="cpp", dtype="float16", bottleneck="compute"),
        Keys(family="softmax", backend="triton", dtype="float32"),
        Keys(family="norm", backend="cpp"),
        Keys(backend="cpp"),
    ]
)


def test_an_experience_without_a_key_fits_every_query() -> None:
    assert TABLE.fitting(Keys(family="softmax", backend="cpp")).tolist() == [True, True, False, False, True]


def test_a_query_without_a_key_fits_every_experience() -> None:
    assert TABLE.fitting(Keys()).all()


@pytest.mark.parametrize(
    ("at_least", "expected"),
    [
        (2, [True, False, False, False, True]),
        (3, [True, True, False, False, True]),
        (4, [True, True, False, True, True]),
        (99, [True, True, False, True, True]),
    ],
)
def test_keys_are_given_up_in_order_while_too_few_fit_but_never_the_backend(
    at_least: int, expected: list[bool]
) -> None:
    wanted = Keys(family="softmax", backend="cpp", dtype="float32", bottleneck="memory")
    assert TABLE.fitting(wanted, at_least=at_least).tolist() == expected


def test_a_value_nobody_has_fits_only_the_keyless() -> None:
    assert TABLE.fitting(Keys(family="scan", backend="cpp")).tolist() == [False, False, False, False, True]


def test_a_table_grows() -> None:
    table = KeyTable()
    assert len(table) == 0
    table.append([Keys(family="scan"), Keys(family="norm")])
    table.append([Keys(family="scan")])
    assert table.fitting(Keys(family="scan")).tolist() == [True, False, True]


def unit(rows: int, seed: int = 0) -> Vectors:
    vectors = np.random.default_rng(seed).normal(size=(rows, 16)).astype(np.float32)
    scaled: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return scaled


@pytest.mark.parametrize("share", [0.05, 0.9])
def test_the_nearest_are_those_of_a_full_sort(share: float) -> None:
    vectors, query = unit(500), unit(1, seed=1)[0]
    mask = np.random.default_rng(2).random(500) < share
    rows, similarity = nearest(vectors, query, mask, 20)
    expected = sorted(np.flatnonzero(mask), key=lambda row: -float(vectors[row] @ query))[:20]
    assert rows.tolist() == [int(row) for row in expected]
    assert np.allclose(similarity, vectors[rows] @ query, atol=1e-6)


def test_equally_similar_rows_keep_their_order() -> None:
    vectors = np.repeat(unit(1), 6, axis=0)
    assert nearest(vectors, vectors[0], None, 3)[0].tolist() == [0, 1, 2]


def test_no_rows_and_no_places_give_nothing() -> None:
    vectors = unit(4)
    assert nearest(vectors, vectors[0], np.zeros(4, dtype=bool), 3)[0].tolist() == []
    assert nearest(vectors, vectors[0], None, 0)[0].tolist() == []
    assert nearest(vectors[:0], vectors[0], None, 3)[0].tolist() == []


def analysis(*inputs: TensorSpec) -> ProblemAnalysis:
    return ProblemAnalysis(
        family="softmax", inputs=inputs, parameters=(), operators=(), outputs=(), bytes_moved=0, flops=0, floor_us=0.0
    )


def test_the_shape_class_tells_rows_and_columns_by_magnitude() -> None:
    small = TensorSpec(name="mask", shape=(8,), dtype="bool")
    large = TensorSpec(name="x", shape=(64, 128, 4096), dtype="float16")
    assert shape_class(analysis(small, large)) == "3d-r3-c3"
    assert dtype(analysis(small, large)) == "float16"


def test_a_problem_without_tensor_inputs_has_classes_too() -> None:
    assert (shape_class(analysis()), dtype(analysis())) == ("none", "none")
