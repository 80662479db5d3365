"""Settings for a graph nobody has tuned for, chosen by what it is like; every choice with its reason.

They were found on six real graphs that are in no recipe: docs/own-graph.md says which, and how they do on others.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from torch_geometric.data import Data

from .. import config, methods
from ..config import Recipe
from ..data import REGISTRY, NodeDataset
from ..data.facts import facts_of_graph
from ..data.open import is_named, open_dataset, section_of
from ..data.tables.report import count
from ..encoders import VIEWS, neighbours_say
from ..runtime.errors import InputError

# The sections pre-training uses.
PRETRAINING = ("about", "data", "method", "mask", "encoder", "decoder", "loss", "train", "embedding", "evaluation")
AUTO = "auto"  # the recipe is chosen by the data
LINKS = "default-links"
logger = logging.getLogger("graphmae")
MAX_NODES = 400_000  # at once; beyond it a graph is trained in parts
PART_NODES = 100_000
MAX_EDGES = 20_000_000  # of a graph on disk that is read into memory
DISK_SEEDS, DISK_STEPS, DISK_EPOCHS = 512, 500, 10
LARGE = 50_000
LINK_WORK = 8_000  # nodes, and a quarter of the edges, up to which links are learned for 500 epochs
HALF = 0.5  # of what own features tell: where neighbours tell less, the encoder keeps own features apart
WIDTH = 256  # of features, beyond which they are reduced


def recipe_for(
    source: Any,
    recipe: Recipe | str | Path = AUTO,
    overrides: Iterable[str] = (),
    columns: Mapping[str, Any] | None = None,
    root: str | Path | None = None,
) -> tuple[Recipe, Any]:
    """The recipe for some data, and the data: the recipe named, or one chosen by the data and logged; then overrides.

    `source` is whatever `data.open` takes; `columns` are the columns of tables by their role, and "private". Nodes of
    tables are in the order of their ids: no random draw depends on how the file is sorted.
    """
    changes, roles = list(overrides), {key: value for key, value in (columns or {}).items() if value}
    config.check_used(changes, PRETRAINING, "pre-training")
    section = {**section_of(source), **roles} if is_named(source) else {"name": "memory"}
    allowed = REGISTRY.options(section["name"])
    if wrong := [key for key in section if key not in allowed and key != "name"]:
        does = "hides words and categories of tables" if wrong[0] == "private" else "names a column of a table"
        raise InputError(f"--{wrong[0]} {does}, and {_shown(source)} is not a table")

    def with_data(start: Recipe | str | Path) -> dict[str, Any]:
        base = (start if isinstance(start, Recipe) else config.load(start)).to_dict()
        base["data"] = {**{key: value for key, value in base["data"].items() if key in allowed}, **section}
        base.pop("published", None)
        return base

    def opened(made: Recipe) -> Any:
        if not is_named(source):
            return open_dataset(source, root, roles).sorted_by_id()
        return REGISTRY.build(made.data.name, root=root, **made.data.options).sorted_by_id()

    if recipe != AUTO:
        made = config.load(with_data(recipe), changes)
        methods.check(made)
        return made, opened(made)
    of_data = [text for text in changes if text.startswith("data.")]
    dataset = opened(config.load(with_data("default"), of_data))
    if dataset.on_disk and not any(text.startswith("train.sampler") for text in changes) and fits_at_once(dataset):
        logger.info("%s is small enough to be read into memory", dataset.name)
        dataset = dataset.in_memory()
    base = with_data(dataset.default_recipe)
    if dataset.task == "node" and base["method"]["name"] == "graphmae":
        chosen, reasons = choose_on_disk(dataset) if dataset.on_disk else choose(dataset)
        if mine := [text for text in changes if text not in of_data]:
            reasons = [*reasons, f"  changed by you: {', '.join(mine)}"]
        for line in reasons:
            logger.info("%s", line)
        base = config.merge(base, {**chosen, "about": {"notes": "\n".join(reasons)}})
    made = config.load(base, changes)
    methods.check(made)
    return made, dataset


def fits_at_once(dataset: Any) -> bool:
    """Whether a graph on disk is small enough to be treated as one in memory."""
    facts = dict(dataset.summary())
    return facts["nodes"] <= MAX_NODES and facts["edges"] <= MAX_EDGES


def choose_on_disk(dataset: Any) -> tuple[dict[str, Any], list[str]]:
    """The same as `choose` for a graph on disk: nothing is looked at that would read all of it."""
    facts = dict(dataset.summary())
    nodes, degree = facts["nodes"], facts["edges"] / facts["nodes"]
    steps = min(DISK_STEPS, -(-nodes // DISK_SEEDS))
    lines = [
        f"{dataset.name}: {nodes:,} nodes with {degree:.1f} neighbours, {facts['features']:,} features, on disk",
        f"  mini-batches of {DISK_SEEDS} seeds with sampled neighbours: the graph is read as it is needed",
        f"  {DISK_EPOCHS} epochs of {steps} steps: {DISK_EPOCHS * steps * DISK_SEEDS / nodes:.2g} times every node",
        "  embeddings of one view, what is learned: the others (own features, hops, structure) need the whole graph",
        "  GAT, 256 wide, two layers; three quarters of the seeds masked, γ = 2: as for graphs in memory",
    ]
    train = {"sampler": "neighbour", "batch_size": DISK_SEEDS, "epochs": DISK_EPOCHS, "patience": 0}
    train["steps"] = DISK_STEPS if nodes > DISK_STEPS * DISK_SEEDS else 0  # 0: every node once
    chosen: dict[str, Any] = {"embedding": {"views": []}, "decoder": {"name": "gat"}, "loss": {"gamma": 2}}
    chosen["encoder"] = {"name": "gat", "hidden_channels": 256, "num_layers": 2, "norm": "none"}
    return {**chosen, "mask": {"rate": 0.75, "replace_rate": 0.05}, "train": train}, lines


def parts_for(nodes: int) -> int:
    """In how many parts a graph of this size is trained."""
    return -(-nodes // PART_NODES) if nodes > MAX_NODES else 1


def links_recipe_for(
    source: Any,
    recipe: Recipe | str | Path = AUTO,
    overrides: Iterable[str] = (),
    columns: Mapping[str, Any] | None = None,
    root: str | Path | None = None,
) -> tuple[Recipe, Any]:
    """The recipe for predicting links, and the data, as `recipe_for` gives them; "auto" is `default-links`."""
    changes = list(overrides)
    by_default = recipe == AUTO
    made, dataset = recipe_for(source, LINKS if by_default else recipe, changes, columns, root)
    graph = dataset.single_graph()
    if by_default and not any(text.startswith("train.epochs") for text in changes):
        made = made.override(f"train.epochs={link_epochs(graph)}")
    if made.train.parts == 1 and (parts := parts_for(len(graph.x))) > 1:
        made = made.override(f"train.parts={parts}")
        logger.info("links: %d parts, as the graph has more than %d nodes", parts, MAX_NODES)
    return made, dataset


def link_epochs(graph: Data) -> int:
    """How long `default-links` trains: on larger graphs an epoch teaches more, and takes longer."""
    edges = int((graph.edge_index[0] < graph.edge_index[1]).sum())
    return int(min(500, max(50, 500 * LINK_WORK / (len(graph.x) + edges / 4))))


def _shown(source: Any) -> str:
    return str(source if isinstance(source, str | Path) else source[0]) if is_named(source) else "data in memory"


def choose(dataset: NodeDataset) -> tuple[dict[str, Any], list[str]]:
    """(sections of a recipe that differ from the default one, what was chosen and why, a line each)."""
    facts, said = facts_of_graph(dataset), neighbours_say(dataset.pretrain_graphs()[0])
    lines = [
        f"{dataset.name}: {count(facts.nodes, 'node')} with {facts.mean_degree:.1f} neighbours, "
        f"{count(facts.features, 'feature')} ({facts.density:.0%} filled); "
        f"neighbours' features tell {said:.0%} of what a node's own tell of each other",
    ]

    def note(settings: str, why: str) -> None:
        lines.append(f"  {settings}: {why}")

    encoder: dict[str, Any] = {"name": "gat", "hidden_channels": 256, "num_layers": 2, "norm": "none"}
    note(
        "embeddings of five views",
        "own features, one hop, two hops, structure, learned: a model can use the best of them",
    )
    if facts.features > WIDTH:
        note(f"features reduced to {WIDTH}", "their main directions; the encoder is trained on these")
    lines += _of_edges(dataset.pretrain_graphs()[0])
    if said > 1:
        note("own features count less", "they are noisier than those of the neighbours together")
    if said < HALF:
        encoder["residual"] = True
        note("residual connections", "neighbours tell less than half as much, so a node's own features are kept apart")
    note("GAT, 256 wide, two layers; three quarters of the nodes masked, γ = 2", "as good as others on most graphs")
    train: dict[str, Any] = {"schedule": "constant", "patience": 50}
    train["epochs"] = 200 if facts.nodes <= LARGE else 100
    note(f"at most {train['epochs']} epochs", f"fewer if reconstruction stays the same for {train['patience']}")
    if (parts := parts_for(facts.nodes)) > 1 and len(dataset.pretrain_graphs()) == 1:
        train["parts"] = parts
        train["epochs"], train["patience"] = 30, 10
        note(f"{train['parts']} parts, 30 epochs", f"more than {MAX_NODES:,} nodes, so a part of the graph at a time")
    else:
        note("the whole graph in every step", f"at most {MAX_NODES:,} nodes")
    mask, loss = {"rate": 0.75, "replace_rate": 0.05}, {"gamma": 2}
    chosen = {"embedding": {"views": list(VIEWS), "width": WIDTH}, "encoder": encoder, "decoder": {"name": "gat"}}
    return {**chosen, "mask": mask, "loss": loss, "train": train}, lines


def _of_edges(graph: Data) -> list[str]:
    """What becomes of weights, columns and times of edges, a line each."""
    uses = {
        "edge_weight": "weights of edges: neighbours count by them, in averages and in attention; totals are features",
        "edge_attr": "columns of edges: the encoder gets their means at a node; those of tables are features too",
        "edge_time": "times of edges: the newest and the mean of a node are features; links are split by them",
    }
    return [f"  {text}" for key, text in uses.items() if key in graph]
