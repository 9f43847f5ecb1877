"""The texts that a model compares an argument with are read from its source."""

import pytest

from workers.referee.inputs.named_texts import named_texts


@pytest.mark.parametrize(
    "source",
    [
        "if mode == 'a': pass\nelif 'b' == mode: pass\nif other == 'c': pass",
        "mode in ('a', 'b')",
        "options.mode in {'a', 'b'}",
        "options['mode'] == 'a' or options['mode'] == 'b'",
        "{'a': 1, 'b': 2}[mode]",
        "TABLE = {'a': 1, 'b': 2}\nTABLE[mode]",
        "match mode:\n    case 'a' | 'b': pass",
    ],
)
def test_what_a_name_is_compared_with(source: str) -> None:
    assert named_texts(source, "mode") == ("a", "b")
