"""How the defaults do on small and synthetic graphs; `benchmarks.worth` has the real ones.

    python -m benchmarks.own --json benchmarks/results/own-graphs.json

Each graph is pre-trained with what `graphmae pretrain` would choose, over several seeds, and evaluated by a linear
model on a random 10 % of the labels, its strength chosen on another 10 %, beside raw features, the same averaged over
two hops and the same encoder untrained.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.neighbors import kneighbors_graph

from graphmae import config, evaluation, pretrained
from graphmae.data import GraphSet, NodeDataset, from_scipy, from_tables, load
from graphmae.data.splits import with_split
from graphmae.experiments import auto as defaults
from graphmae.experiments import pretrain as pretraining
from graphmae.runtime.device import resolve_device
from graphmae.runtime.environment import commit, hardware


def synthetic(root: str | None, **options: Any) -> NodeDataset:
    """A synthetic citation graph, with a random 10 % of the labels to train on as the others have."""
    made = load("synthetic", root, **options)
    return with_split(replace(made, splits={}))


def molecules_as_neighbours(root: str | None) -> NodeDataset:
    """NCI1's 4,110 molecules as nodes: counts of their atoms, joined to the eight most alike."""
    graphs = load("nci1", root)
    owner = torch.arange(len(graphs)).repeat_interleave(graphs.node_ptr.diff())
    atoms = graphs.features(slice(0, int(graphs.node_ptr[-1])))
    counts = torch.zeros(len(graphs), atoms.size(1)).index_add(0, owner, atoms).log1p().numpy()
    x = (counts - counts.mean(0)) / np.where(counts.std(0) > 0, counts.std(0), 1)
    return with_split(from_scipy(kneighbors_graph(x, 8), x, graphs.y.numpy(), name="nci1-neighbours"))


def union(name: str, every: int, root: str | None) -> NodeDataset:
    """Every so many graphs of a set as one graph; a node's label is its graph's."""
    graphs = load(name, root, self_loops=False)
    assert isinstance(graphs, GraphSet) and graphs.y is not None
    nodes: dict[str, list[Any]] = {"id": [], "class": []}
    pairs: list[np.ndarray] = []
    atoms, begin = [], 0
    for i in range(0, len(graphs), every):
        graph = graphs.graph(i)
        count = int(graph.x.size(0))
        nodes["id"] += range(begin, begin + count)
        nodes["class"] += [int(graphs.y[i])] * count
        atoms += graph.x.argmax(1).tolist()
        pairs.append(graph.edge_index.numpy() + begin)
        begin += count
    if name == "mutag":  # the others have no labels of nodes: structural features
        nodes["atom"] = [f"atom {a}" for a in atoms]
    source, target = np.concatenate(pairs, axis=1)
    edges = {"source": source, "target": target}
    return from_tables(nodes, edges, label="class", name=f"{name}-union", quiet=True)


GRAPHS: dict[str, Callable[[str | None], NodeDataset]] = {
    "papers, a quarter of the words on topic": partial(
        synthetic, num_nodes=2500, num_words=700, topic_share=0.25, homophily=0.7, seed=21
    ),
    "papers that cite other topics half of the time": partial(
        synthetic, num_nodes=2500, num_words=700, topic_share=0.4, homophily=0.5, seed=22
    ),
    "papers with many citations": partial(
        synthetic, num_nodes=2500, num_words=700, topic_share=0.2, homophily=0.8, citations_per_node=4, seed=23
    ),
    "NCI1's molecules, joined to alike ones": molecules_as_neighbours,
    "MUTAG as one graph": partial(union, "mutag", 1),
    "a fifth of IMDB-BINARY as one graph, no features": partial(union, "imdb-binary", 5),
    "a fifth of IMDB-MULTI as one graph, no features": partial(union, "imdb-multi", 5),
    "an 80th of REDDIT-BINARY as one graph, no features": partial(union, "reddit-binary", 80),
}


def evaluated(
    dataset: NodeDataset, recipe: config.Recipe, seeds: list[int], device: torch.device
) -> dict[str, list[float]]:
    """Row → test accuracy of every seed, each with its own pre-training and its own untrained encoder."""
    rows: dict[str, list[float]] = {"raw": [], "propagated": [], "untrained": [], "pretrained": []}
    settings = replace(recipe.evaluation, baselines=("raw", "propagated", "untrained"))
    for seed in seeds:
        model = pretraining.pretrain_once(recipe, dataset, seed, device)
        fresh = partial(pretrained.fresh_encoder, model)
        table = evaluation.evaluator_for(dataset, settings, device).rows(model.reader, fresh, [seed])[0]
        for row in rows:
            rows[row].append(round(table[row].scores["converged"], 2))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", default="", help="a piece of a graph's name")
    parser.add_argument("--data", default=None)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--json", default="")
    options = parser.parse_args()
    device, lines = resolve_device(options.device), []
    for name, make in GRAPHS.items():
        if options.only not in name:
            continue
        began, dataset = time.perf_counter(), make(options.data)
        chosen, reasons = defaults.choose(dataset)
        recipe = config.load(config.merge(config.load("default").to_dict(), chosen))
        line: dict[str, Any] = {
            "graph": name,
            "chosen": reasons,
            **evaluated(dataset, recipe, list(range(options.seeds)), device),
        }
        line |= {"seconds": round(time.perf_counter() - began), "hardware": hardware(str(device)), "commit": commit()}
        lines.append(line)
        means = {row: f"{np.mean(line[row]):.1f}" for row in ("raw", "propagated", "untrained", "pretrained")}
        print(name, means, f"{line['seconds']} s", flush=True)
        if options.json:
            Path(options.json).write_text(json.dumps(lines, indent=1) + "\n")


if __name__ == "__main__":
    main()
