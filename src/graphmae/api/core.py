"""The verbs: run, reproduce, pretrain, embed, evaluate, load. Wiring only."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data, Dataset

from .. import config, model, pretrained
from ..config import Evaluation, Recipe, Train
from ..data import GraphSet, MoleculeStore, NodeDataset, TableGraph
from ..data.files import from_data, of_one_graph, open_dataset
from ..data.splits import with_split
from ..evaluation import fitted_to, judge_graphs, judge_seeds
from ..experiments import pretrain as pretraining
from ..experiments import reproduce as reproduction
from ..experiments import run as experiment
from ..experiments.folder import RunFolder
from ..inference.embedding import embed_graph, embed_graphs
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
Graphs: TypeAlias = "Data | Sequence[Data] | NodeDataset | GraphSet | str | Path | Sequence[str | Path]"


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
    datasets = _datasets(data, network.inputs, None)
    graphs: list[Data] | GraphSet | MoleculeStore = [graph for dataset in datasets for graph in _graphs_of(dataset)]
    if isinstance(datasets[0], GraphSet | MoleculeStore):
        graphs = datasets[0].pretrain_graphs()
    _check_width(network, datasets)
    network.inputs = dict(datasets[0].treatment)
    network.trained_on = pretraining.facts_of(datasets[0], train, seed)
    model.rehearse(network)
    pretraining.check_features(network, graphs, datasets[0].name)
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
    datasets = _datasets(data, inputs, data_root, columns=columns)
    graphs = datasets[0]
    if level == "node" and isinstance(graphs, MoleculeStore):
        raise InputError("of molecules there is one row each; level 'node' is for graphs")
    if level == "graph" and not isinstance(graphs, GraphSet | MoleculeStore):
        bare = [Data(x=g.x, edge_index=g.edge_index) for d in datasets for g in _graphs_of(d, True)]
        graphs = GraphSet.from_list("graphs", bare)
    if level != "node" and isinstance(graphs, GraphSet | MoleculeStore):
        readout = evaluation_settings(network, []).readout if readout is None else readout
        return embed_graphs(encoder, graphs, readout.split("+"), device)
    out: list[Tensor] = [embed_graph(encoder, g, device) for dataset in datasets for g in _graphs_of(dataset, True)]
    if isinstance(graphs, TableGraph):
        return out[0][torch.from_numpy(graphs.rows)]
    return out[0] if len(out) == 1 and not _is_list(data) else out


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
    datasets = _datasets(data, made.inputs, data_root, labelled=True, columns=columns)
    if len(datasets) != 1:
        raise InputError("evaluate takes one labelled graph, or a list of graphs that each have one label y")
    dataset = with_split(datasets[0]) if isinstance(datasets[0], NodeDataset) else datasets[0]
    dataset.check_labels()
    assert not isinstance(dataset, MoleculeStore)  # which has no labels, and just said so
    _check_width(made, [dataset])
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


def _datasets(
    data: Graphs,
    inputs: Mapping[str, Any],
    root: str | Path | None,
    labelled: bool = False,
    columns: Mapping[str, str] | None = None,
) -> list[NodeDataset | GraphSet | MoleculeStore]:
    """Whatever was handed in, treated as the model was trained; `labelled` graphs of a list are one set."""
    if isinstance(data, TableGraph) and inputs and data.treatment != inputs:
        raise InputError(
            "this graph was not encoded as the model's was: make it with from_tables(…, treatment=model.inputs)"
        )
    if isinstance(data, NodeDataset | GraphSet | MoleculeStore):
        return [data]
    if isinstance(data, str | Path) or (_is_list(data) and len(data) and all(isinstance(d, str | Path) for d in data)):
        return [open_dataset(data, root, columns, **inputs)]
    if any((columns or {}).values()):
        raise InputError("columns are those of tables")
    single = of_one_graph(inputs)
    if isinstance(data, Data) and not isinstance(data, Batch):
        return [from_data(_without_graph_label(data), **single)]
    if _is_list(data):
        graphs = _listed(data)
        if labelled and all("y" in graph and graph.y.numel() == 1 for graph in graphs):
            made = GraphSet.from_list("graphs", graphs)
            return [made.with_self_loops() if single.get("self_loops", True) else made]
        return [from_data(_without_graph_label(item), f"graph {i}", **single) for i, item in enumerate(graphs)]
    raise InputError(f"data must be a PyG Data, a list of them, a data set's name or a file, not {type(data).__name__}")


def _without_graph_label(graph: Data) -> Data:
    """A single label is the graph's, not its nodes'."""
    of_graph = "y" in graph and isinstance(graph.y, Tensor) and graph.y.numel() == 1 and graph.num_nodes != 1
    return Data(x=graph.x, edge_index=graph.edge_index) if of_graph else graph


def _is_list(data: object) -> bool:
    return isinstance(data, Sequence | Batch | Dataset) and not isinstance(data, str)


def _listed(data: Any) -> list[Data]:
    graphs = data.to_data_list() if isinstance(data, Batch) else [data[i] for i in range(len(data))]
    if not graphs:
        raise InputError("the list of graphs is empty")
    if wrong := [type(item).__name__ for item in graphs if not isinstance(item, Data)]:
        raise InputError(f"a list must hold PyG Data alone, not {wrong[0]}")
    return graphs


def _graphs_of(dataset: NodeDataset | GraphSet | MoleculeStore, whole: bool = False) -> list[Data]:
    """Single graphs: those pre-training sees, or those that hold every node once."""
    if isinstance(dataset, MoleculeStore):
        return []
    if isinstance(dataset, GraphSet):
        return [dataset.graph(i) for i in range(len(dataset))] if whole else []
    return dataset.every_node() if whole else dataset.pretrain_graphs()


def _check_width(network: GraphMAE, datasets: Iterable[NodeDataset | GraphSet | MoleculeStore]) -> None:
    wanted = network.encoder.in_channels
    for dataset in datasets:
        of_graphs = [g.x.size(1) for g in dataset.graphs] if isinstance(dataset, NodeDataset) else []
        widths = of_graphs or [dataset.in_channels]
        if other := [width for width in widths if width != wanted]:
            raise InputError(f"the encoder takes {wanted} features a node; this graph has {other[0]}")
