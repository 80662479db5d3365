"""graphmae tune"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from .options import DataRoot, Device, Duplicates, Id, Import, Label, Set, Source, Target, import_parts


def tune(
    sources: Annotated[
        list[str], typer.Argument(metavar="DATA...", help="NODES EDGES, a graph file, or a set's name.")
    ],
    id_: Id = "",
    source: Source = "",
    target: Target = "",
    duplicates: Duplicates = "",
    label: Label = "",
    trials: Annotated[int, typer.Option("--trials", help="How many settings to try.")] = 20,
    search: Annotated[
        list[str],
        typer.Option("--search", metavar="KEY=A,B,C", help="A recipe key and its values, or LOW..HIGH. Repeatable."),
    ] = [],  # noqa: B006
    recipe: Annotated[
        str, typer.Option("--recipe", help="Recipe to start from (default: chosen by the data).")
    ] = "auto",
    set_: Set = [],  # noqa: B006
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder (default: runs/NAME-tuned).")] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the search and of every trial.")] = 0,
    data: DataRoot = None,
    device: Device = "auto",
    import_: Import = [],  # noqa: B006
) -> None:
    """Search recipe keys and write the best recipe (needs optuna: pip install 'graphmae[tune]').

    With --label, or labels in the graph, by the validation accuracy of the linear probe; test nodes are never looked
    at. Without labels, by how well hidden nodes are reconstructed: better than nothing, and no proof that embeddings
    are more useful. Without --search: width, norm, mask rate, γ, learning rate, weight decay.

    Example: graphmae tune nodes.csv edges.csv --label topic --trials 30

    Example: graphmae tune nodes.csv edges.csv --search mask.rate=0.3,0.5,0.7 --search train.lr=1e-4..1e-2
    """
    from .. import api

    import_parts(import_)
    columns = {"id": id_, "source": source, "target": target, "duplicates": duplicates, "label": label}
    folder = api.run_folder(out, f"{Path(sources[0]).name.split('.')[0]}-tuned")
    tuned = api.tune(
        sources, recipe, search, trials, folder, overrides=set_, columns=columns, seed=seed, data_root=data,
        device=device,
    )  # fmt: skip
    typer.echo(f"best {tuned.criterion}: {tuned.score:.4g} of {len(tuned.trials)} trials (trials.json)")
    told = [part for name, value in columns.items() if value for part in (f"--{name}", value)]
    following = shlex.join(["graphmae", "pretrain", *sources, *told, "--recipe", str(folder / "recipe.toml")])
    typer.echo(f"The recipe is in {folder}. Next: {following}")
