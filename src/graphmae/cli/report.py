"""graphmae report"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import DataRoot, Device, Import, import_parts, print_report


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of runs; several stand side by side.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The page to write.")] = Path("report.html"),
    figures: Annotated[
        Path | None, typer.Option("--figures", metavar="DIR", help="Also write every chart there, as PDF and SVG.")
    ] = None,
    columns: Annotated[
        str, typer.Option("--columns", help="Columns of your table to show, A,B, or none (default: all, up to 16).")
    ] = "",
    title: Annotated[str, typer.Option("--title", help="Heading of the page (default: method and data).")] = "",
    data: DataRoot = None,
    device: Device = "auto",
    import_: Import = [],  # noqa: B006
) -> None:
    """Write one HTML page that shows runs: scores, a map of the embedding, curves, settings. It needs no network.

    RUN is the folder of run, pretrain, finetune or compare. The data is opened again where the run had it; without it
    the page has everything but the map. The page holds ids and columns of your table: --columns none leaves columns
    out, and of a model made with --private it has neither.

    Example: graphmae report runs/demo -o demo.html

    Example: graphmae report runs/a runs/b --figures figures
    """
    from .. import api

    import_parts(import_)
    names = [name.strip() for name in columns.split(",") if name.strip()]
    shown = None if not names else [] if names == ["none"] else names
    written = api.report(runs, out, figures=figures, columns=shown, title=title, data_root=data, device=device)
    print_report(written)
    if figures is not None:
        typer.echo(f"The figures are in {figures}.")
