"""Results folders as one static HTML page: no script, nothing loaded from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import jinja2

from kernelwright.bench.rows import STRONGEST
from kernelwright.bench.tables import mean, totals_lines
from kernelwright.bench.totals import BenchDocument
from services.domain.texts import interval, ratio

_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{{ title }}</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem }
:root { color-scheme: light dark }
table { border-collapse: collapse; margin: 1rem 0 }
th, td { padding: .2rem .8rem; text-align: right; border-bottom: 1px solid #8884 }
th:first-child, td:first-child { text-align: left } .wide { overflow-x: auto }
</style>
<h1>{{ title }}</h1>
{% for board in boards %}
<h2>{{ board.suite }}</h2>
<div class="wide"><table>
<tr><th>run</th><th>device</th><th>model</th><th>problems</th><th>accepted</th><th>fast_1</th><th>fast_2</th>
<th>geometric mean</th><th>SOL score</th></tr>
{% for run in board.runs %}
<tr><td><a href="#{{ run.anchor }}">{{ run.name }}</a></td>
{% for cell in run.cells %}<td>{{ cell }}</td>{% endfor %}</tr>
{% endfor %}
</table></div>
{% endfor %}
<p>fast_p: share of all problems with an accepted kernel more than p times as fast as the strongest
baseline.
The geometric mean is of accepted kernels against it and stands with their number. Runs are sorted by SOL
score; figures of different hardware are not comparable.</p>
{% for board in boards %}{% for run in board.runs %}
<h3 id="{{ run.anchor }}">{{ board.suite }}: {{ run.name }}</h3>
<ul>{% for line in run.lines %}<li>{{ line }}</li>{% endfor %}</ul>
<details><summary>{{ run.rows | length }} problems</summary>
<div class="wide"><table><tr><th>problem</th><th>category</th><th>result</th><th>vs strongest</th><th>95 %</th></tr>
{% for row in run.rows %}<tr>{% for cell in row %}<td>{{ cell }}</td>{% endfor %}</tr>
{% endfor %}</table></div></details>
{% endfor %}{% endfor %}
</html>
"""


@dataclass(frozen=True, kw_only=True)
class NamedRun:
    """One results folder."""

    name: str
    document: BenchDocument


def leaderboard(runs: Sequence[NamedRun], title: str) -> str:
    """The page's text. Runs of one suite and part stand in one table, best SOL score first."""
    boards: dict[str, list[NamedRun]] = {}
    for run in runs:
        terms = run.document.terms
        part = f" level {terms.level}" if terms.level is not None else f" {terms.part}" if terms.part else ""
        boards.setdefault(terms.suite + part, []).append(run)
    anchors = {id(run): f"run-{number}" for number, run in enumerate(runs, start=1)}
    shown = [
        {"suite": suite, "runs": [_run(run, anchors[id(run)]) for run in sorted(found, key=_rank)]}
        for suite, found in boards.items()
    ]
    template = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined).from_string(_PAGE)
    return template.render(title=title, boards=shown)


def _rank(run: NamedRun) -> tuple[float, int]:
    return -run.document.totals.sol_score, -run.document.accepted


def _run(run: NamedRun, anchor: str) -> dict[str, object]:
    document = run.document
    totals, standing = document.totals, document.totals.against[STRONGEST]
    cells = (
        document.hardware or document.terms.device,
        document.terms.model,
        str(totals.problems),
        f"{totals.accepted}",
        f"{standing.fast_p['1']:.0%}",
        f"{standing.fast_p['2']:.0%}",
        mean(standing),
        f"{totals.sol_score:.2f}",
    )
    rows = [
        (
            row.problem,
            row.group or row.category.value,
            "accepted" if row.accepted else f"{row.status.value}: {row.message or 'no accepted candidate'}",
            ratio(row.figures.get(STRONGEST)),
            interval(row.bounds.get(STRONGEST)) or "–",
        )
        for row in document.problems
    ]
    return {"name": run.name, "anchor": anchor, "cells": cells, "lines": totals_lines(document), "rows": rows}
