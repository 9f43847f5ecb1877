"""What a database driver's error means, in one line for the person who must act."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import URL
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from services.domain.errors import StorageError

UPGRADE = "kernelwright db upgrade"
"""What brings a database to this program's schema."""
_NOT_MIGRATED = ("no such table", "undefinedtable", "no such column", "undefinedcolumn")

_SIGNS: tuple[tuple[tuple[str, ...], str], ...] = (
    (_NOT_MIGRATED, f"it is not migrated: run `{UPGRADE}`"),
    (
        ("disk is full", "diskfull", "no space left", "disk i/o error"),
        "its disk is full or failing: free some space and try again",
    ),
    (
        ("readonly database", "read-only", "readonlysqltransaction"),
        "it is read-only: check the permissions of the file, its directory and its disk",
    ),
    (
        ("querycanceled", "statement timeout"),
        "the statement took too long and was ended: ask for less, or see what keeps the server busy",
    ),
    (("database is locked",), "another process has kept it locked for too long"),
    (("not a database", "malformed"), "the file is damaged or is not an SQLite database"),
    (
        ("unable to open database",),
        "its file cannot be opened: does the directory exist, and may this user write to it?",
    ),
    (
        ("unsupported startup parameter", "prepared statement"),
        "it is reached through a connection pooler in transaction mode: add ?pooler=transaction to the address",
    ),
    (("does not exist", "password authentication", "no pg_hba"), "the server refuses the database or the user"),
)


@contextmanager
def clear_faults(url: URL) -> Iterator[None]:
    """Turn what the driver raises into `StorageError`; a broken constraint is our own mistake and stays as it is."""
    try:
        yield
    except IntegrityError:
        raise
    except DBAPIError as error:
        raise _clear(error, url) from error
    except PoolTimeoutError as error:
        raise StorageError(f"database {shown(url)}: no connection became free in time") from error
    except OSError as error:
        raise StorageError(f"database {shown(url)} cannot be reached: {error}") from error


def shown(url: URL) -> str:
    """The address without its password."""
    return url.render_as_string(hide_password=True)


def _clear(error: DBAPIError, url: URL) -> StorageError:
    original = error.orig
    words = f"{type(original).__name__} {original}".lower()
    for signs, meaning in _SIGNS:
        if any(sign in words for sign in signs):
            remedy = UPGRADE if signs is _NOT_MIGRATED else None
            return StorageError(f"database {shown(url)}: {meaning} ({_first_line(original)})", remedy=remedy)
    if url.get_backend_name() == "postgresql" and type(original).__name__ in {"OperationalError", "ConnectionTimeout"}:
        return StorageError(f"database {shown(url)} cannot be reached: {_first_line(original)}")
    return StorageError(f"database {shown(url)}: {_first_line(original)}")


def _first_line(error: BaseException | None) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
