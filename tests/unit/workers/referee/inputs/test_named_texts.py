"""The texts that a model compares an argument with are read from its source."""

import pytest

from workers.referee.inputs.named_texts import asked_keys, named_texts


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


def test_keys_that_need_not_be_there() -> None:
    source = (
        "batch.get('a')\nif 'b' not in batch: pass\nbatch.pop('c', None)\nbatch['d']\nname in ('e', 'f')\nx.get(key)"
    )
    assert asked_keys(source) == ("a", "b", "c")
