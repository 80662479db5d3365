"""The verbs on names and paths, as the command line calls them: wiring only."""

from __future__ import annotations

import csv
import logging
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from .. import config, model, pretrained
from ..config import Recipe
from ..data import REGISTRY, NodeDataset, TableGraph
from ..data.benchmarks.tu import PUBLISHED
from ..data.molecules import molecule_table
from ..data.open import open_dataset, section_of
from ..data.tables import write_rows
from ..experiments import auto as defaults
from ..experiments import pretrain as pretraining
from ..experiments import tune as tuning
from ..experiments.folder import RunFolder
from ..pretrained import load_predictor
from ..results import Result
from ..runtime.device import resolve_device
from ..runtime.errors import InputError
from ..runtime.files import replacing
from ..training import Progress
from . import chemistry, insights
from .core import embed, evaluation_settings

AUTO = "auto"  # the recipe is chosen by the data
logger = logging.getLogger("graphmae")


def pretrain_on(
    sources: str | Path | Sequence[str | Path],
    *,
    recipe: str | Path = AUTO,
    overrides: Iterable[str] = (),
    columns: Mapping[str, str] | None = None,
    out: str | Path | None = None,
    seed: int = 0,
    data_root: str | Path | None = None,
    device: str = "auto",
    resume: bool = False,
) -> Path:
    """Pre-train on a data set's name, a graph file or tables; returns the checkpoint's folder.

    What to train is what the recipe says; without one it is chosen by the data, reported, and written to recipe.toml.
    """
    sources = [sources] if isinstance(sources, str | Path) else list(sources)
    if out is not None and not resume and RunFolder(Path(out)).holds_run:
        raise InputError(f"{out} already holds a run; pass --resume to go on with it or choose another --out")
    made, dataset = _chosen(sources, recipe, overrides, columns or {}, data_root)
    place = resolve_device(device)
    defaults.check_memory(dataset, made, place)
    folder = RunFolder.of(out, Path(sources[0]).name.split(".")[0], resume)
    pretraining.pretrain_once(
        made,
        dataset,
        seed,
        place,
        folder=folder,
        resume=resume,
        display=Progress(),
        label=f"{dataset.name}, seed {seed}",
    )
    return folder.path


def are_tables(sources: Sequence[str | Path]) -> bool:
    return section_of(sources)["name"] == "tables"


def _chosen(
    sources: Sequence[str | Path],
    recipe: str | Path,
    overrides: Iterable[str],
    columns: Mapping[str, str],
    data_root: str | Path | None,
) -> tuple[Recipe, Any]:
    """The recipe for some data, and the data: the recipe named, or one chosen by the data and said; then overrides."""
    overrides = list(overrides)
    section = {**section_of(sources), **{key: value for key, value in columns.items() if value}}
    base = config.load(_default_for(section["name"]) if recipe == AUTO else recipe).to_dict()
    allowed = REGISTRY.options(section["name"])
    if wrong := [key for key in section if key not in allowed and key != "name"]:
        raise InputError(f"--{wrong[0]} names a column of a table; {sources[0]} is none")
    base["data"] = {**{key: value for key, value in base["data"].items() if key in allowed}, **section}
    base.pop("published", None)
    made = config.load(base, overrides)
    model.check(made)
    dataset = REGISTRY.build(made.data.name, root=data_root, **made.data.options)
    if recipe == AUTO and isinstance(dataset, NodeDataset):
        chosen, reasons = defaults.choose(dataset)
        for line in reasons:
            logger.info("%s", line)
        made = config.load(config.merge(base, chosen), overrides)
        model.check(made)
        if mine := [text for text in overrides if not text.startswith("data.")]:
            logger.info("  but %s: as you say", ", ".join(mine))
    return made, dataset


def _default_for(name: str) -> str:
    """The recipe to start from, by the kind of data."""
    if name in ("smiles", "zinc-moses", "nci"):
        return "molecule/zinc"
    return "default-graph" if name == "tu" or name in PUBLISHED else "default"


def write_embeddings(
    checkpoint: str | Path,
    sources: str | Path | Sequence[str | Path],
    out: Path,
    *,
    columns: Mapping[str, str] | None = None,
    data_root: str | Path | None = None,
    device: str = "auto",
    level: str = "auto",
    readout: str | None = None,
) -> tuple[int, int]:
    """Embed every node, or every graph, of a data set, a file or tables into `out`; returns the shape."""
    if not out.parent.is_dir():
        raise InputError(f"{out.parent} is not a folder")
    network = pretrained.load(checkpoint)
    dataset = open_dataset(sources, data_root, columns, network.inputs)
    if level != "node" and readout is None:
        readout = evaluation_settings(checkpoint, []).readout
    rows = embed(network, dataset, device=device, level=level, readout=readout)
    z = (torch.cat(rows) if isinstance(rows, list) else rows).numpy()
    write_rows(out, z, dataset.ids if isinstance(dataset, TableGraph) and level != "graph" else None)
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
    folder = RunFolder.of(out, Path(table).name.split(".")[0], resume).path
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
    bad = 0
    with replacing(out) as partial, partial.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter="\t" if out.suffix == ".tsv" else ",", lineterminator="\n")
        writer.writerow([*header, *added])
        for row, values in zip(rows, answers.tolist(), strict=True):
            unreadable = values[0] != values[0]
            bad += unreadable
            cells = ["" for _ in values] if unreadable else [f"{value:.6g}" for value in values]
            padded = [*row, *[""] * (len(header) - len(row))][: len(header)]
            writer.writerow([*padded, *cells, "not a molecule" if unreadable else ""])
    return len(rows), bad


def data_is_there(name: str, data_root: str | Path | None = None) -> None:
    """Load a data set once, downloading it where it is missing; raises `DataError` where it cannot be had."""
    REGISTRY.build(name, root=data_root)


def tune_on(
    sources: Sequence[str | Path],
    *,
    recipe: str | Path,
    overrides: Iterable[str],
    columns: Mapping[str, str],
    search: Sequence[str],
    trials: int,
    out: Path | None,
    seed: int,
    data_root: str | Path | None,
    device: str,
) -> tuple[tuning.Tuned, Path]:
    """Search the keys asked for, or the usual ones; returns what was found and the folder it is in."""
    made, dataset = _chosen(sources, recipe, overrides, columns, data_root)
    if not isinstance(dataset, NodeDataset) or len(dataset.graphs) != 1:
        raise InputError("tuning is for one graph, and that is a set of graphs")
    folder = RunFolder.of(out, f"{Path(sources[0]).name.split('.')[0]}-tuned")
    space = search or tuning.SPACE
    return tuning.tune(dataset, made, space, trials, seed=seed, device=device, out=folder), folder.path


def predict_links(
    sources: Sequence[str | Path], recipe: str | Path, overrides: Iterable[str], seeds: Sequence[int], **options: Any
) -> Result:
    """Link prediction with the recipe named, or the one the data chooses, changed by overrides."""
    made, dataset = _chosen(sources, recipe, overrides, options.pop("columns", {}), options.pop("data_root", None))
    return insights.links(dataset, made, seeds, **options)
