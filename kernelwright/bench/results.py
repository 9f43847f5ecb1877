"""A folder of rows, one JSON file a problem, that a second call goes on with; and several folders made into one."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from kernelwright.bench.rows import BenchRow
from kernelwright.bench.terms import BenchTerms, KeptTerms, check_same_machine, check_same_terms
from kernelwright.whole_files import held, replace_text
from services.domain import codec
from services.domain.errors import ConflictError, UserError

T = TypeVar("T")
_TERMS = "terms.json"
_LOCK = "bench.lock"


class Results:
    """The rows of a bench, in a folder:

    `terms.json`          what was asked for
    `rows/KEY.json`       a problem's row
    `kernels/KEY/`        its best kernel with evidence
    `results.*`, `*.png`  the table and its totals, written from the rows
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Be the only process that writes here; the lock ends with the process. Raises `ConflictError`."""
        if self.folder.exists() and not self.folder.is_dir():
            raise UserError(f"{self.folder}: is a file: name a folder with --out")
        busy = f"another process writes to {self.folder}: wait for its end, or name another folder with --out"
        with held(self.folder / _LOCK, busy):
            yield

    def begin(self, terms: BenchTerms, at: datetime) -> KeptTerms:
        """The folder's terms, which are these; as long as there is no row, they may be others than before.

        Raises `ConflictError` for a folder with rows of other terms, `UserError` for one of something else."""
        kept = self.kept()
        if kept is not None and (kept.terms == terms or self.rows()):
            check_same_terms(kept.terms, terms, str(self.folder))
            return kept
        strange = next((path for path in self.folder.iterdir() if path.name != _LOCK), None)
        if kept is None and strange is not None:
            raise UserError(
                f"{self.folder}: holds {strange.name} and no results of bench: name a new folder with --out"
            )
        fresh = KeptTerms(run=uuid.uuid4().hex, started_at=at, terms=terms)
        _write(self.folder / _TERMS, fresh)
        return fresh

    def kept(self) -> KeptTerms | None:
        """The folder's terms, where it has any. Raises `UserError` where they cannot be read."""
        path = self.folder / _TERMS
        return _read(KeptTerms, path) if path.is_file() else None

    def rows(self) -> tuple[BenchRow, ...]:
        """All rows, by number. Raises `UserError` for one that cannot be read."""
        found = (_read(BenchRow, path) for path in (self.folder / "rows").glob("*.json"))
        return tuple(sorted(found, key=lambda row: (row.number, row.key)))

    def keep(self, row: BenchRow) -> None:
        """Write a problem's row. Raises `ConflictError` where it comes from another device or referee."""
        others = [other for other in self.rows() if other.key != row.key]
        check_same_machine([*others, row], str(self.folder))
        folder = self.folder / "rows"
        folder.mkdir(exist_ok=True)
        _write(folder / f"{row.key}.json", row)

    def kernels(self, key: str) -> Path:
        """The folder for a problem's kernel."""
        return self.folder / "kernels" / key

    def within(self, path: Path | None) -> str | None:
        """A path as rows have it."""
        return None if path is None else str(path.absolute().relative_to(self.folder))


def _write(path: Path, value: object) -> None:
    replace_text(path, codec.dumps(value))


def _read(kind: type[T], path: Path) -> T:
    try:
        return codec.loads(kind, path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read ({error}): restore it, or remove it to have it made again") from None


def merge(sources: Sequence[Results], target: Results, at: datetime) -> KeptTerms:
    """Copy the rows and kernels of folders made on the same terms and device into one, which a bench can go on with.

    Raises `UserError` for what is no results folder, `ConflictError` for other terms, another device or referee, and
    for a problem that has two rows."""
    terms = [_terms_of(source) for source in sources]
    for source, kept in zip(sources[1:], terms[1:], strict=True):
        check_same_terms(terms[0].terms, kept.terms, f"{sources[0].folder} (to be merged with {source.folder})")
    rows = _together(sources)
    check_same_machine([row for _, row in rows], "these folders")
    made = target.begin(terms[0].terms, at)
    for source, row in rows:
        _copy(source.kernels(row.key), target.kernels(row.key))
        target.keep(row)
    return made


def _terms_of(source: Results) -> KeptTerms:
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
