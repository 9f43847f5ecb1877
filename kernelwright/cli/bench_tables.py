"""`kernelwright bench compare` and `bench page`: what results folders say. `bench` alone runs problems."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from kernelwright.cli.output import AsJson, answers, print_json, print_table, say
from services.domain.errors import UserError

if TYPE_CHECKING:
    from kernelwright.bench.comparison import Compared
    from kernelwright.bench.results import Results

DEFAULT = "run"


class BenchGroup(TyperGroup):
    """A group whose first command may be left out: `bench FILES` is `bench run FILES`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the default command in front of arguments that name none."""
        if not args or (args[0] not in self.commands and args[0] not in ctx.help_option_names):
            args = [DEFAULT, *args]
        return super().parse_args(ctx, args)


def compare(
    a: Annotated[Path, typer.Argument(metavar="A", help="Folder of results.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="Folder of results to compare with A.")],
    as_json: AsJson = False,
) -> None:
    """Compare two runs of a suite.

    Over the problems that both have, with 95 % intervals."""
    from kernelwright.bench.comparison import compare as compared

    found = compared(_results(a).rows(), _results(b).rows())
    if as_json:
        print_json(found)
    else:
        _show(found)


def page(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR…", help="Folders of results.")],
    out: Annotated[Path, typer.Option(help="File to write.")] = Path("leaderboard.html"),
    title: Annotated[str, typer.Option(help="Its heading.")] = "Leaderboard",
) -> None:
    """Write a leaderboard.

    One HTML file of several results folders; nothing is loaded from elsewhere."""
    from kernelwright.bench.leaderboard import NamedRun, leaderboard
    from kernelwright.bench.outputs import document_of
    from kernelwright.whole_files import replace_text

    runs = []
    for folder in folders:
        results = _results(folder)
        kept = results.kept()
        assert kept is not None
        runs.append(NamedRun(name=folder.resolve().name, document=document_of(results, kept.terms)))
    replace_text(out, leaderboard(runs, title))
    say(f"leaderboard: {out}")


def _results(folder: Path) -> Results:
    from kernelwright.bench.results import Results

    if not (folder / "terms.json").is_file():
        raise UserError(f"{folder}: no results of bench (terms.json is missing): name folders that --out made")
    return Results(folder)


def _show(found: Compared) -> None:
    lines = [
        (
            one.name,
            f"{one.a:.3g}",
            f"{one.b:.3g}",
            f"{one.difference:.3g}× " if one.name.startswith("geometric") else f"{one.difference:+.3g}",
            f"[{one.low:.3g}, {one.high:.3g}]",
            "yes" if one.is_sure else "no",
            str(one.problems),
        )
        for one in found.differences
    ]
    print_table(("figure", "A", "B", "B against A", "95 %", "sure", "problems"), lines)
    for label, keys in (
        ("surely faster in A", found.faster_in_a),
        ("surely faster in B", found.faster_in_b),
        ("accepted in A only", found.only_a),
        ("accepted in B only", found.only_b),
        ("left out (in one run only, or another text)", found.left_out),
    ):
        if keys:
            answers().print(f"{label}: {len(keys)} ({', '.join(keys)})", markup=False)
