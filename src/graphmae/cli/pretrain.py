"""graphmae pretrain"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from .options import (
    DataRoot,
    Device,
    Duplicates,
    Force,
    Id,
    Import,
    Label,
    Report,
    Resume,
    Set,
    Source,
    Target,
    import_parts,
    print_report,
)


def pretrain(
    sources: Annotated[
        list[str],
        typer.Argument(metavar="DATA...", help="NODES EDGES, or EDGES alone; a graph file; a folder; .smi; a set."),
    ],
    id_: Id = "",
    source: Source = "",
    target: Target = "",
    duplicates: Duplicates = "",
    label: Label = "",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder of the checkpoint (default: runs/NAME).")
    ] = None,
    epochs: Annotated[int | None, typer.Option("--epochs", help="At most this many (default: the recipe's).")] = None,
    set_: Set = [],  # noqa: B006
    recipe: Annotated[
        str, typer.Option("--recipe", help="Recipe to start from (default: chosen by the data).")
    ] = "auto",
    seed: Annotated[int, typer.Option("--seed", help="Seed of weights, masks and dropout.")] = 0,
    resume: Resume = False,
    force: Force = False,
    private: Annotated[
        bool, typer.Option("--private", help="Keep words and categories of tables as hashes, not as they are.")
    ] = False,
    select: Annotated[
        str, typer.Option("--select", help="Label column: choose settings by cross-validation on 20 % of its labels.")
    ] = "",
    from_: Annotated[
        str, typer.Option("--from", metavar="CKPT", help="Go on from a model of molecules, such as molecule-zinc.")
    ] = "",
    report: Report = False,
    data: DataRoot = None,
    device: Device = "auto",
    import_: Import = [],  # noqa: B006
) -> None:
    """Pre-train an encoder on an unlabelled graph, or on many, and save it as a checkpoint.

    DATA is a node table and an edge table (.csv, .tsv, .xlsx, .jsonl, .parquet; several edge tables are several kinds
    of edges), an edge list alone, an .npz file with arrays x [nodes, features] and edge_index [2, edges], a PyG Data
    saved with torch.save (.pt), a folder with TU files (NAME_A.txt, NAME_graph_indicator.txt, …), a file of molecules,
    one SMILES per line (.smi, .smi.gz; needs RDKit), a graph on disk (the folder of graphmae store; trained by
    mini-batches), or a data set such as cora, mutag or synthetic.

    Without --recipe, settings are chosen by the data, reported, and written to recipe.toml in the run's folder, to be
    edited and used again. With --select they are the best of several on a fifth of the labels, which `evaluate` scores
    on the others. Training may stop before the last epoch; when and why is then reported. Columns become
    features by their kind; --set data.kinds='{ zip = "category" }' sets it.

    Example: graphmae pretrain nodes.csv edges.csv --label topic --out runs/mine

    Example: graphmae pretrain nodes.csv edges.csv --select topic

    Example: graphmae pretrain people.parquet follows.csv likes.csv --id user --source from --target to

    Example: graphmae pretrain graph.npz --epochs 200

    Example: graphmae pretrain molecules.smi --epochs 20

    Example: graphmae pretrain mine.smi --from molecule-zinc --out runs/adapted

    Example: graphmae pretrain cora --recipe node/cora --epochs 100 --set mask.rate=0.75
    """
    from .. import api

    import_parts(import_)
    columns = {"id": id_, "source": source, "target": target, "duplicates": duplicates, "label": label}
    folder = api.run_folder(out, Path(sources[0]).name.split(".")[0], resume)
    api.pretrain(
        recipe, sources, epochs, folder, overrides=set_, columns=columns, seed=seed, data_root=data, device=device,
        resume=resume, force=force, private=private, select=select, start=from_, report=report,
    )  # fmt: skip
    file = "embeddings.parquet" if len(sources) > 1 else "embeddings.npy"
    following = shlex.join(["graphmae", "embed", str(folder), *sources, "-o", file])
    typer.echo(f"The checkpoint is in {folder}. Next: {following}")
    if report:
        print_report(folder / "report.html")
