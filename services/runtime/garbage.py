"""Python's garbage collector in a process that loads much and keeps most of it."""

from __future__ import annotations

import gc

ALLOCATIONS, YOUNG, MIDDLE = 10_000, 20, 20
"""Objects that are made before the youngest generation is looked through, and how often that and the next are before
the one behind it. Python's own are 700, 10, 10."""


def collect_rarely() -> None:
    """Collect less often, for the whole process; to be called before it loads its modules.

    Loading makes hundreds of thousands of objects that stay: `kernelwright serve` started with a tenth less processor
    time (1.31 s of 1.46 to import its modules), and a zygote of the sandbox with a quarter less."""
    gc.set_threshold(ALLOCATIONS, YOUNG, MIDDLE)


def collect_less() -> None:
    """Leave what is loaded by now out of every collection, and collect less often.

    For the whole process; to be called once it has its modules. LangGraph, SQLAlchemy and pydantic are some hundred
    thousand objects that live as long as the process, and each full collection looked through all of them:
    `benchmarks.orchestration` took a fifth less time a step without (60 jobs, two runs each).
    """
    gc.collect()
    gc.freeze()
    collect_rarely()
