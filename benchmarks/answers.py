"""Are held-out edges, planted anomalies and planted missing cells found again?

    python -m benchmarks.answers

Cora and Amazon Photo (Planetoid/Cora and graphs/photo.npz under GRAPHMAE_DATA), with short trainings of narrow
encoders, to be quick. The figures are in docs/own-graph.md.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import torch
from scipy.sparse import csr_matrix
from scipy.stats import spearmanr
from sklearn.metrics import accuracy_score, r2_score, roc_auc_score
from torch_geometric.data import Data

import graphmae as gm
from graphmae import evaluation
from graphmae.data import NodeDataset
from graphmae.experiments import auto, missing_links
from graphmae.experiments import pretrain as pretraining
from graphmae.inference import anomalies as scoring
from graphmae.inference.anomalies import neighbour_mean
from graphmae.inference.pairs import PairEvidence, candidates, joined, keys_of
from graphmae.inference.reconstruction import reconstruct
from graphmae.runtime.environment import commit, hardware

OUT = Path(__file__).parent / "results/answers.json"
DEVICE = torch.device("cpu")
EPOCHS = {"cora": {"links": 40, "anomalies": 60}, "photo": {"links": 8, "anomalies": 10}}
WIDTH = {"cora": 128, "photo": 64}
TOP = (20, 100, 1000)


def load(name: str) -> NodeDataset:
    if name == "cora":
        return gm.data.load("cora")
    stored = np.load(Path(os.environ["GRAPHMAE_DATA"]) / f"graphs/{name}.npz")
    x = csr_matrix((stored["x_data"], stored["x_indices"], stored["x_indptr"]), shape=stored["x_shape"]).toarray()
    ends = torch.from_numpy(stored["edges"].astype(np.int64))
    graph = Data(
        x=torch.from_numpy(x.astype(np.float32)),
        edge_index=torch.cat([ends, ends.flip(0)], dim=1),
        y=torch.from_numpy(stored["y"]),
    )
    return gm.data.from_data(graph, name)


def links(name: str) -> dict[str, Any]:
    """10 % of the edges taken away: how many of the predicted links are among them, and what their scores promised."""
    dataset = load(name)
    graph, nodes = dataset.single_graph(), int(dataset.single_graph().num_nodes)
    split = evaluation.split_edges(graph, 0.05, 7, 0.05)
    held = keys_of(*torch.cat([split.val, split.test], dim=1).numpy(), nodes)
    left = dataset.with_graph(split.graph)
    width = [f"encoder.{key}_channels={WIDTH[name]}" for key in ("hidden", "out")]
    recipe, _ = auto.recipe_for(left, "default-links", [f"train.epochs={EPOCHS[name]['links']}", *width])
    found = missing_links.predict(recipe, left, DEVICE, max(TOP))
    hits = np.isin(keys_of(*found.pairs, nodes), held)
    seen = left.single_graph()
    inner = evaluation.split_edges(seen, missing_links.HIDDEN / 2, 0, missing_links.HIDDEN / 2)
    plain = missing_links.rated(without_model, left, inner, max(TOP), None, 0)
    without = np.isin(keys_of(*plain.pairs, nodes), held)
    evidence, pool, _ = without_model(seen)
    order = np.argsort(-evidence(pool)[:, 1], kind="stable")[: max(TOP)]
    simple = np.isin(keys_of(*pool[:, order], nodes), held)
    return {
        "share of held-out edges": {k: round(100 * float(hits[:k].mean()), 1) for k in TOP},
        "promised by the scores": {k: round(float(found.score[:k].mean()), 1) for k in TOP},
        "the same without a model": {k: round(100 * float(without[:k].mean()), 1) for k in TOP},
        "Adamic–Adar": {k: round(100 * float(simple[:k].mean()), 1) for k in TOP},
        "random pairs": round(100 * len(held) / (nodes * (nodes - 1) / 2 - split.train.size(1)), 4),
    }


def without_model(graph: Data) -> tuple[PairEvidence, np.ndarray, csr_matrix]:
    """What is seen without pre-training: features in place of embeddings."""
    adjacency = joined(graph.edge_index.numpy(), len(graph.x))
    return PairEvidence(adjacency, graph.x, graph.x), candidates(adjacency, graph.x), adjacency


def anomalies(name: str) -> dict[str, Any]:
    """2.5 % of the nodes with the features of others, 2.5 % with other neighbours: ROC-AUC against all other nodes."""
    dataset, rng, expected = load(name), np.random.default_rng(0), scoring._expected
    graph = dataset.single_graph()
    nodes, x = int(graph.num_nodes), graph.x.clone()
    swapped, rewired = np.split(rng.permutation(nodes)[: nodes // 40 * 2], 2)
    x[swapped] = graph.x[rng.integers(nodes, size=len(swapped))]
    ends = graph.edge_index[:, graph.edge_index[0] < graph.edge_index[1]].numpy().copy()
    for side in (0, 1):
        moved = np.isin(ends[side], rewired)
        ends[1 - side][moved] = rng.integers(nodes, size=moved.sum())
    edges = torch.from_numpy(ends[:, ends[0] != ends[1]])
    planted = gm.data.from_data(Data(x=x, edge_index=torch.cat([edges, edges.flip(0)], dim=1)), name)
    changes = [f"train.epochs={EPOCHS[name]['anomalies']}", f"encoder.hidden_channels={WIDTH[name]}"]
    recipe, _ = auto.recipe_for(planted, "auto", changes)
    model = pretraining.pretrain_once(recipe, planted, 0, DEVICE)
    began = time.perf_counter()
    scores = gm.anomaly_scores(model, planted).numpy()
    seconds = round(time.perf_counter() - began, 1)
    plain = sum(1 - torch.cosine_similarity(reconstruct(model, planted, seed=seed), x) for seed in range(5)).numpy()
    usual = ~np.isin(np.arange(nodes), np.concatenate([swapped, rewired])) & np.isfinite(scores)
    degree = np.diff(neighbour_mean(planted.single_graph().edge_index.numpy(), nodes).indptr)
    content = (x != 0).sum(1).numpy()
    scoring._expected = lambda *_: torch.zeros_like(x)  # type: ignore[assignment]
    without = gm.anomaly_scores(model, planted).numpy()
    scoring._expected = expected
    rows = {"corrected": scores, "the same without a model": without, "reconstruction error alone": plain}
    return {
        row: {
            **{title: _auc(found, usual, odd) for title, odd in (("features", swapped), ("neighbours", rewired))},
            "rank correlation with degree": round(float(spearmanr(found[usual], degree[usual])[0]), 2),
            "rank correlation with content": round(float(spearmanr(found[usual], content[usual])[0]), 2),
        }
        for row, found in rows.items()
    } | {"seconds": seconds}


def _auc(scores: np.ndarray, usual: np.ndarray, odd: np.ndarray) -> float:
    positive = np.isin(np.arange(len(scores)), odd) & np.isfinite(scores)
    taken = usual | positive
    return round(100 * float(roc_auc_score(positive[taken], scores[taken])), 1)


def cells(width: int) -> dict[str, Any]:
    """Photo as a table: `width` of its words, its class, two made-up columns; 10 % of the cells emptied and filled."""
    dataset, rng = load("photo"), np.random.default_rng(0)
    graph = dataset.single_graph()
    nodes, y = int(graph.num_nodes), graph.y.numpy()
    table = pandas.DataFrame(graph.x[:, :width].int().numpy(), columns=[f"word{i}" for i in range(width)])
    table.insert(0, "sku", [f"p{i:05d}" for i in range(nodes)])
    table["kind"] = np.array([f"kind {i}" for i in range(8)])[y]
    table["price"] = np.round(np.exp(rng.normal(3 + 0.3 * y, 0.5)), 2)
    table["noise"] = np.round(rng.random(nodes), 2)
    table["coin"] = rng.choice(["heads", "tails"], size=nodes)
    names = [name for name in table.columns if name != "sku"]
    gone = pandas.DataFrame(rng.random((nodes, len(names))) < 0.1, columns=names)
    text = table.astype(str)
    text[names] = text[names].mask(gone, "")
    ends = graph.edge_index[:, graph.edge_index[0] < graph.edge_index[1]].numpy()
    edges = pandas.DataFrame({"source": table["sku"].to_numpy()[ends[0]], "target": table["sku"].to_numpy()[ends[1]]})
    with tempfile.TemporaryDirectory() as folder:
        nodes_csv, edges_csv, out = (Path(folder) / name for name in ("nodes.csv", "edges.csv", "out.csv"))
        text.to_csv(nodes_csv, index=False)
        edges.to_csv(edges_csv, index=False)
        small = ["train.epochs=5", "encoder.hidden_channels=64"]
        files = [str(nodes_csv), str(edges_csv)]
        model = gm.pretrain("auto", files, overrides=small, columns={"id": "sku"}, device="cpu", progress=False)
        began = time.perf_counter()
        _, filled = gm.impute(model, nodes_csv, edges_csv, columns={"id": "sku"}, device="cpu", out=out)
        seconds = round(time.perf_counter() - began, 1)
        after = pandas.read_csv(out, dtype=str, keep_default_na=False)
    changed = int(((after[names] != text[names]) & ~gone).to_numpy().sum())
    known = {column.column: column for column in filled}
    rows: dict[str, Any] = {}
    for name in ("kind", "price", "noise", "coin"):
        emptied, column = gone[name].to_numpy(), known[name]
        truth, found = table[name].to_numpy()[emptied], after[name].to_numpy()[emptied]
        number = column.metric == "R²"
        right = r2_score(np.log(truth), np.log(found.astype(float))) if name == "price" else (
            r2_score(truth, found.astype(float)) if number else accuracy_score(truth, found)
        )  # fmt: skip
        rows[name] = {
            "metric": column.metric, "on planted cells": round(float(right), 2), "reported": round(column.score, 2),
            "simple fill": round(column.plain, 2), "by the model": column.by_model,
        }  # fmt: skip
    words = [column for column in filled if column.column.startswith("word")]
    return {
        "rows": nodes,
        "columns": len(names),
        "seconds": seconds,
        "cells changed that were not empty": changed,
        "words filled by the model": sum(column.by_model for column in words),
        **rows,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    began, results = time.perf_counter(), {}
    for title, run in {"links": links, "anomalies": anomalies}.items():
        results[title] = {name: run(name) for name in ("cora", "photo")}
        print(title, json.dumps(results[title], indent=1, ensure_ascii=False), flush=True)
    results["cells"] = {"narrow": cells(40), "wide": cells(745)}
    print("cells", json.dumps(results["cells"], indent=1, ensure_ascii=False))
    results |= {"seconds": round(time.perf_counter() - began), "commit": commit(), "hardware": hardware("cpu")}
    options.out.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
