"""graphmae demo"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import DataRoot, print_table

EPOCHS = 200  # of 300: enough to see it, in two thirds of the time


def demo(
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder of the run (default: runs/demo).")] = None,
    data: DataRoot = None,
) -> None:
    """The whole story on real data: pre-train on CiteSeer without labels, compare with honest baselines.

    CiteSeer comes from the data root, its origin or a package mirror; without any of them a synthetic citation graph
    is used instead, and said so.
    """
    from ..api import commands
    from ..api import core as api
    from ..data.sources import logger
    from ..runtime.errors import DataError

    try:
        commands.data_is_there("citeseer", data)
        recipe, notes = "node/citeseer", [f"train.epochs={EPOCHS}"]
    except DataError as error:
        logger.info("NOTE: CiteSeer cannot be had here, so the demo runs on a synthetic citation graph. (%s)", error)
        recipe, notes = "default", []
    made = api.recipe(recipe, *notes)
    folder = api.run_folder(out, "demo")
    typer.echo(
        f"Pre-training a graph encoder on {made.data.name} for {made.train.epochs} epochs, without labels; then a "
        "linear classifier on its frozen embeddings, beside raw features, an untrained and a supervised encoder.",
        err=True,
    )
    result = api.run(made, [0], folder, data_root=data)
    print_table(result, f"{made.data.name}: one seed, {made.train.epochs} epochs")
    rows = {row: result.column(row, "last")[0] for row in result.rows()}
    typer.echo(
        f"Pre-training without labels: {rows['pretrained']:.1f} % against {rows['raw']:.1f} % for raw features and "
        f"{rows['untrained']:.1f} % for the same encoder untrained."
    )
    typer.echo(f"The run is in {folder}. The full experiment: graphmae run {recipe} --seeds 0-19")
    typer.echo(f"Embeddings: graphmae embed {folder} {made.data.name} -o embeddings.npy")
