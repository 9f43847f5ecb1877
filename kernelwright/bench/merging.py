"""Several results folders made into one."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from kernelwright.bench.results import Results
from kernelwright.bench.rows import BenchRow
from kernelwright.bench.terms import KeptTerms, check_same_machine, check_same_terms
from services.domain.errors import ConflictError, UserError


def merge(sources: Sequence[Results], target: Results, at: datetime) -> KeptTerms:
    """Copy the rows and kernels of folders made on the same terms and device into one, which a bench can go on with.

    Raises `UserError` for what is no results folder, `ConflictError` for other terms, another device or referee, and
    for a problem that has two rows."""
    terms = [_terms(source) for source in sources]
    for source, kept in zip(sources[1:], terms[1:], strict=True):
        check_same_terms(terms[0].terms, kept.terms, f"{sources[0].folder} (to be merged with {source.folder})")
    rows = _together(sources)
    check_same_machine([row for _, row in rows], "these folders")
    made = target.begin(terms[0].terms, at)
    for source, row in rows:
        _copy(source.kernels(row.key), target.kernels(row.key))
        target.keep(row)
    return made


def _terms(source: Results) -> KeptTerms:
    kept = source.kept() if source.folder.is_dir() else None
    if kept is None:
        raise UserError(f"{source.folder}: no results of bench (terms.json is missing): name folders that --out made")
    return kept


def _together(sources: Sequence[Results]) -> list[tuple[Results, BenchRow]]:
    found: dict[str, tuple[Results, BenchRow]] = {}
    for source in sources:
        for row in source.rows():
            if row.key in found:
                raise ConflictError(
                    f"{row.problem} has a row in {found[row.key][0].folder} and in {source.folder}: "
                    f"remove the file rows/{row.key}.json that shall not count"
                )
            found[row.key] = (source, row)
    return sorted(found.values(), key=lambda pair: (pair[1].number, pair[1].key))


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)
