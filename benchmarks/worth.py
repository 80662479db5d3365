"""Is it worth it on a graph nobody tuned for? The defaults beside what a user could do in ten lines.

    python -m benchmarks.worth photo actor --splits 10
    python -m benchmarks.worth photo --models      # the rows with an encoder alone, where its settings changed
    python -m benchmarks.worth --links photo

Six real graphs (`graphs/*.npz` of the data folder). Classes: 10 / 10 / 80 % of the nodes, random, and the published
splits where a graph has them; one logistic regression for every row, its strength chosen on validation. Links: 10 % of
the edges held out, 5 % for validation. Scores are added to benchmarks/results/worth.json.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch import Tensor
from torch_geometric.data import Data

import graphmae as gm
from graphmae import evaluation, pretrained
from graphmae.data import from_data
from graphmae.data.splits import stratified_split
from graphmae.evaluation.linear_model import linear_model_score
from graphmae.experiments import auto
from graphmae.experiments import pretrain as pretraining
from graphmae.inference.embedding import embed_graph, pair_scorer, propagated
from graphmae.runtime.environment import commit, hardware
from graphmae.runtime.seed import preserved_randomness

GRAPHS = ("photo", "coauthor-cs", "blogcatalog", "actor", "tolokers", "chameleon-filtered")
OUT = Path(__file__).parent / "results/worth.json"
CPU = torch.device("cpu")


def read(name: str) -> tuple[Data, list[dict[str, Tensor]]]:
    """The graph, and its published splits, if any."""
    root = gm.data.sources.data_root(None)
    assert root is not None, "set GRAPHMAE_DATA"
    file = np.load(root / "graphs" / f"{name}.npz")
    x = csr_matrix((file["x_data"], file["x_indices"], file["x_indptr"]), shape=file["x_shape"]).toarray()
    ends = torch.from_numpy(file["edges"].astype(np.int64))
    edges = torch.unique(torch.cat([ends, ends.flip(0)], dim=1), dim=1)
    y = torch.from_numpy(np.unique(file["y"], return_inverse=True)[1])
    data = Data(x=torch.from_numpy(x.astype(np.float32)), edge_index=edges[:, edges[0] != edges[1]], y=y)
    if "train_masks" not in file:
        return data, []
    masks = zip(
        *(torch.from_numpy(file[f"{part}_masks"].astype(bool)) for part in ("train", "val", "test")), strict=True
    )
    return data, [dict(zip(("train", "val", "test"), split, strict=True)) for split in masks]


def classes(name: str, splits: int, models_only: bool = False) -> dict[str, object]:
    data, published = read(name)
    bare = Data(x=data.x, edge_index=data.edge_index)
    began = time.monotonic()
    model = gm.pretrain("auto", bare, device="cpu", progress=False)
    trained = time.monotonic() - began
    graph = from_data(bare, name).single_graph()
    with preserved_randomness(0):
        fresh = pretrained.fresh_encoder(model)
        with_views = evaluation.settled(fresh, from_data(bare, name), CPU)
    rows = (
        {}
        if models_only
        else {
            "raw": graph.x,
            "AX": propagated(graph.x, graph.edge_index, 1),
            "A²X": propagated(graph.x, graph.edge_index, 2),
            "NetMF": evaluation.walks_of(graph),
            "NetMF + A²X": evaluation.walks_of(graph, with_features=True),
        }
    )
    rows |= {
        "untrained encoder": embed_graph(fresh, graph),
        "views, encoder untrained": embed_graph(with_views, graph),
        "graphmae": gm.embed(model, bare),
    }
    rows["graphmae, learned part alone"] = rows["graphmae"][:, -int(model.encoder.out_channels) :]  # type: ignore[arg-type]
    drawn = [stratified_split(data.y, seed=seed) for seed in range(splits)]
    found: dict[str, object] = {"seconds": round(trained, 1)}
    for kind, all_splits in (("random", drawn), ("published", published[:splits])):
        if not all_splits:
            continue
        scores = {}
        for row, z in rows.items():
            made = [
                linear_model_score(*((z[s[p]], data.y[s[p]]) for p in ("train", "val", "test"))) for s in all_splits
            ]
            scores[row] = [round(one["converged"], 2) for one in made if one is not None]
            print(f"{name:20} {kind:10} {row:30} {np.mean(scores[row]):6.2f}", flush=True)
        found[kind] = scores
    return found


def links(name: str, seed: int = 0) -> dict[str, object]:
    data, _ = read(name)
    recipe, dataset = auto.links_recipe_for(Data(x=data.x, edge_index=data.edge_index))
    graph = dataset.single_graph()
    began = time.monotonic()
    split = evaluation.split_edges(graph, 0.1, seed)
    model = pretraining.pretrain_once(recipe, dataset.with_graph(split.graph), seed, CPU)
    found: dict[str, object] = {"seconds": round(time.monotonic() - began, 1)}
    with torch.no_grad():
        code = embed_graph(model.reader, split.graph)
        own = pair_scorer(model, embed_graph(model.encoder, model.as_seen(split.graph)))
    simple = evaluation.simple_scores(split.graph.edge_index, len(split.graph.x))
    for kind in evaluation.NEGATIVES:
        asked = evaluation.split_edges(graph, 0.1, seed, negatives=kind)
        rows = evaluation.simple_rows(asked)
        rows["raw"] = evaluation.link_scores(asked.graph.x, asked)
        rows["graphmae links"] = evaluation.link_scores(code, asked, own=own, beside=simple)
        found[kind] = {row: round(scores["roc-auc"], 2) for row, scores in rows.items()}
        print(name, kind, found[kind], flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs", nargs="*", default=list(GRAPHS), choices=[*GRAPHS, []])
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--links", action="store_true")
    parser.add_argument("--models", action="store_true", help="keep the known scores of rows without an encoder")
    options = parser.parse_args()
    for name in options.graphs:
        found = links(name) if options.links else classes(name, options.splits, options.models)
        known = json.loads(OUT.read_text()) if OUT.exists() else {"classes": {}, "links": {}}
        if options.models:
            before = known["classes"][name]
            found |= {kind: before[kind] | found[kind] for kind in ("random", "published") if kind in found}
            found["commit of rows without an encoder"] = before["commit"]
        about = {"commit": commit(), "hardware": hardware("cpu")}
        known["links" if options.links else "classes"][name] = {**found, **about}
        OUT.write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
