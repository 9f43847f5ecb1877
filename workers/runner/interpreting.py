"""Has Triton be interpreted, where there is no GPU. The choice is made when `triton.language` is imported, as torch's
compiler does by itself: so before that."""

from __future__ import annotations

import os


def choose_interpreter() -> None:
    """Have functions of Triton's own language, such as `tl.max`, run in its interpreter."""
    os.environ["TRITON_INTERPRET"] = "1"
