"""`TUNABLES` in a candidate's text: what counts as a declaration, and what a setting makes of the source."""

import pytest

from services.domain.tunables import TunablesError, combinations, declared, described, settings, with_values

SOURCE = """import torch
TUNABLES = {  # what is searched
    "BLOCK": [128, 256],
    "HOW": (
        "rows",
        "tiles",
    ),
}
x = TUNABLES["BLOCK"][0]
"""


def test_the_declared_values_are_read_in_order_and_each_once() -> None:
    assert declared(SOURCE) == {"BLOCK": (128, 256), "HOW": ("rows", "tiles")}
    assert declared('TUNABLES: dict[str, list[float]] = {"A": [1, 1, True, 1.5]}') == {"A": (1, True, 1.5)}


def test_a_module_without_tunables_declares_nothing() -> None:
    assert declared("x = 1\ndef f():\n    TUNABLES = 3\n") is None
    assert with_values("x = 1\n", {"A": 1}) == "x = 1\n"


@pytest.mark.parametrize(
    ("source", "reason", "line"),
    [
        ("TUNABLES = dict(A=[1])", "not a dict written out", 1),
        ("x = 1\nTUNABLES = {}", "not a dict written out", 2),
        ("TUNABLES = [1, 2]", "not a dict written out", 1),
        ("TUNABLES = {1: [2]}", "names in TUNABLES", 1),
        ("n = 3\nTUNABLES = {'A': [1],\n 'B': [n]}", 'TUNABLES["B"] is not a non-empty list', 3),
        ("TUNABLES = {'A': []}", 'TUNABLES["A"] is not a non-empty list', 1),
        ("TUNABLES = {'A': 5}", 'TUNABLES["A"] is not a non-empty list', 1),
        ("TUNABLES = {'A': [[1]]}", 'TUNABLES["A"] is not a non-empty list', 1),
        ("TUNABLES = {'A': [None]}", 'TUNABLES["A"] is not a non-empty list', 1),
        ("TUNABLES = {'A': [1e999]}", 'TUNABLES["A"] is not a non-empty list', 1),
        ("TUNABLES = {'A': list(range(3))}", 'TUNABLES["A"] is not a non-empty list', 1),
        (f"TUNABLES = {{'A': ['{'x' * 300}']}}", "not a non-empty list", 1),
        (f"TUNABLES = {{'A': {list(range(300))}}}", "has 300 values, more than 256", 1),
        (f"TUNABLES = {{ {', '.join(f'{name!r}: [1]' for name in map(str, range(17)))} }}", "17 parameters", 1),
        ("TUNABLES = {'A': [1]}\nTUNABLES = {'A': [2]}", "assigned twice", 2),
        ("TUNABLES = {'A': [1], 'A': [2]}", "names a parameter twice", 1),
        ("TUNABLES = {**{}}", "names in TUNABLES", 1),
    ],
)
def test_a_bad_declaration_is_refused_with_its_line_and_a_remedy(source: str, reason: str, line: int) -> None:
    with pytest.raises(TunablesError) as caught:
        declared(source)
    assert reason in str(caught.value)
    assert 'TUNABLES = {"BLOCK": [128, 256]' in str(caught.value)
    assert caught.value.line == line


def test_a_setting_takes_the_lists_places_and_moves_no_later_line() -> None:
    made = with_values(SOURCE, {"BLOCK": 256, "HOW": "tiles"})
    assert declared(made) == {"BLOCK": (256,), "HOW": ("tiles",)}
    assert "# what is searched" in made
    assert made.splitlines()[8] == SOURCE.splitlines()[8] == 'x = TUNABLES["BLOCK"][0]'


def test_a_setting_keeps_text_that_needs_escapes_and_letters_of_more_bytes() -> None:
    made = with_values("TUNABLES = {'Größe': ['ä', 'b'], 'n': [1, 2]}\n", {"Größe": "'\n", "n": 2})
    assert declared(made) == {"Größe": ("'\n",), "n": (2,)}


def test_parameters_on_one_line_are_all_replaced() -> None:
    assert with_values("TUNABLES = {'A': [1, 2], 'B': [3, 4]}; y = 1", {"A": 2, "B": 4}) == (
        "TUNABLES = {'A': [2], 'B': [4]}; y = 1"
    )


def test_few_settings_are_all_tried_the_first_values_first() -> None:
    values = declared(SOURCE) or {}
    found = settings(values, 8)
    assert len(found) == combinations(values) == 4
    assert found[0] == {"BLOCK": 128, "HOW": "rows"}
    assert described(found[0]) == "BLOCK=128, HOW='rows'"


def test_many_settings_are_cut_to_a_spread_that_repeats_itself() -> None:
    values = {name: tuple(range(100)) for name in "ABC"}
    found = settings(values, 10)
    assert found[0] == {"A": 0, "B": 0, "C": 0}
    assert len({tuple(setting.values()) for setting in found}) == 10
    assert found == settings(values, 10)
