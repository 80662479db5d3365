"""graphmae pretrain"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from .options import DataRoot, Device, Import, Set, import_parts


def pretrain(
    graph: Annotated[
        str, typer.Argument(metavar="DATA", help="A graph file (.npz, .pt), a folder of graphs, .smi, or a set's name.")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder of the checkpoint (default: runs/NAME).")
    ] = None,
    set_: Set = [],  # noqa: B006
    recipe: Annotated[str, typer.Option("--recipe", help="Recipe to start from.")] = "default",
    seed: Annotated[int, typer.Option("--seed", help="Seed of weights, masks and dropout.")] = 0,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with an interrupted run.")] = False,
    data: DataRoot = None,
    device: Device = "auto",
    import_: Import = [],  # noqa: B006
) -> None:
    """Pre-train an encoder on an unlabelled graph, or on many, and save it as a checkpoint.

    DATA is an .npz file with arrays x [nodes, features] and edge_index [2, edges], a PyG Data saved with torch.save
    (.pt), a folder with TU files (NAME_A.txt, NAME_graph_indicator.txt, …), a file of molecules, one SMILES a line
    (.smi, .smi.gz; needs RDKit), or a data set such as cora, mutag or synthetic. Without --recipe the kind of data
    chooses where to start: default, default-graph or molecule/zinc.

    Example: graphmae pretrain graph.npz --out runs/mine

    Example: graphmae pretrain my-graphs/ --set data.features=attributes

    Example: graphmae pretrain molecules.smi --set train.epochs=20

    Example: graphmae pretrain cora --recipe node/cora --set train.epochs=100
    """
    from .. import commands

    import_parts(import_)
    folder = commands.pretrain_on(
        graph, recipe=recipe, overrides=set_, out=out, seed=seed, data_root=data, device=device, resume=resume
    )
    following = shlex.join(["graphmae", "embed", str(folder), graph, "-o", "embeddings.npy"])
    typer.echo(f"The checkpoint lies in {folder}. Next: {following}")
