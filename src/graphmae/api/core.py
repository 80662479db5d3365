"""The verbs: run, reproduce, pretrain, embed, evaluate, load. Wiring only."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from torch import nn
from torch_geometric.data import Batch
from torch_geometric.data import Dataset as PyGDataset

from .. import config, model, pretrained
from ..config import Evaluation, Recipe, Train
from ..data import GraphSet, MoleculeStore, NodeDataset
from ..data.open import Dataset, open_dataset
from ..data.splits import with_split
from ..evaluation import fitted_to, judge_graphs, judge_seeds
from ..experiments import pretrain as pretraining
from ..experiments import reproduce as reproduction
from ..experiments import run as experiment
from ..experiments.folder import RunFolder
from ..inference.embedding import embed_graphs, embed_nodes
from ..model import GraphMAE
from ..pretrained import load
from ..report import Comparison
from ..results import Result
from ..runtime.device import numerics, resolve_device
from ..runtime.environment import hardware, peak_bytes, versions
from ..runtime.errors import InputError, unknown
from ..runtime.files import locked
from ..runtime.seed import check_seeds, preserved_randomness
from ..training import Progress, quiet

__all__ = ["embed", "evaluate", "load", "pretrain", "recipe", "recipes", "reproduce", "run"]

LEVELS = ("auto", "node", "graph")
Graphs: TypeAlias = Any  # whatever `data.open` takes


def recipe(source: str | Path | Mapping[str, Any], *overrides: str) -> Recipe:
    """A checked recipe: a published one by id, a TOML file, or a dictionary.

    >>> recipe("node/cora").override("mask.rate=0.75").mask.options["rate"]
    0.75
    """
    made = config.load(source, overrides)
    model.check(made)
    return made


def recipes() -> list[str]:
    """Ids of the recipes that come with graphmae."""
    return config.names()


def run(
    source: str | Path | Mapping[str, Any] | Recipe,
    seeds: Iterable[int] = (0,),
    out: str | Path | None = None,
    *,
    overrides: Iterable[str] = (),
    data_root: str | Path | None = None,
    device: str = "auto",
    resume: bool = False,
    jobs: int = 1,
    imports: Sequence[str] = (),
    progress: bool = True,
) -> Result:
    """Run an experiment: pre-train and evaluate once per seed, leave everything in `out`.

    `jobs` seeds run at a time: on CUDA in this process, on the CPU in processes of their own (call it under
    `if __name__ == "__main__":` then), where `imports` names the files that register parts of your own.

    >>> result = run("node/cora", seeds=range(20), out="runs/cora")  # doctest: +SKIP
    >>> result.mean, result.std  # doctest: +SKIP
    """
    made = source.override(*overrides) if isinstance(source, Recipe) else recipe(source, *overrides)
    folder = RunFolder.of(out, made.id, resume)
    return experiment.run(
        made,
        seeds,
        folder.path,
        root=data_root,
        device=device,
        resume=resume,
        jobs=jobs,
        imports=imports,
        display=Progress() if progress else quiet,
    )


def reproduce(
    table: str = "all",
    out: str | Path = "runs/reproduce",
    *,
    only: Iterable[str] = (),
    seeds: int | None = None,
    data_root: str | Path | None = None,
    device: str = "auto",
    jobs: int = 1,
    progress: bool = True,
) -> dict[str, Comparison]:
    """Run what a table of the paper needs ("node", "graph", "molecule", "ablation" or "all") and is not finished in
    `out`; returns the tables, which are also written there. See `graphmae reproduce --help`.

    >>> tables = reproduce("node", "runs/reproduce")  # doctest: +SKIP
    >>> print(tables["node"].text())  # doctest: +SKIP
    """
    display = Progress() if progress else quiet
    wanted = reproduction.reproduce(
        table, out, device, only=only, seeds=seeds, root=data_root, jobs=jobs, display=display
    )
    return reproduction.written_tables(wanted, Path(out))


def pretrain(
    network: GraphMAE,
    data: Graphs,
    epochs: int = 500,
    out: str | Path | None = None,
    *,
    lr: float = 1e-3,
    weight_decay: float = 0.0,
    schedule: str = "cosine",
    clip_norm: float | None = None,
    batch_size: int = 1,
    seed: int | None = 0,
    device: str = "auto",
    resume: bool = False,
    progress: bool = True,
) -> GraphMAE:
    """Pre-train a model of your own parts, in place, on your own graph. With `out` it is saved there.

    Every node gets one self-loop (here and in `embed`). `seed` governs masking and dropout; the weights were drawn
    when you made the parts.
    """
    train = Train(epochs, lr, weight_decay, schedule, clip_norm, batch_size=batch_size)  # type: ignore[arg-type]
    if problems := train.problems():
        raise InputError("; ".join(problems))
    dataset = open_dataset(data, inputs=network.inputs)
    graphs = dataset.pretrain_graphs()
    _check_width(network, dataset)
    network.inputs = dict(dataset.treatment)
    network.trained_on = pretraining.facts_of(dataset, train, seed)
    model.rehearse(network)
    pretraining.check_features(network, graphs, dataset.name)
    place, folder = resolve_device(device), None if out is None else RunFolder(Path(out))
    if folder is not None:
        pretrained.describe(network)  # what could not be stored is refused before it is trained
        if folder.holds_model:
            raise InputError(f"{out} already holds a model; choose another out")
    randomness = nullcontext() if seed is None else preserved_randomness(check_seeds([seed])[0])
    with randomness, numerics(place), nullcontext() if folder is None else locked(folder.path):
        pretraining.train(
            network, graphs, train, folder, place, resume=resume, display=Progress() if progress else quiet
        )
        network.eval()
        if folder is not None:
            pretrained.save(network, folder.path)
            folder.state.delete()
    return network


def embed(
    network: GraphMAE | nn.Module | str | Path,
    data: Graphs,
    *,
    data_root: str | Path | None = None,
    device: str | None = None,
    level: str = "auto",
    readout: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> Any:
    """Embeddings of every node, [num_nodes, out_channels]; a list of tensors where there are several graphs.
    Of tables (paths of nodes and edges) one row for every row of the node table; `columns` names id, source, target.
    `network` is a model, a bare encoder, or the folder of a checkpoint. With `level="graph"`, and by itself for a
    set of graphs (by name or folder, not a list), one row per graph, pooled by `readout`: "mean", "max", "sum", or
    several side by side, "mean+max"; by default that of the checkpoint's recipe, else the mean.
    """
    if level not in LEVELS:
        raise InputError(unknown("level", level, LEVELS))
    made = load(network) if isinstance(network, str | Path) else network
    encoder = made.encoder if isinstance(made, GraphMAE) else made
    inputs = made.inputs if isinstance(made, GraphMAE) else {}
    dataset = open_dataset(data, data_root, columns, inputs)
    if level == "auto":
        is_list = isinstance(data, Sequence | Batch | PyGDataset) and isinstance(dataset, GraphSet)
        level = "node" if isinstance(dataset, NodeDataset) or is_list else "graph"
    if level == "node":
        if isinstance(dataset, MoleculeStore):
            raise InputError("of molecules there is one row each; level 'node' is for graphs")
        return embed_nodes(encoder, dataset, device)
    readout = evaluation_settings(network, []).readout if readout is None else readout
    return embed_graphs(encoder, dataset, readout.split("+"), device)


def evaluate(
    network: GraphMAE | str | Path,
    data: Graphs,
    seeds: Iterable[int] = (0,),
    *,
    columns: Mapping[str, str] | None = None,
    overrides: Iterable[str] = (),
    data_root: str | Path | None = None,
    device: str = "auto",
) -> Result:
    """Evaluate an encoder on labelled data, beside its baselines: linear probe, k-NN, k-means, or for whole graphs a
    support vector machine in ten folds.

    The encoder is fixed; seeds vary the probe and the baselines. A graph with labels but no split gets a random one
    (10 / 10 / 80 % of every class, from the seed 0). The probe's settings are those of the checkpoint's own recipe.
    """
    began, seeds = time.monotonic(), check_seeds(seeds)
    made = load(network) if isinstance(network, str | Path) else network
    settings = evaluation_settings(network, list(overrides))
    dataset = open_dataset(data, data_root, columns, made.inputs)
    dataset = with_split(dataset) if isinstance(dataset, NodeDataset) else dataset
    dataset.check_labels()
    assert not isinstance(dataset, MoleculeStore)  # which has no labels, and just said so
    _check_width(made, dataset)
    place, fresh = resolve_device(device), partial(pretrained.fresh_encoder, made)
    settings = fitted_to(settings, dataset)
    with numerics(place):
        if isinstance(dataset, GraphSet):
            tables = [judge_graphs(made.encoder, fresh, dataset, settings, seed, place)._asdict() for seed in seeds]
        else:
            found = judge_seeds(made.encoder, fresh, dataset, settings, seeds, place)
            tables = [{"rows": rows} for rows in found]
    runs = [{"seed": seed, **table} for seed, table in zip(seeds, tables, strict=True)]
    return Result(
        recipe=str(network) if isinstance(network, str | Path) else type(made.encoder).__name__,
        metric=dataset.metric,
        rule=settings.rule,
        runs=runs,
        config={"evaluation": asdict(settings), "inputs": dict(made.inputs)},
        data={"name": dataset.name, **dict(dataset.summary())},
        seconds=time.monotonic() - began,
        peak_bytes=peak_bytes(str(place)),
        hardware=hardware(str(place)),
        versions=versions(),
    )


def evaluation_settings(network: object, overrides: list[str]) -> Evaluation:
    """Those of the checkpoint's own run where it is known, else the defaults; changed by `evaluation.*` overrides."""
    if other := [text for text in overrides if not text.startswith("evaluation.")]:
        raise InputError(f"the encoder is fixed: only evaluation.* can be set here, not {other[0]!r}")
    base: Mapping[str, Any] = config.load("default").to_dict()
    stored = RunFolder(pretrained.find_checkpoint(network)).stored_recipe() if isinstance(network, str | Path) else None
    if stored is not None:
        base = {**base, "evaluation": stored.get("evaluation", {})}
    return config.load(base, overrides).evaluation


def run_folder(out: str | Path | None, name: str, resume: bool = False) -> Path:
    """Where a run goes: `out`, or the next free one of runs/NAME, runs/NAME-2, …; the latest when resuming."""
    return RunFolder.of(out, name, resume).path


def _check_width(network: GraphMAE, dataset: Dataset) -> None:
    wanted = network.encoder.in_channels
    of_graphs = [g.x.size(1) for g in dataset.graphs] if isinstance(dataset, NodeDataset) else []
    if other := [width for width in of_graphs or [dataset.in_channels] if width != wanted]:
        raise InputError(f"the encoder takes {wanted} features a node; this graph has {other[0]}")
