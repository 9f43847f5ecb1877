"""Prints how often designs are judged rightly: `python -m tests.adversary.rates TIMES kept_memory/one_output …`.

For designs whose verdict depends on chance; their headers state what came out.
"""

from __future__ import annotations

import sys
from collections import Counter

from tests.adversary.designs import KINDS, designs, judged, outcome
from tests.integrity.conftest import an_evaluator


def main(times: str, *names: str) -> int:
    """Judge each design so many times; 1 where one was judged wrongly."""
    wrong = 0
    with an_evaluator() as evaluator:
        for design in (one for kind in KINDS for one in designs(kind) if one.id in names):
            outcomes = [outcome(design, judged(evaluator, design)) for _ in range(int(times))]
            right = sum(one.right for one in outcomes)
            wrong += len(outcomes) - right
            wrongly = Counter(one.text.splitlines()[0][:100] for one in outcomes if not one.right)
            sys.stdout.write(f"{design.id}: {right} of {len(outcomes)} judged rightly {dict(wrongly) or ''}\n")
            sys.stdout.flush()
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
