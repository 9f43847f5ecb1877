"""A candidate may come as a chat's answer."""

from __future__ import annotations

import pytest

from services.domain.candidate_text import candidate_source
from services.domain.errors import ConfigurationError

MODULE = 'class ModelNew:\n    """Not:\n```python\n"""\n'
PLAIN = "class ModelNew:\n    pass\n"
KERNEL = f"```python\n{PLAIN}```\n"
OTHER = f"```python\n{PLAIN}    x = 1\n```\n"
USE = "```python\nmodel = kernels.ModelNew(4)\n```\n"


@pytest.mark.parametrize(
    "text",
    [
        PLAIN,
        f"Here is the optimised version:\n\n```python\n{PLAIN}```\n\nIt fuses the activation.\n",
        f"```\n{PLAIN}```",
        f"So:\r\n```py\r\n{PLAIN}```\r\nDone.\r\n",
        f"~~~~python title=kernel.py\n{PLAIN}~~~~\n",
        "1. Step\n   ```python\n   class ModelNew:\n       pass\n   ```\n",
        f"The kernel:\n```cpp\nvoid f();\n```\nand its module:\n```python\n{PLAIN}```\nUse it so:\n{USE}",
        f"Twice the same:\n```python\n{PLAIN}```\nagain\n```python\n{PLAIN}```\n",
    ],
)
def test_the_module_in_a_text_is_found(text: str) -> None:
    assert candidate_source(text).replace("\r", "") == PLAIN


def test_a_module_that_holds_a_fence_is_left_alone() -> None:
    assert candidate_source(MODULE) == MODULE


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("class ModelNew(:\n    pass\n", "cannot be judged: line 1: syntax error"),
        ("I cannot do that.\n", "cannot be judged: line 1: syntax error"),
        ("class ModelNew:\0", "null bytes"),
        ("def custom_kernel(data):\n    return data\n", "whose forward is called; it defines custom_kernel"),
        (f"So:\n{KERNEL}or\n{OTHER}", "several fences define ModelNew (lines 2, 7)"),
        ("So:\n\n```python\nclass ModelNew(:\n```\n", "the fenced block at line 3 of it cannot be judged: line 1"),
        (f"So:\n```python\ndef helper(): ...\n```\n{USE}", "the fenced block at line 5"),
        (f"So:\n```python\n{PLAIN}", "without a closed fence of Python (the first fence is at line 2)"),
        ("So:\n```cpp\nvoid f();\n```\n", "without a closed fence of Python (the first fence is at line 2)"),
    ],
)
def test_what_is_no_candidate_is_refused_with_its_place(text: str, said: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        candidate_source(text)
    assert said in str(refused.value)
