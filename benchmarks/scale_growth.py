"""The cost of a sampled batch against the number of edges of the graph, and against the number of threads."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.generated import features_of
from graphmae.batching.prefetch import Neighbourhoods, SampledBatches
from graphmae.data.compressed import CompressedGraph, FeatureRows

DEGREE, WIDTH, SEEDS, FANOUTS = 10, 64, 256, (10, 5, 5)
THREADS = (1, 2, 4)


def graph_of(edges: int) -> CompressedGraph:
    """A graph in memory with about so many directed edges, ten to a node on average, some nodes hubs."""
    nodes, rng, piece = edges // DEGREE, np.random.default_rng(0), 1 << 22
    indptr = np.concatenate([[0], np.cumsum(rng.poisson(DEGREE, nodes))])
    senders = np.empty(int(indptr[-1]), dtype=np.int32)
    for begin in range(0, len(senders), piece):
        part = senders[begin : begin + piece]
        part[:] = nodes * rng.random(len(part), dtype=np.float32).astype(np.float64) ** 1.5
    rows = np.empty((nodes, WIDTH), dtype=np.float16)
    for begin in range(0, nodes, 65_536):
        rows[begin : begin + 65_536] = features_of(begin, min(begin + 65_536, nodes), WIDTH)
    return CompressedGraph(indptr, senders, FeatureRows(rows), self_loops=True)


def per_batch(graph: CompressedGraph, workers: int, steps: int) -> dict[str, Any]:
    """Milliseconds between batches when nothing else is done, those of a core for one, and how large they are."""
    import torch

    batches = SampledBatches(Neighbourhoods(graph, FANOUTS, SEEDS), torch.device("cpu"), steps + workers, workers)
    torch.manual_seed(0)
    source = iter(batches)
    for _ in range(workers):
        first = next(source)
    began, used, nodes, edges = time.perf_counter(), time.process_time(), 0, 0
    for batch in source:
        nodes, edges = nodes + len(batch.x), edges + len(batch.graph.col)  # type: ignore[union-attr]
    seconds, used = time.perf_counter() - began, time.process_time() - used
    del first
    count = max(1, len(batches) - workers)
    found = {"milliseconds": round(1e3 * seconds / count, 3), "cpu_milliseconds": round(1e3 * used / count, 3)}
    return {**found, "nodes": nodes // count, "edges": edges // count}


def growth(options: argparse.Namespace) -> dict[str, Any]:
    out: dict[str, Any] = {"seeds": SEEDS, "fanouts": FANOUTS, "features": WIDTH, "by_size": [], "by_threads": []}
    edges = 1e5
    while edges <= options.most_edges * 1.01:
        graph = graph_of(int(edges))
        steps = min(60, graph.num_nodes // SEEDS)
        found = {"graph_edges": int(edges), **per_batch(graph, 1, max(1, min(steps, 30)))}
        found["cpu_microseconds_per_edge"] = round(1e3 * found["cpu_milliseconds"] / found["edges"], 4)
        out["by_size"].append(found)
        print(json.dumps(found), flush=True)
        if 0.9e7 < edges < 1.1e7:
            for threads in THREADS:
                line = {"threads": threads, **per_batch(graph, threads, 100)}
                out["by_threads"].append(line)
                print(json.dumps(line), flush=True)
        edges *= 10
    return out


def plot(options: argparse.Namespace) -> dict[str, Any]:
    """docs/figures/scale-growth.svg from the JSON file that `growth` wrote: give it as --folder."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    found = json.loads(Path(options.folder).read_text())
    figure, axes = pyplot.subplots(figsize=(6, 3.2))
    sizes = [line["graph_edges"] for line in found["by_size"]]
    axes.plot(sizes, [line["cpu_milliseconds"] for line in found["by_size"]], "o-", label="one batch")
    per_edge = [100 * line["cpu_microseconds_per_edge"] for line in found["by_size"]]
    axes.plot(sizes, per_edge, "s--", label="100,000 edges of a batch")
    axes.set_xscale("log")
    axes.set_ylim(bottom=0)
    axes.set_xlabel("directed edges of the graph")
    axes.set_ylabel("milliseconds of one core")
    axes.legend(frameon=False)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.tight_layout()
    figure.savefig("docs/figures/scale-growth.svg", metadata={"Date": None})
    return found
