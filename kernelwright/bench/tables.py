"""A bench as Markdown for people, and as flat columns for CSV and Parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from kernelwright.bench.rows import STRONGEST, BenchRow
from kernelwright.bench.totals import BenchDocument, Standing, Totals
from services.domain.measurements import BASELINES
from services.domain.texts import interval, percent, ratio

Cell = str | int | float | bool | None
HEADINGS = ("problem", "accepted", "vs eager", "vs compile", "vs strongest", "95 %", "roofline", "by", "device s")


@dataclass(frozen=True)
class Column:
    """One column of the flat table."""

    name: str
    kind: type[str | int | float | bool]
    value: Callable[[BenchRow], Cell]


def _attribute(name: str, kind: type[str | int | float | bool]) -> Column:
    def value(row: BenchRow) -> Cell:
        found = getattr(row, name)
        return None if found is None else kind(found)

    return Column(name, kind, value)


def _of_baseline(name: str) -> Iterator[Column]:
    if name != STRONGEST:
        yield Column(f"{name}_us", float, lambda row: row.baselines_us.get(name))
    yield Column(f"speedup_{name}", float, lambda row: row.figures.get(name))
    yield Column(f"speedup_{name}_low", float, lambda row: row.bounds[name][0] if name in row.bounds else None)
    yield Column(f"speedup_{name}_high", float, lambda row: row.bounds[name][1] if name in row.bounds else None)


COLUMNS = (
    _attribute("number", int),
    _attribute("problem", str),
    _attribute("category", str),
    _attribute("family", str),
    _attribute("group", str),
    _attribute("status", str),
    _attribute("accepted", bool),
    _attribute("verdict", str),
    _attribute("failed_gate", str),
    _attribute("message", str),
    _attribute("latency_us", float),
    Column("latency_low_us", float, lambda row: row.latency_ci95_us[0] if row.latency_ci95_us else None),
    Column("latency_high_us", float, lambda row: row.latency_ci95_us[1] if row.latency_ci95_us else None),
    *(column for name in (*BASELINES, STRONGEST) for column in _of_baseline(name)),
    _attribute("gain", str),
    _attribute("roofline_fraction", float),
    _attribute("roofline_bound", str),
    _attribute("author", str),
    _attribute("from_compiler", bool),
    _attribute("rounds", int),
    _attribute("candidates", int),
    Column("validation_device_s", float, lambda row: row.device_s.validation),
    Column("candidates_device_s", float, lambda row: row.device_s.candidates),
    _attribute("wall_s", float),
    _attribute("tokens", int),
    _attribute("dollars", float),
    _attribute("device", str),
    _attribute("hardware", str),
    Column("torch", str, lambda row: row.versions.torch),
    Column("triton", str, lambda row: row.versions.triton),
    Column("driver", str, lambda row: row.versions.driver),
    _attribute("referee_version", str),
    Column("finished_at", str, lambda row: row.finished_at.isoformat()),
    _attribute("job_id", str),
    _attribute("attempt", int),
    _attribute("kernel_path", str),
    _attribute("source_hash", str),
)
"""Of `results.csv` and `results.parquet`, in order."""


def as_csv(rows: Sequence[BenchRow]) -> str:
    """A line a problem; empty where nothing is known."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([column.name for column in COLUMNS])
    writer.writerows([column.value(row) for column in COLUMNS] for row in rows)
    return text.getvalue()


def as_markdown(document: BenchDocument) -> str:
    """What was asked, totals, categories, problems."""
    parts = [
        _terms(document),
        *(f"- {line}" for line in totals_lines(document)),
        "",
        *_table(_TOTALS_HEADINGS, _standings(document.totals)),
        "",
        *_table(_CATEGORY_HEADINGS, map(_category_cells, document.categories.items())),
        "",
        *(_groups(document) if document.groups else ()),
        *_table(HEADINGS, map(cells, document.problems)),
    ]
    reasons = [f"- {row.problem}: {_plain(row.message)}" for row in document.problems if not row.accepted]
    return "\n".join([*parts, *(["", "Without a kernel:", "", *reasons] if reasons else [])]) + "\n"


def cells(row: BenchRow) -> tuple[str, ...]:
    """A problem's line of the table."""
    return (
        row.problem,
        "yes" if row.accepted else f"no ({row.status.value})",
        ratio(row.figures.get("eager")),
        ratio(row.figures.get("compile")),
        ratio(row.figures.get(STRONGEST)),
        interval(row.bounds.get(STRONGEST)) or "–",
        "–" if row.roofline_fraction is None else percent(row.roofline_fraction),
        "–" if row.author is None else row.author.value,
        f"{row.device_s.total:.1f}",
    )


def totals_lines(document: BenchDocument) -> list[str]:
    """The totals in a few sentences."""
    totals, eager, strongest = document.totals, document.totals.against["eager"], document.totals.against[STRONGEST]
    lines = [
        f"accepted {totals.accepted} of {totals.problems}",
        f"surely faster than eager {eager.surely_faster}, than the strongest baseline {strongest.surely_faster}",
        f"fast_p vs eager: {_shares(eager)}",
        f"fast_p vs strongest: {_shares(strongest)}",
        f"SOL score, mean of all problems: {totals.sol_score:.2f}",
        f"geometric means of accepted kernels: {mean(eager)} vs eager, {mean(strongest)} vs strongest",
    ]
    spent = totals.device_s
    lines.append(
        f"device seconds: {spent.total:.1f} ({spent.validation:.1f} validation and baselines, "
        f"{spent.candidates:.1f} candidates)"
    )
    if totals.authors:
        written = ", ".join(f"{name} {count}" for name, count in totals.authors.items())
        lines.append(
            f"best kernels by: {written}; with the compiler's draft among their ancestors {totals.from_compiler}"
        )
    if document.remaining:
        many = len(document.remaining)
        lines.append("1 problem remains" if many == 1 else f"{many} problems remain")
    return lines


_TOTALS_HEADINGS = ("against", "fast_0", "fast_0.8", "fast_1", "fast_1.5", "fast_2", "surely faster", "geometric mean")
_CATEGORY_HEADINGS = ("category", "accepted", "vs eager", "fast_1 vs eager", "vs strongest", "fast_1 vs strongest")


def _terms(document: BenchDocument) -> str:
    terms = document.terms
    level = "" if terms.level is None else f" level {terms.level}"
    dates = sorted(row.finished_at.date().isoformat() for row in document.problems)
    when = "" if not dates else f", {dates[0]}" if dates[0] == dates[-1] else f", {dates[0]} to {dates[-1]}"
    device = f"{terms.device} ({document.hardware})" if document.hardware else terms.device
    return (
        f"# {terms.suite}{level} on {device}\n\n{terms.backend}, {terms.model}, {terms.strategy}, "
        f"{terms.budget.rounds} rounds, referee {document.referee_version or 'unknown'}{when}\n"
    )


def _standings(totals: Totals) -> Iterator[tuple[str, ...]]:
    for name, standing in totals.against.items():
        if standing.measured:
            shares = (f"{share:.0%}" for share in standing.fast_p.values())
            yield (name, *shares, str(standing.surely_faster), mean(standing))


def _category_cells(entry: tuple[str, Totals]) -> tuple[str, ...]:
    name, totals = entry
    eager, strongest = totals.against["eager"], totals.against[STRONGEST]
    return (
        name,
        f"{totals.accepted} of {totals.problems}",
        mean(eager),
        f"{eager.fast_p['1']:.0%}",
        mean(strongest),
        f"{strongest.fast_p['1']:.0%}",
    )


def _groups(document: BenchDocument) -> Iterator[str]:
    yield from _table(("suite's category", *_CATEGORY_HEADINGS[1:]), map(_category_cells, document.groups.items()))
    yield ""


def mean(standing: Standing) -> str:
    """A geometric mean, and how many kernels it is of."""
    return "–" if standing.geometric_mean is None else f"{ratio(standing.geometric_mean)} (of {standing.measured})"


def _shares(standing: Standing) -> str:
    return ", ".join(f"{p}: {share:.0%}" for p, share in standing.fast_p.items())


def _table(headings: Sequence[str], lines: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(headings)} |"
    yield "|" + "---|" * len(headings)
    yield from (f"| {' | '.join(map(_plain, line))} |" for line in lines)


def _plain(text: str | None) -> str:
    return " ".join((text or "no accepted candidate").replace("|", "\\|").split())
