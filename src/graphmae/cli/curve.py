"""graphmae curve"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..results import shown
from ..runtime.errors import InputError
from .options import Device, Force, Import, Json, Resume, Seeds, Set, import_parts, parse_seeds, print_json, print_lines


def curve(
    checkpoint: Annotated[
        Path, typer.Argument(metavar="CKPT", help="A model pre-trained on molecules: its folder, or molecule-zinc.")
    ],
    table: Annotated[Path, typer.Argument(metavar="TABLE", help="A .csv, .xlsx, .parquet, .sdf or .smi file.")],
    targets: Annotated[
        str, typer.Option("--targets", "-t", help="Columns to predict, A,B (default: the one that was measured).")
    ] = "",
    sizes: Annotated[
        str, typer.Option("--sizes", help="Shares of the training part, or numbers of molecules.")
    ] = "0.1,0.25,0.5,1.0",
    smiles: Annotated[str, typer.Option("--smiles", help="Column with SMILES (default: the one named so).")] = "",
    split: Annotated[str, typer.Option("--split", help="As for graphmae finetune.")] = "scaffold",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder of the runs (default: runs/NAME-curve).")
    ] = None,
    seeds: Seeds = "0",
    set_: Set = [],  # noqa: B006
    resume: Resume = False,
    force: Force = False,
    device: Device = "auto",
    import_: Import = [],  # noqa: B006
    json_: Json = False,
) -> None:
    """The learning curve of an assay: scores on the test part against the number of molecules that are trained on.

    Says whether more measurements would help. Smaller training parts are parts of the larger ones, the validation part
    shrinks with them, the test part stays the same. Every size is a run as graphmae finetune makes it, in OUT/train-N.

    Example: graphmae curve molecule-zinc assay.csv --targets active --sizes 100,300,1.0
    """
    numbers, wanted = parse_seeds(seeds), _sizes(sizes)
    names = [name.strip() for name in targets.split(",") if name.strip()]
    from .. import api

    import_parts(import_)
    folder = api.run_folder(out, f"{table.name.split('.')[0]}-curve", resume)
    api.check_assay(table, names, smiles, split, set_)
    points = api.curve(
        checkpoint, table, names, folder, sizes=wanted, smiles=smiles, split=split, seeds=numbers, overrides=set_,
        device=device, resume=resume, force=force,
    )  # fmt: skip
    if json_:
        print_json({"points": points})
        return
    metric, baselines = points[0]["metric"], list(points[0]["baselines"])
    lines = [
        [str(point["train"]), *(shown(value, metric) for value in (point["mean"], *point["baselines"].values()))]
        for point in points
    ]
    print_lines(["molecules", metric, *baselines], lines, f"{table.name}: {metric} on the test part")
    typer.echo(f"The runs and curve.json are in {folder}.")


def _sizes(text: str) -> list[float | int]:
    """'100,0.5' → [100, 0.5]."""
    try:
        return [float(piece) if "." in piece else int(piece) for piece in text.split(",")]
    except ValueError:
        raise InputError(f"--sizes {text!r} is not a list of shares or numbers; write 0.1,0.5,1.0 or 100,300") from None
