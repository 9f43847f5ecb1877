"""One thread for each product of matrices.

OpenBLAS, which numpy brings, spreads every product over a thread a core, and those wait for each other by spinning. On
a machine that evaluates kernels beside it one of them is not running, and the others burn their time slices: a
sentence's embedding took up to seconds instead of 15 ms, the slowest recalls over 100,000 experiences 99 ms instead of
63. This program has many jobs to spread over its cores; none of its products is large enough to need two.
"""

from __future__ import annotations

from functools import cache

from threadpoolctl import ThreadpoolController


@cache
def one_blas_thread() -> None:
    """From now on, in this process. Costs some milliseconds the first time, nothing later."""
    ThreadpoolController().limit(limits=1, user_api="blas")
