"""graphmae convert"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def convert(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="checkpoint.pt of the published scripts.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the checkpoint.")],
    residual: Annotated[bool, typer.Option("--residual", help="It was trained with --residual.")] = False,
    activation: Annotated[str, typer.Option("--activation", help="Its --activation.")] = "prelu",
    gamma: Annotated[float, typer.Option("--gamma", help="Its --alpha_l, if training is to go on.")] = 2.0,
    rate: Annotated[float, typer.Option("--rate", help="Its --mask_rate, if training is to go on.")] = 0.5,
) -> None:
    """Turn weights the published code saved (GAT or GIN, DGL or PyG) into a checkpoint of ours.

    Only tensors are read; a file that holds anything else is refused.

    Example: graphmae convert checkpoint.pt --out runs/converted
    """
    from .. import api

    encoder = api.convert(file, out, residual=residual, activation=activation, gamma=gamma, rate=rate).encoder
    typer.echo(f"{type(encoder).__name__}, {encoder.in_channels} features to {encoder.out_channels}: in {out}")
