"""Program: print the samples of an Nsight Compute record by line of the candidate's source, as JSON.

A program of its own, since `ncu_report` is NVIDIA's native module: what goes wrong in it costs the lines only.

Arguments: the record, then folders that may hold `ncu_report`.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

STALLS = "smsp__pcsamp_warps_issue_stalled_"
NOT_ISSUED = "_not_issued"
"""The same samples again, of cycles in which nothing was issued."""


def main(record: str, *folders: str) -> None:
    """Print `{"12": 340, …}`. Raises what `ncu_report` raises."""
    sys.path[:0] = folders
    report: Any = importlib.import_module("ncu_report")
    samples: Counter[int] = Counter()
    context = report.load_report(record)
    for number in range(context.num_ranges()):
        launches = context.range_by_idx(number)
        for index in range(launches.num_actions()):
            samples.update(_by_line(launches.action_by_idx(index)))
    print(json.dumps(samples))  # noqa: T201 - a program's answer


def _by_line(action: Any) -> Counter[int]:
    found: Counter[int] = Counter()
    for name in action.metric_names():
        if not name.startswith(STALLS) or name.endswith(NOT_ISSUED):
            continue
        metric = action.metric_by_name(name)
        if not metric.has_correlation_ids():
            continue
        places = metric.correlation_ids()
        for index in range(metric.num_instances()):
            place = action.source_info(places.as_uint64(index))
            if place is not None and _is_candidates(place.file_name()):
                found[int(place.line())] += int(metric.as_uint64(index))
    return found


def _is_candidates(name: str) -> bool:
    """Whether it is what nvcc was given, or the module that a runner imported."""
    path = Path(name)
    return path.name == "kernel.cu" or (path.suffix == ".py" and path.parent.name.startswith("kernelwright-"))


if __name__ == "__main__":
    main(*sys.argv[1:])
