"""Problems and candidates as files on a command line."""

from __future__ import annotations

from pathlib import Path

from services.domain.errors import UserError
from services.domain.problems import Problem
from services.domain.shape_lists import with_shapes
from services.domain.texts import visible


def read_problem(path: Path, allow_library: tuple[str, ...] = (), objective: str = "") -> Problem:
    """The problem in a file; `SHAPES = "shapes.json"` stands for the list in that file beside it. Raises `UserError`
    when one of them cannot be read."""
    source = with_shapes(read_source(path, "problem"), lambda name: read_source(path.parent / name, "list of shapes"))
    name, shown = visible(path.stem), visible(str(path))
    return Problem(name=name, source=source, path=shown, allow_library=allow_library, objective=objective)


def read_guidance(text: str) -> str:
    """Words to the agents as a command line has them, or from the file that `@` names. Raises `UserError`."""
    return read_source(Path(text[1:]), "guidance") if text.startswith("@") else text


def read_source(path: Path, what: str) -> str:
    """A text file of the user's. Raises `UserError` naming the file and what is wrong."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: the {what} is not UTF-8 text (byte {error.start})") from None
    except OSError as error:
        raise UserError(f"{path}: the {what} cannot be read: {error.strerror or error}") from None
