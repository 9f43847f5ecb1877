"""Writes the reference pages that follow from the code: `python -m kernelwright.documentation`.

Settings and report fields come from the classes and the sentences below their fields, commands from the command line.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer.core
from typer.main import get_command

from kernelwright.settings import Settings

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ROOT / "docs" / "reference"


@dataclass(frozen=True, kw_only=True)
class Field:
    """One annotated name of a class body."""

    name: str
    kind: str
    default: str | None
    text: str


def pages() -> dict[str, str]:
    """File name to text of every generated page."""
    return {"settings.md": _settings(), "report.md": _report(), "commands.md": _commands()}


def main() -> int:
    """Write the pages."""
    REFERENCE.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (REFERENCE / name).write_text(text)
    return 0


def fields(path: Path, name: str) -> Iterator[Field]:
    """The annotated names of a class, each with the sentence below it."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            for entry, following in zip(node.body, [*node.body[1:], None], strict=True):
                if isinstance(entry, ast.AnnAssign):
                    default = None if entry.value is None else ast.unparse(entry.value)
                    yield Field(
                        name=ast.unparse(entry.target),
                        kind=_plain(entry.annotation),
                        default=default,
                        text=_sentence(following),
                    )


def _settings() -> str:
    lines = [
        "# Settings",
        "",
        "Environment variables. The defaults work on a single machine. To read a value from a file, append `_FILE` to",
        "the name and give the path.",
        "",
        "| variable | type | default | description |",
        "|---|---|---|---|",
    ]
    for field in fields(ROOT / "kernelwright" / "settings.py", "Settings"):
        if field.name != "model_config":
            variable = f"`KERNELWRIGHT_{field.name.upper()}`"
            lines.append(f"| {variable} | {_code(field.kind)} | {_code(_value(field))} | {field.text} |")
    lines += [
        "",
        "## Model providers",
        "",
        "For each of `OPENAI`, `ANTHROPIC` and `COMPATIBLE`, for example `KERNELWRIGHT_OPENAI__EFFORT`. Limits apply",
        "per process: with three orchestrators a provider sees up to three times as much.",
        "",
        "| variable | type | default | description |",
        "|---|---|---|---|",
    ]
    for field in fields(ROOT / "kernelwright" / "provider_options.py", "ProviderOptions"):
        if field.name != "model_config":
            variable = f"`KERNELWRIGHT_…__{field.name.upper()}`"
            lines.append(f"| {variable} | {_code(field.kind)} | {_code(field.default)} | {field.text} |")
    return "\n".join(lines) + "\n"


_REPORT = (
    "EvaluationReport", "GateResult", "Latency", "Baselines", "Speedup", "ShapeResult", "HeldOutResult",
    "ReportedObjective", "Passes", "PassTimes",
    "Roofline", "Profile", "Tuned", "OutputError", "WorstElement", "Disassembly", "Environment", "PhasesS",
)  # fmt: skip
_REPORT_FILES = tuple(
    ROOT / "services" / "domain" / f"{name}.py" for name in ("evaluations", "measurements", "gates", "profiles")
)


def _report() -> str:
    lines = [
        "# The evaluation report",
        "",
        "`kernelwright evaluate --json`, the API and the database use the same document.",
    ]
    for name in _REPORT:
        lines += ["", f"## {name}", "", "| field | type | description |", "|---|---|---|"]
        found = [field for path in _REPORT_FILES for field in fields(path, name)]
        assert found, f"{name} is in none of the files of _REPORT_FILES"
        lines += [f"| `{field.name}` | {_code(field.kind)} | {field.text} |" for field in found]
    return "\n".join(lines) + "\n"


_COMPLETION = (
    "",
    "`kernelwright --install-completion` sets up completion of commands, options and their values for the shell it is",
    "called from (bash, zsh or fish); it takes effect in the next one. `kernelwright --show-completion` prints the",
    "script instead, to be installed by hand.",
)


def _commands() -> str:
    from kernelwright.cli.app import app

    root = get_command(app)
    lines = ["# Commands", "", "Results go to standard output, progress and messages to standard error.", ""]
    lines += ["Exit codes: 0 accepted candidate, 1 none, 2 usage error or broken environment, 130 interrupted."]
    lines += [*_COMPLETION]
    for name, command in _leaves("kernelwright", root):
        with command.context_class(command, info_name=name) as context:
            lines += ["", f"## {name}", "", (command.help or "").strip().replace("\n\n", "\n"), "", "```"]
            lines += [f"{name} {' '.join(command.collect_usage_pieces(context))}", "```", ""]
            lines += list(_options(command, context))
    return "\n".join(lines) + "\n"


def _leaves(name: str, command: typer.core.TyperCommand | object) -> Iterator[tuple[str, typer.core.TyperCommand]]:
    """The commands that do something, with their whole names."""
    inner = getattr(command, "commands", None)
    if inner is None:
        assert isinstance(command, typer.core.TyperCommand)
        yield name, command
        return
    for word, child in inner.items():
        yield from _leaves(f"{name} {word}", child)


def _options(command: typer.core.TyperCommand, context: Any) -> Iterator[str]:
    rows = [record for parameter in command.params if (record := parameter.get_help_record(context)) is not None]
    if rows:
        yield "| option | description |"
        yield "|---|---|"
        for names, text in rows:
            yield f"| `{_cell(names)}` | {_cell(text)} |"


def _value(setting: Field) -> str | None:
    """A setting's default; one that is a constant's name is shown as its value."""
    if setting.default is not None and setting.default.isupper():
        return repr(Settings.model_fields[setting.name].default)
    return setting.default


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def _code(text: str | None) -> str:
    return "–" if text is None else f"`{_cell(text)}`"


def _plain(annotation: ast.expr) -> str:
    """An annotation as people read it: what `Annotated` adds is left out."""
    if isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value) == "Annotated":
        inner = annotation.slice
        return ast.unparse(inner.elts[0] if isinstance(inner, ast.Tuple) else inner)
    return ast.unparse(annotation)


def _sentence(node: ast.stmt | None) -> str:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return _cell(node.value.value)
    return ""


if __name__ == "__main__":
    sys.exit(main())
