"""`kernelwright spool` and `kernelwright worker --spool`: work through a directory, for nodes without a network."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelwright.cli import options
from kernelwright.cli.output import print_json, print_table, say
from services.domain.errors import UserError

if TYPE_CHECKING:
    from kernelwright.settings import Settings
    from services.adapters.spool.archive import Carried
    from services.adapters.spool.batch import SpooledRow
    from services.adapters.spool.orders import SpooledOrders

app = typer.Typer(help="Judge on nodes without a network, through a directory.", no_args_is_help=True)
Directory = Annotated[Path, typer.Argument(metavar="DIR", help="The spool's directory.")]
KeyOption = Annotated[
    Path | None,
    typer.Option("--key", metavar="FILE", help="Key file (default: KERNELWRIGHT_SPOOL_KEY, or spool.key at home)."),
]
MOST_DETAIL = 100


@app.command("key")
def key(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="File to write the key to (default: KERNELWRIGHT_SPOOL_KEY_FILE, or spool.key at home).",
        ),
    ] = None,
) -> None:
    """Make the key that signs orders and reports.

    Give the same file to the service and its nodes, but not through the spool: whoever has it can run code on the
    nodes."""
    from kernelwright.settings import load_settings
    from kernelwright.wiring.spool import key_file, new_key

    named = os.environ.get("KERNELWRIGHT_SPOOL_KEY_FILE")  # the settings cannot be read before there is such a file
    chosen = file or (Path(named) if named else key_file(load_settings()))
    new_key(chosen)
    typer.echo(str(chosen))


@app.command("add")
def add(
    directory: Directory,
    problem: Annotated[Path, typer.Option(metavar="FILE", help="Problem file.")],
    candidate: Annotated[list[Path], typer.Option(metavar="FILE", help="Candidate to judge; can be repeated.")],
    backend: options.BackendOption = "cpp",
    device: options.DeviceOption = "cpu",
    baselines: options.BaselinesOption = None,
    allow_library: options.AllowLibrary = "",
    objective: options.ObjectiveOption = "",
    key_path: KeyOption = None,
) -> None:
    """Place orders for candidates of a problem.

    Repeating it is harmless: what was judged is not judged again, what failed is."""
    from kernelwright.problem_files import read_problem, read_source
    from services.adapters.spool.batch import add_candidates
    from services.adapters.spool.orders import SpoolPlace

    orders = _orders(directory, key_path)
    found = add_candidates(
        orders,
        read_problem(problem, options.listed(allow_library), objective),
        [(path.name, read_source(path, "candidate")) for path in candidate],
        device=device,
        backend=backend,
        baselines=options.chosen_baselines(baselines, device),
    )
    waiting, done = found[SpoolPlace.WAITING], found[SpoolPlace.ANSWERED]
    say(f"{waiting} orders wait in {directory}, {found[SpoolPlace.CLAIMED]} are being done, {done} have reports")


@app.command("collect")
def collect(
    directory: Directory,
    key_path: KeyOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON with whole reports.")] = False,
) -> None:
    """Print what became of a spool's orders.

    Exit code 0 if all of them were judged, 1 if some wait, failed or were refused."""
    from services.adapters.spool.batch import collected

    check_spool_exists(directory)
    rows = collected(_orders(directory, key_path))
    if as_json:
        print_json(rows)
    else:
        columns = ("candidate", "state", "verdict", "median", "95 %", "vs the fastest", "95 %", "seconds", "detail")
        print_table(columns, [_cells(row) for row in rows], folding=("detail",))
        say(_summary(rows))
    raise typer.Exit(0 if all(row.state == "judged" for row in rows) else 1)


@app.command("export")
def export(
    directory: Directory,
    archive: Annotated[Path, typer.Argument(metavar="FILE.tar[.gz]", help="Archive to write.")],
) -> None:
    """Copy waiting orders and all reports into an archive.

    The orders stay: a report that comes back answers them."""
    from services.adapters.spool.archive import pack
    from services.adapters.spool.layout import SpoolLayout

    check_spool_exists(directory)
    carried = pack(SpoolLayout(directory), archive)
    typer.echo(f"{carried.orders} orders and {carried.reports} reports in {archive}")


@app.command("import")
def import_(
    directory: Directory,
    source: Annotated[Path, typer.Argument(metavar="FILE|DIR", help="Archive, or another spool's directory.")],
    key_path: KeyOption = None,
) -> None:
    """Take in orders or reports that were carried here.

    Exit code 1 if something was refused; it lies in refused/ with the reason."""
    from services.adapters.spool.archive import unpack
    from services.adapters.spool.layout import SpoolLayout

    if not source.exists():
        raise UserError(f"there is no {source}: name an archive of `kernelwright spool export`, or a spool's directory")
    layout, orders = SpoolLayout(directory), _orders(directory, key_path)
    layout.make()
    carried = unpack(source, layout, orders)
    _tell(carried)
    raise typer.Exit(1 if carried.refused else 0)


def work(
    settings: Settings,
    directory: Path,
    device: str,
    key_path: Path | None,
    *,
    once: bool,
    idle_exit_s: float | None,
) -> None:
    """Work at a spool until told to stop. Raises `ConfigurationError`, `InfrastructureError`."""
    from kernelwright.wiring.spool import open_spool_worker, spool_key
    from services.adapters.spool.worker import SpoolPace

    pace = SpoolPace(once=once, idle_exit_s=idle_exit_s)
    with open_spool_worker(settings, directory.absolute(), device, spool_key(settings, key_path), pace) as worker:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: worker.stop())
        done = worker.run()
    say(f"answered {done} orders")


def _orders(directory: Path, key_path: Path | None) -> SpooledOrders:
    from kernelwright.settings import load_settings
    from kernelwright.wiring.spool import spool_key, spooled_orders

    settings = load_settings()
    return spooled_orders(settings, directory.absolute(), spool_key(settings, key_path))


def check_spool_exists(directory: Path) -> None:
    """Raise `UserError` for a directory that is no spool."""
    if not (directory / "orders").is_dir():
        raise UserError(
            f"{directory} is no spool: it has no folder orders/. The service, `spool add` and `spool import` make it"
        )


def _cells(row: SpooledRow) -> list[str]:
    from services.domain.texts import interval, microseconds, ratio

    latency = None if row.report is None else row.report.latency
    speedup = None if row.report is None else row.report.speedup
    bounds = "" if latency is None else f"[{', '.join(map(microseconds, latency.ci95_us))}]"
    return [
        row.label,
        row.state,
        row.verdict or "–",
        "–" if latency is None else microseconds(latency.median_us),
        bounds,
        ratio(None if speedup is None else speedup.best_baseline),
        interval(None if speedup is None else speedup.ci95),
        "" if row.seconds is None else f"{row.seconds:.1f}",
        row.detail[:MOST_DETAIL],
    ]


def _summary(rows: tuple[SpooledRow, ...]) -> str:
    if not rows:
        return "No orders. Place some: kernelwright spool add DIR --problem FILE --candidate FILE"
    states = sorted({row.state for row in rows})
    return ", ".join(f"{sum(row.state == state for row in rows)} {state}" for state in states)


def _tell(carried: Carried) -> None:
    for name, reason in carried.refused.items():
        say(f"refused {name}: {reason}")
    new = f"{carried.orders} orders and {carried.reports} reports"
    typer.echo(f"took in {new}; {carried.known} were known, {len(carried.refused)} were refused")
