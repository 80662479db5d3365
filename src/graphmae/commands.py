"""The verbs on names and paths, as the command line calls them: wiring only."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import torch

from . import chemistry, config, experiment, model, pretrained
from .api import embed, next_folder
from .data import REGISTRY
from .data.files import section_of
from .data.molecules import molecule_table
from .data.tu import PUBLISHED
from .pretrained import load_predictor
from .results import Result
from .runtime.device import numerics, resolve_device
from .runtime.errors import InputError
from .runtime.seed import check_seeds, preserved_randomness
from .training import Progress


def pretrain_on(
    graph: str | Path,
    *,
    recipe: str | Path = "default",
    overrides: Iterable[str] = (),
    out: str | Path | None = None,
    seed: int = 0,
    data_root: str | Path | None = None,
    device: str = "auto",
    resume: bool = False,
) -> Path:
    """Pre-train what a recipe describes on a data set's name or a graph file; returns the checkpoint's folder."""
    section = section_of(graph)
    base = config.load(_default_for(section["name"]) if recipe == "default" else recipe).to_dict()
    allowed = REGISTRY.options(section["name"])
    base["data"] = {**{key: value for key, value in base["data"].items() if key in allowed}, **section}
    base.pop("published", None)
    made = config.load(base, overrides)
    model.check(made)
    dataset = REGISTRY.build(made.data.name, root=data_root, **made.data.options)
    place = resolve_device(device)
    folder = Path(out) if out is not None else next_folder(Path(graph).stem, resume)
    with preserved_randomness(check_seeds([seed])[0]), numerics(place, made.train.precision):
        network = model.build(made, dataset.in_channels, getattr(dataset, "target_channels", None))
        network.inputs = dict(dataset.treatment)
        network.trained_on = experiment.facts_of(dataset, made.train, seed)
        model.rehearse(network)
        experiment.check_features(network, dataset.pretrain_graphs(), dataset.name)
        pretrained.describe(network)
        experiment.claim_folder(folder, {**made.to_dict(), "seed": seed}, resume)
        if (folder / "config.json").exists():
            return folder  # resumed, but there was nothing left to do
        experiment.train(
            network,
            dataset.pretrain_graphs(),
            made.train,
            folder,
            place,
            resume=resume,
            display=Progress(),
            label=f"{Path(graph).stem}, seed {seed}",
        )
    pretrained.save(network, folder)
    experiment.forget_state(folder)
    return folder


def _default_for(name: str) -> str:
    """The recipe to start from, by the kind of data."""
    if name in ("smiles", "zinc-moses", "nci"):
        return "molecule/zinc"
    return "default-graph" if name == "tu" or name in PUBLISHED else "default"


def write_embeddings(
    checkpoint: str | Path,
    graph: str | Path,
    out: Path,
    *,
    data_root: str | Path | None = None,
    device: str = "auto",
    level: str = "auto",
    readout: str | None = None,
) -> tuple[int, int]:
    """Embed every node, or every graph, of a data set or file into `out`; returns the shape."""
    if not out.parent.is_dir():
        raise InputError(f"{out.parent} is not a folder")
    rows = embed(checkpoint, graph, data_root=data_root, device=device, level=level, readout=readout)
    z = (torch.cat(rows) if isinstance(rows, list) else rows).numpy()
    partial = out.with_name(f"{out.name}.partial{out.suffix}")
    if out.suffix == ".csv":
        np.savetxt(partial, z, delimiter=",", fmt="%.9g")
    elif out.suffix == ".npz":
        np.savez(partial, embeddings=z)
    else:
        np.save(partial, z)
    partial.replace(out)
    return int(z.shape[0]), int(z.shape[1])


def finetune_on(
    checkpoint: str | Path,
    table: str | Path,
    *,
    smiles: str,
    targets: Sequence[str],
    split: str,
    seeds: Sequence[int],
    overrides: Iterable[str],
    out: Path | None,
    device: str,
    resume: bool,
) -> tuple[Result, Path]:
    """Fine-tune a checkpoint on a table; returns the result and the folder of the run."""
    folder = out if out is not None else next_folder(Path(table).name.split(".")[0], resume)
    result = chemistry.finetune(
        checkpoint,
        table,
        targets,
        folder,
        smiles=smiles,
        split=split,
        seeds=seeds,
        overrides=overrides,
        device=device,
        resume=resume,
    )
    return result, folder


def predict_table(
    model: str | Path, table: str | Path, out: Path, *, smiles: str | None = None, device: str = "auto"
) -> tuple[int, int]:
    """Every row of a table in its order, with a column more for each target; returns rows, and rows not readable.

    The column `problem` says which rows are no molecules; their predictions are empty.
    """
    if not out.parent.is_dir():
        raise InputError(f"{out.parent} is not a folder")
    predictor = load_predictor(model)
    header, rows, column = molecule_table(Path(table), smiles)
    added = [*(f"{name}_predicted" for name in predictor.names), "problem"]
    if taken := [name for name in added if name in header]:
        raise InputError(f"{table} already has a column {taken[0]!r}; rename it, the predictions are called so")
    answers = chemistry.predict(predictor, table, column=column, device=device)
    partial = out.with_name(f"{out.name}.partial")
    bad = 0
    with partial.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter="\t" if out.suffix == ".tsv" else ",", lineterminator="\n")
        writer.writerow([*header, *added])
        for row, values in zip(rows, answers.tolist(), strict=True):
            unreadable = values[0] != values[0]
            bad += unreadable
            cells = ["" for _ in values] if unreadable else [f"{value:.6g}" for value in values]
            padded = [*row, *[""] * (len(header) - len(row))][: len(header)]
            writer.writerow([*padded, *cells, "not a molecule" if unreadable else ""])
    partial.replace(out)
    return len(rows), bad


def data_is_there(name: str, data_root: str | Path | None = None) -> None:
    """Load a data set once, downloading it where it is missing; raises `DataError` where it cannot be had."""
    REGISTRY.build(name, root=data_root)
